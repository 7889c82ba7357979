package host

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tokwatt/collect"
)

func describe(ctx context.Context) collect.Host {
	return apple{
		sysctl: sysctl,
		run:    func(args ...string) string { return output(ctx, args...) },
	}.describe()
}

// output is what a command prints, "" where it fails.
func output(ctx context.Context, args ...string) string {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

func heat(ctx context.Context) func() collect.Heat {
	return func() collect.Heat {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return parseTherm(output(ctx, "pmset", "-g", "therm"))
	}
}

// keepAwake: caffeinate watches us, so it ends when we do, however we do.
func keepAwake(ctx context.Context) (func(), error) {
	cmd := exec.CommandContext(ctx, "caffeinate", "-i", "-m", "-s", "-w", strconv.Itoa(os.Getpid()))
	if err := cmd.Start(); err != nil {
		return func() {}, err
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed is no news
	}, nil
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
