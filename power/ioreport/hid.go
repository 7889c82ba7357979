//go:build darwin || iokitfake

package ioreport

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// hid is a client of the system for input devices, where Apple's temperature
// sensors are.
type hid struct {
	cf *coreFoundation

	create, match, copyServices, copyProperty, copyEvent, float proc
	// value is float again, as a function that returns a floating-point number.
	value func(event uintptr, field uint32) float64

	client, services ref
	products         []string // of the services, in their order
}

// How HID knows Apple's temperature sensors.
const (
	hidPage        = 0xff00
	hidUsage       = 5
	hidTemperature = 15
	hidField       = hidTemperature << 16
	cfInt32        = 3 // kCFNumberSInt32Type
)

// newHID makes a client, once: it takes milliseconds.
func newHID(l libraries, cf *coreFoundation) (*hid, error) {
	h := &hid{cf: cf}
	if err := resolve(l.ioKit, map[string]*proc{
		"IOHIDEventSystemClientCreate":       &h.create,
		"IOHIDEventSystemClientSetMatching":  &h.match,
		"IOHIDEventSystemClientCopyServices": &h.copyServices,
		"IOHIDServiceClientCopyProperty":     &h.copyProperty,
		"IOHIDServiceClientCopyEvent":        &h.copyEvent,
		"IOHIDEventGetFloatValue":            &h.float,
	}); err != nil {
		return nil, err
	}
	purego.RegisterFunc(&h.value, uintptr(h.float))
	if err := cf.pooled(h.open); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *hid) open() error {
	h.client = h.create.call(0)
	if h.client == 0 {
		return noChannel("HID gives no client")
	}
	sensors := h.sensors()
	defer h.cf.drop(sensors)
	h.match.call(h.client, sensors)
	h.services = h.copyServices.call(h.client)
	n := h.cf.count(h.services)
	if n == 0 {
		return noChannel("HID has no temperature sensors")
	}
	key := h.cf.newString("Product")
	defer h.cf.drop(key)
	h.products = make([]string, n)
	for i := range h.products {
		product := h.copyProperty.call(h.cf.arrayAt.call(h.services, uintptr(i)), key)
		h.products[i] = h.cf.string(product)
		h.cf.drop(product)
	}
	return nil
}

// sensors is the dictionary that matches the temperature sensors.
func (h *hid) sensors() ref {
	page, usage := int32(hidPage), int32(hidUsage)
	keys := [2]ref{h.cf.newString("PrimaryUsagePage"), h.cf.newString("PrimaryUsage")}
	values := [2]ref{
		h.cf.numberNew.call(0, cfInt32, uintptr(unsafe.Pointer(&page))),
		h.cf.numberNew.call(0, cfInt32, uintptr(unsafe.Pointer(&usage))),
	}
	defer h.cf.drop(keys[0], keys[1], values[0], values[1])
	return h.cf.dictNew.call(0, uintptr(unsafe.Pointer(&keys)), uintptr(unsafe.Pointer(&values)), 2, uintptr(h.cf.keyCallbacks), uintptr(h.cf.valueCalls))
}

func (h *hid) close() { h.cf.drop(h.services, h.client) }

// temperatures implements thermometers.
func (h *hid) temperatures() ([]temperature, error) {
	var out []temperature
	err := h.cf.pooled(func() error {
		for i, product := range h.products {
			event := h.copyEvent.call(h.cf.arrayAt.call(h.services, uintptr(i)), hidTemperature, 0, 0)
			if event == 0 {
				continue
			}
			out = append(out, temperature{product, h.value(event, hidField)})
			h.cf.drop(event)
		}
		return nil
	})
	return out, err
}
