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
	if r, err := newReports(l, cf, c); err != nil {
		m.noReports = err
	} else {
		m.reports = r
		m.onClose(r.close)
	}
	if p, err := newPressure(l); err != nil {
		m.noPressure = err
	} else {
		m.pressure = p.read
		m.onClose(p.close)
	}
	if h, err := newHID(l, cf); err == nil {
		m.hid = h
		m.onClose(h.close)
	}
	m.openRegistry(l, cf)
	return m, nil
}

// openRegistry opens what is found in IOKit's registry.
func (m *machine) openRegistry(l libraries, cf *coreFoundation) {
	r, err := newRegistry(l, cf)
	if err != nil {
		m.noSMC = err
		return
	}
	if props := r.powerManager(); props != 0 {
		m.property = func(name string) []byte { return r.property(props, name) }
		m.onClose(func() { cf.drop(props) })
	}
	if s, err := newSMC(l, r); err != nil {
		m.noSMC = err
	} else {
		m.smc = s
		m.onClose(s.close)
	}
}

func (m *machine) onClose(f func()) { m.closers = append(m.closers, f) }
