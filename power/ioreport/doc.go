// Package ioreport reads the sensors of a Mac without sudo: energy of GPU, CPU,
// neural engine and memory, power of the whole machine, utilisation and clocks,
// temperatures, thermal pressure.
//
//   - [Source] is the power.Source (source.go).
//   - What a Mac says is a machine: the channels of IOReport, the keys of the
//     SMC, the temperature sensors of HID, the clock tables of pmgr, the
//     system's thermal pressure (machine.go). Each may be missing by itself.
//   - Energy is a counter for each rail, timed by the stamp that the driver
//     put on it and not by when it was looked at (energy.go): since macOS 27
//     most drivers publish every 2.1 s, some are frozen.
//   - Residency of performance states becomes utilisation and clocks
//     (states.go, tables.go); SMC and HID become power and temperatures
//     (thermal.go).
//   - The binding calls the system's libraries through purego, without cgo
//     (library.go, cf.go, reports.go, registry.go, smc.go, hid.go, system.go).
//     It is built for macOS, and with the tag iokitfake for tests against a
//     fake of those libraries in C. Nowhere else: purego makes a program depend
//     on the C library.
//
// Rails are never added to a figure for the chip: what else the chip feeds is
// not known.
package ioreport
