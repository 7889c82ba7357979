//go:build darwin || iokitfake

package ioreport

import (
	"bytes"
	"unsafe"
)

// registry finds services in IOKit's registry. Handles are 32-bit numbers.
type registry struct {
	cf *coreFoundation

	matching, services, next, entryName, properties, release proc
}

func newRegistry(l libraries, cf *coreFoundation) (*registry, error) {
	r := &registry{cf: cf}
	return r, resolve(l.ioKit, map[string]*proc{
		"IOServiceMatching":                 &r.matching,
		"IOServiceGetMatchingServices":      &r.services,
		"IOIteratorNext":                    &r.next,
		"IORegistryEntryGetName":            &r.entryName,
		"IORegistryEntryCreateCFProperties": &r.properties,
		"IOObjectRelease":                   &r.release,
	})
}

// find returns the service of a class that has a name, 0 for none. It is the
// caller's to release.
func (r *registry) find(class, name string) uint32 {
	match := r.matching.call(uintptr(unsafe.Pointer(cstring(class))))
	if match == 0 {
		return 0
	}
	var iterator uint32
	// The call takes match over, whatever comes of it.
	if r.services.status(0, match, uintptr(unsafe.Pointer(&iterator))) != 0 || iterator == 0 {
		return 0
	}
	defer r.drop(iterator)
	for {
		entry := uint32(r.next.call(uintptr(iterator)))
		if entry == 0 || r.name(entry) == name {
			return entry
		}
		r.drop(entry)
	}
}

func (r *registry) name(entry uint32) string {
	var buf [128]byte // io_name_t
	if r.entryName.status(uintptr(entry), uintptr(unsafe.Pointer(&buf))) != 0 {
		return ""
	}
	s, _, _ := bytes.Cut(buf[:], []byte{0})
	return string(s)
}

func (r *registry) drop(handle uint32) { r.release.call(uintptr(handle)) }

// powerManager returns the properties of pmgr, with the clock tables: a
// dictionary, the caller's; 0 where there is none, as in virtual machines.
func (r *registry) powerManager() (props ref) {
	entry := r.find("AppleARMIODevice", "pmgr")
	if entry == 0 {
		return 0
	}
	defer r.drop(entry)
	if r.properties.status(uintptr(entry), uintptr(unsafe.Pointer(&props)), 0, 0) != 0 {
		return 0
	}
	return props
}

// property copies a property that is data out of a dictionary.
func (r *registry) property(props ref, name string) []byte {
	key := r.cf.newString(name)
	defer r.cf.drop(key)
	return bytes.Clone(r.cf.bytes(r.cf.get(props, key)))
}
