//go:build !darwin

package ioreport

func openMachine() (*machine, error) { return nil, noChannel("IOReport and the SMC are macOS's alone") }
