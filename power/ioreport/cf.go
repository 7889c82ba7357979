//go:build darwin || iokitfake

package ioreport

import (
	"bytes"
	"runtime"
	"unsafe"
)

// ref is an object of CoreFoundation's; 0 is none. What comes from a function
// with Create or Copy in its name is ours and must be released, what comes from
// one with Get belongs to the object it was got from.
type ref = uintptr

const utf8Encoding = 0x08000100

// coreFoundation has the functions for CoreFoundation's objects.
type coreFoundation struct {
	release                                  proc
	stringCreate, stringGet                  proc
	arrayCount, arrayAt, arrayNew, arrayAdd  proc
	dictGet, dictSet, dictCopy, dictNew      proc
	numberNew                                proc
	dataLength, dataBytes, typeOf, dataType  proc
	arrayCallbacks, keyCallbacks, valueCalls proc // addresses of data

	poolPush, poolPop proc

	text *[256]byte // for stringGet
}

func newCoreFoundation(l libraries) (*coreFoundation, error) {
	cf := &coreFoundation{text: new([256]byte)}
	if err := resolve(l.coreFoundation, map[string]*proc{
		"CFRelease":                       &cf.release,
		"CFStringCreateWithCString":       &cf.stringCreate,
		"CFStringGetCString":              &cf.stringGet,
		"CFArrayGetCount":                 &cf.arrayCount,
		"CFArrayGetValueAtIndex":          &cf.arrayAt,
		"CFArrayCreateMutable":            &cf.arrayNew,
		"CFArrayAppendValue":              &cf.arrayAdd,
		"CFDictionaryGetValue":            &cf.dictGet,
		"CFDictionarySetValue":            &cf.dictSet,
		"CFDictionaryCreateMutableCopy":   &cf.dictCopy,
		"CFDictionaryCreate":              &cf.dictNew,
		"CFNumberCreate":                  &cf.numberNew,
		"CFDataGetLength":                 &cf.dataLength,
		"CFDataGetBytePtr":                &cf.dataBytes,
		"CFGetTypeID":                     &cf.typeOf,
		"CFDataGetTypeID":                 &cf.dataType,
		"kCFTypeArrayCallBacks":           &cf.arrayCallbacks,
		"kCFTypeDictionaryKeyCallBacks":   &cf.keyCallbacks,
		"kCFTypeDictionaryValueCallBacks": &cf.valueCalls,
	}); err != nil {
		return nil, err
	}
	return cf, resolve(l.objc, map[string]*proc{
		"objc_autoreleasePoolPush": &cf.poolPush,
		"objc_autoreleasePoolPop":  &cf.poolPop,
	})
}

// pooled runs f on one thread, inside a pool that takes what the system's
// functions leave behind for later release.
func (cf *coreFoundation) pooled(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := cf.poolPush.call()
	defer cf.poolPop.call(pool)
	return f()
}

// drop releases objects of ours.
func (cf *coreFoundation) drop(refs ...ref) {
	for _, r := range refs {
		if r != 0 {
			cf.release.call(r)
		}
	}
}

// newString makes a string, which is the caller's.
func (cf *coreFoundation) newString(s string) ref {
	return cf.stringCreate.call(0, uintptr(unsafe.Pointer(cstring(s))), utf8Encoding)
}

// string copies a string out. One that isn't there, or longer than any name,
// is empty.
func (cf *coreFoundation) string(r ref) string {
	if r == 0 || byte(cf.stringGet.call(r, uintptr(unsafe.Pointer(cf.text)), uintptr(len(cf.text)), utf8Encoding)) == 0 {
		return ""
	}
	s, _, _ := bytes.Cut(cf.text[:], []byte{0})
	return string(s)
}

// get is a dictionary's value, which stays the dictionary's.
func (cf *coreFoundation) get(dict, key ref) ref {
	if dict == 0 {
		return 0
	}
	return cf.dictGet.call(dict, key)
}

// count is how many elements an array has.
func (cf *coreFoundation) count(array ref) int {
	if array == 0 {
		return 0
	}
	return int(cf.arrayCount.call(array))
}

// bytes are those of an object if that is data: the object's own memory, valid
// as long as the object is.
func (cf *coreFoundation) bytes(r ref) []byte {
	if r == 0 || cf.typeOf.call(r) != cf.dataType.call() {
		return nil
	}
	n, p := int(cf.dataLength.call(r)), cf.dataBytes.call(r)
	if n <= 0 || p == 0 {
		return nil
	}
	// The address is C's, so that the collector knows nothing of it.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n)
}
