//go:build darwin || iokitfake

package ioreport

import (
	"time"
	"unsafe"
)

// clock reads mach_absolute_time, whose ticks stamp IOReport's channels and
// are what Go's monotonic clock counts.
type clock struct {
	absolute proc
	base     timebase
}

func newClock(l libraries) (*clock, error) {
	c := &clock{}
	var info proc
	if err := resolve(l.system, map[string]*proc{
		"mach_absolute_time": &c.absolute,
		"mach_timebase_info": &info,
	}); err != nil {
		return nil, err
	}
	if info.status(uintptr(unsafe.Pointer(&c.base))) != 0 || c.base.denom == 0 || c.base.numer == 0 {
		return nil, noChannel("mach_timebase_info doesn't say how long a tick is")
	}
	return c, nil
}

func (c *clock) ticks() uint64 { return uint64(c.absolute.call()) }

// now reads both clocks. If the scheduler takes us off between the two they
// don't belong together, so the closest of a few readings counts: as a rule
// the first, within a microsecond.
func (c *clock) now() (ticks uint64, at time.Time) {
	best := time.Duration(1<<63 - 1)
	for range 4 {
		before := time.Now()
		t := c.ticks()
		took := time.Since(before)
		if took < best {
			best, ticks, at = took, t, before.Add(took/2)
		}
		if took < 20*time.Microsecond {
			break
		}
	}
	return ticks, at
}

// pressure is the system's thermal pressure: 0 nominal, 1 moderate, 2 heavy,
// 3 trapping, 4 sleeping.
type pressure struct {
	get, cancel proc
	token       int32
	state       *uint64
}

func newPressure(l libraries) (*pressure, error) {
	p := &pressure{state: new(uint64)}
	var register proc
	if err := resolve(l.system, map[string]*proc{
		"notify_register_check": &register,
		"notify_get_state":      &p.get,
		"notify_cancel":         &p.cancel,
	}); err != nil {
		return nil, err
	}
	key := cstring("com.apple.system.thermalpressurelevel")
	var token int32
	if code := register.status(uintptr(unsafe.Pointer(key)), uintptr(unsafe.Pointer(&token))); code != 0 {
		return nil, noChannel("the system's thermal pressure can't be asked for: notify_register_check gave %d", code)
	}
	p.token = token
	return p, nil
}

func (p *pressure) read() (uint64, error) {
	if code := p.get.status(uintptr(p.token), uintptr(unsafe.Pointer(p.state))); code != 0 {
		return 0, noReading("the system doesn't say its thermal pressure at the moment")
	}
	return *p.state, nil
}

func (p *pressure) close() { p.cancel.call(uintptr(p.token)) }

// isVirtual reports whether this is a virtual machine. A system that doesn't
// say so is none.
func isVirtual(l libraries) bool {
	var byName proc
	if resolve(l.system, map[string]*proc{"sysctlbyname": &byName}) != nil {
		return false
	}
	var value int32
	size := uint64(unsafe.Sizeof(value))
	code := byName.status(uintptr(unsafe.Pointer(cstring("kern.hv_vmm_present"))), uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&size)), 0, 0)
	return code == 0 && value != 0
}
