//go:build darwin || iokitfake

package ioreport

// openNative opens what the libraries have. Only without CoreFoundation or a
// clock there is nothing at all; any other part that can't be opened is missing
// by itself.
func openNative(l libraries) (*machine, error) {
	cf, err := newCoreFoundation(l)
	if err != nil {
		return nil, err
	}
	c, err := newClock(l)
	if err != nil {
		return nil, err
	}
	m := &machine{virtual: isVirtual(l), ticks: c.base}
	var closers []func()
	m.close = func() {
		for _, f := range closers {
			f()
		}
	}
	if r, err := newReports(l, cf, c); err != nil {
		m.noReports = err
	} else {
		m.reports, closers = r, append(closers, r.close)
	}
	if p, err := newPressure(l); err != nil {
		m.noPressure = err
	} else {
		m.pressure, closers = p.read, append(closers, p.close)
	}
	if h, err := newHID(l, cf); err == nil {
		m.hid, closers = h, append(closers, h.close)
	}
	r, err := newRegistry(l, cf)
	if err != nil {
		m.noSMC = err
		return m, nil
	}
	if props := r.powerManager(); props != 0 {
		m.property = func(name string) []byte { return r.property(props, name) }
		closers = append(closers, func() { cf.drop(props) })
	}
	if s, err := newSMC(l, r); err != nil {
		m.noSMC = err
	} else {
		m.smc, closers = s, append(closers, s.close)
	}
	return m, nil
}
