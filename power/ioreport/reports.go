//go:build darwin || iokitfake

package ioreport

import (
	"encoding/binary"
	"unsafe"
)

// reports is a subscription to IOReport's channels.
type reports struct {
	cf    *coreFoundation
	clock *clock

	copyGroup, merge, subscribe, sample        proc
	group, subgroup, name, unit                proc
	integer, stateCount, stateName, stateSpent proc

	subscription, subscribed ref
	keyChannels, keyRaw      ref

	generation int
	channels   []channel
}

func newReports(l libraries, cf *coreFoundation, c *clock) (*reports, error) {
	r := &reports{cf: cf, clock: c}
	if err := resolve(l.ioReport, map[string]*proc{
		"IOReportCopyChannelsInGroup":   &r.copyGroup,
		"IOReportMergeChannels":         &r.merge,
		"IOReportCreateSubscription":    &r.subscribe,
		"IOReportCreateSamples":         &r.sample,
		"IOReportChannelGetGroup":       &r.group,
		"IOReportChannelGetSubGroup":    &r.subgroup,
		"IOReportChannelGetChannelName": &r.name,
		"IOReportChannelGetUnitLabel":   &r.unit,
		"IOReportSimpleGetIntegerValue": &r.integer,
		"IOReportStateGetCount":         &r.stateCount,
		"IOReportStateGetNameForIndex":  &r.stateName,
		"IOReportStateGetResidency":     &r.stateSpent,
	}); err != nil {
		return nil, err
	}
	r.keyChannels, r.keyRaw = cf.newString("IOReportChannels"), cf.newString("RawElements")
	if err := cf.pooled(r.open); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *reports) close() {
	r.cf.drop(r.subscribed, r.subscription, r.keyChannels, r.keyRaw)
}

// open subscribes to the channels that are wanted, and to no others: a reading
// takes time for each, and an Ultra has hundreds.
func (r *reports) open() error {
	all := r.groups()
	if all == 0 {
		return noChannel("IOReport has none of the channels for energy and performance states")
	}
	defer r.cf.drop(all)
	chosen := r.choose(all)
	if chosen == 0 {
		return noChannel("IOReport's list of channels can't be copied")
	}
	defer r.cf.drop(chosen)
	var subscribed ref
	r.subscription = r.subscribe.call(0, chosen, uintptr(unsafe.Pointer(&subscribed)), 0, 0)
	r.subscribed = subscribed
	if r.subscription == 0 || r.subscribed == 0 {
		return noChannel("IOReport gives no subscription to its channels")
	}
	return nil
}

// groups is the merged list of the groups that there are, 0 for none.
func (r *reports) groups() (all ref) {
	for _, g := range [][2]string{{groupEnergy, ""}, {groupCPU, subgroupCPU}, {groupGPU, subgroupGPU}} {
		group, subgroup := r.cf.newString(g[0]), ref(0)
		if g[1] != "" {
			subgroup = r.cf.newString(g[1])
		}
		list := r.copyGroup.call(group, subgroup, 0, 0, 0)
		r.cf.drop(group, subgroup)
		switch {
		case all == 0:
			all = list
		case list != 0:
			r.merge.call(all, list, 0)
			r.cf.drop(list)
		}
	}
	return all
}

// choose copies the list of channels with the wanted ones alone.
func (r *reports) choose(all ref) ref {
	chosen := r.cf.dictCopy.call(0, 0, all)
	array := r.cf.arrayNew.call(0, 0, uintptr(r.cf.arrayCallbacks))
	defer r.cf.drop(array)
	if chosen == 0 || array == 0 {
		r.cf.drop(chosen)
		return 0
	}
	specs := rails()
	list := r.cf.get(all, r.keyChannels)
	for i := range r.cf.count(list) {
		item := r.cf.arrayAt.call(list, uintptr(i))
		if wanted(r.describe(item), specs) {
			r.cf.arrayAdd.call(array, item)
		}
	}
	r.cf.dictSet.call(chosen, r.keyChannels, array)
	return chosen
}

// describe is what a channel says of itself, without its states.
func (r *reports) describe(item ref) channel {
	return channel{
		group:    r.cf.string(r.group.call(item)),
		subgroup: r.cf.string(r.subgroup.call(item)),
		name:     r.cf.string(r.name.call(item)),
		unit:     r.cf.string(r.unit.call(item)),
	}
}

// read implements reporter.
func (r *reports) read(s *snapshot) error {
	return r.cf.pooled(func() error {
		s.began = r.clock.ticks()
		sample := r.sample.call(r.subscription, r.subscribed, 0)
		s.ended, s.at = r.clock.now()
		if sample == 0 {
			return noReading("IOReport gives no sample of its channels")
		}
		defer r.cf.drop(sample)
		list := r.cf.get(sample, r.keyChannels)
		if n := r.cf.count(list); n == 0 {
			return noReading("IOReport's sample has no channels")
		} else if n != len(r.channels) {
			r.list(list, n)
		}
		r.fill(s, list)
		return nil
	})
}

// list describes the channels of a sample. Their order is the same in every
// one, so this is done once.
func (r *reports) list(list ref, n int) {
	r.generation++
	r.channels = make([]channel, n)
	for i := range r.channels {
		item := r.cf.arrayAt.call(list, uintptr(i))
		c := r.describe(item)
		if c.group != groupEnergy {
			c.states = make([]string, max(0, r.stateCount.status(item)))
			for j := range c.states {
				c.states[j] = r.cf.string(r.stateName.call(item, uintptr(j)))
			}
		}
		r.channels[i] = c
	}
}

// fill copies the values of a sample into s, using the memory that is there.
func (r *reports) fill(s *snapshot, list ref) {
	if s.generation != r.generation {
		s.generation, s.channels = r.generation, r.channels
		s.readings = make([]reading, len(r.channels))
		for i, c := range r.channels {
			s.readings[i].states = make([]int64, len(c.states))
		}
	}
	for i := range s.readings {
		item, into := r.cf.arrayAt.call(list, uintptr(i)), &s.readings[i]
		if r.channels[i].states == nil {
			into.count = int64(r.integer.call(item, 0))
			into.stamp = stampOf(r.cf.bytes(r.cf.get(item, r.keyRaw)), into.count)
			continue
		}
		for j := range into.states {
			into.states[j] = int64(r.stateSpent.call(item, uintptr(j)))
		}
	}
}

// stampOf is when the driver published a counter's value: the ticks in the
// kernel's element for it, which is 64 bytes: provider and channel, 8 bytes
// each; the type, its first byte 1 for a counter; the stamp at 24; four values
// from 32. It is 0 where the element isn't as we know it, for which we take it
// too if it has another value than IOReport says.
func stampOf(element []byte, count int64) uint64 {
	const typeAt, stampAt, valueAt, size, counter = 16, 24, 32, 64, 1
	if len(element) < size || element[typeAt] != counter || int64(binary.NativeEndian.Uint64(element[valueAt:])) != count {
		return 0
	}
	return binary.NativeEndian.Uint64(element[stampAt:])
}
