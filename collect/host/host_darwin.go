package host

import (
	"context"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"

	"tokwatt/collect"
)

func describe(ctx context.Context) collect.Host {
	return apple{
		sysctl: sysctl,
		run: func(args ...string) string {
			out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
			if err != nil {
				return ""
			}
			return string(out)
		},
	}.describe()
}

func bootID() string { return sysctl("kern.bootsessionuuid") }

// sysctl returns a value as text. The kernel does not say which type a value
// has, so the names of the numbers stand here.
func sysctl(name string) string {
	switch name {
	case "hw.memsize":
		n, err := unix.SysctlUint64(name)
		if err != nil {
			return ""
		}
		return strconv.FormatUint(n, 10)
	case "hw.physicalcpu":
		n, err := unix.SysctlUint32(name)
		if err != nil {
			return ""
		}
		return strconv.FormatUint(uint64(n), 10)
	}
	s, err := unix.Sysctl(name)
	if err != nil {
		return ""
	}
	return s
}
