//go:build nvml && linux

package nvidia

import (
	"fmt"

	"github.com/ebitengine/purego"

	"tokwatt/power"
)

// library is what is used of libnvidia-ml, under its own names without the
// prefix nvml or nvmlDevice. All of it is C's ABI: pointers and 32 bit numbers.
type library struct {
	init     func() status
	shutdown func() status
	count    func(n *uint32) status
	byIndex  func(index uint32, device *uintptr) status

	totalEnergyConsumption func(device uintptr, mJ *uint64) status
	powerUsage             func(device uintptr, mW *uint32) status
	utilizationRates       func(device uintptr, rates *[2]uint32) status // percent: GPU, memory
	temperature            func(device uintptr, sensor uint32, celsius *uint32) status
	clockInfo              func(device uintptr, clock uint32, mhz *uint32) status
	maxClockInfo           func(device uintptr, clock uint32, mhz *uint32) status
}

const (
	temperatureGPU = 0 // NVML_TEMPERATURE_GPU
	clockSM        = 1 // NVML_CLOCK_SM
)

// status is an nvmlReturn_t.
type status int32

func (s status) String() string {
	words := map[status]string{
		1: "not initialized", 2: "invalid argument", 3: "not supported by this GPU", 4: "no permission", 6: "not found",
		9: "the driver is not loaded", 10: "timeout", 12: "the library has no such function", 15: "the GPU is lost",
		17: "the operating system blocks it", 18: "library and driver differ in version", 999: "unknown error",
	}
	if w, ok := words[s]; ok {
		return fmt.Sprintf("%s (code %d)", w, int32(s))
	}
	return fmt.Sprintf("code %d", int32(s))
}

func reasonOf(s status) power.Reason {
	switch s {
	case 4:
		return power.ReasonDenied
	case 17: // NVML_ERROR_OPERATING_SYSTEM: by cgroups
		return power.ReasonMasked
	case 3, 9:
		return power.ReasonNoChannel
	}
	return power.ReasonNoReading
}

// load loads the library and finds all functions. Loading again gives the same
// one; it is never unloaded.
func load(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("NVIDIA's library can't be loaded: %w", err)
	}
	lib := new(library)
	for _, f := range []struct {
		function any
		symbol   string
	}{
		{&lib.init, "nvmlInit_v2"},
		{&lib.shutdown, "nvmlShutdown"},
		{&lib.count, "nvmlDeviceGetCount_v2"},
		{&lib.byIndex, "nvmlDeviceGetHandleByIndex_v2"},
		{&lib.totalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption"},
		{&lib.powerUsage, "nvmlDeviceGetPowerUsage"},
		{&lib.utilizationRates, "nvmlDeviceGetUtilizationRates"},
		{&lib.temperature, "nvmlDeviceGetTemperature"},
		{&lib.clockInfo, "nvmlDeviceGetClockInfo"},
		{&lib.maxClockInfo, "nvmlDeviceGetMaxClockInfo"},
	} {
		address, err := purego.Dlsym(handle, f.symbol) // RegisterLibFunc would panic
		if err != nil {
			return nil, fmt.Errorf("NVIDIA's library lacks %s: update the driver: %w", f.symbol, err)
		}
		purego.RegisterFunc(f.function, address)
	}
	return lib, nil
}

func (l *library) joules(device uintptr) (float64, status) {
	var mJ uint64
	code := l.totalEnergyConsumption(device, &mJ)
	return float64(mJ) / 1e3, code
}

func (l *library) watts(device uintptr) (float64, status) {
	var mW uint32
	code := l.powerUsage(device, &mW)
	return float64(mW) / 1e3, code
}

// busy is in percent.
func (l *library) busy(device uintptr) (float64, status) {
	var rates [2]uint32
	code := l.utilizationRates(device, &rates)
	return float64(rates[0]), code
}

func (l *library) celsius(device uintptr) (float64, status) {
	var t uint32
	code := l.temperature(device, temperatureGPU, &t)
	return float64(t), code
}

func (l *library) clockMHz(device uintptr) (float64, status) {
	var mhz uint32
	code := l.clockInfo(device, clockSM, &mhz)
	return float64(mhz), code
}

func (l *library) maxClockMHz(device uintptr) (float64, status) {
	var mhz uint32
	code := l.maxClockInfo(device, clockSM, &mhz)
	return float64(mhz), code
}
