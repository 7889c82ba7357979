package host

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Alive reports whether a process of this boot runs. One that was killed and
// that nobody has taken note of yet, as happens to orphans in a container, has
// ended.
func Alive(pid int64) bool {
	if pid <= 0 {
		return false // to signal it would be to signal a whole group
	}
	err := syscall.Kill(int(pid), 0)
	return (err == nil || errors.Is(err, os.ErrPermission)) && !zombie(pid)
}

// zombie reads /proc where there is one; launchd of a Mac leaves none about.
func zombie(pid int64) bool {
	stat := linux{os.DirFS("/")}.read("proc/" + strconv.FormatInt(pid, 10) + "/stat")
	// The name before the state is in parentheses and may hold any character.
	state := strings.TrimSpace(stat[strings.LastIndex(stat, ")")+1:])
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
