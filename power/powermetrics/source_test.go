package powermetrics

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokwatt/power"
)

const helpText = "  cpu_power\n  gpu_power\n  thermal\n"

// script writes a program for sh and returns how to run it.
func script(t *testing.T, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"sh", file}
}

// printer prints a document ten times a second, each led by a NUL, and its own
// process id to the file of that name beside it.
func printer(t *testing.T, help string) []string {
	t.Helper()
	document := filepath.Join(t.TempDir(), "document")
	if err := os.WriteFile(document, []byte(doc(100*time.Millisecond, nominal, rails(500, 2000, 0), gpu14)), 0o644); err != nil {
		t.Fatal(err)
	}
	return script(t, `[ "$1" = -h ] && { printf '`+help+`'; exit 0; }
echo "$@" > "$0.asked"; echo $$ > "$0.pid"
while :; do cat '`+document+`'; printf '\000'; sleep 0.1; done`)
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (s *Source) beside(suffix string) string {
	b, _ := os.ReadFile(s.program[1] + suffix)
	return strings.TrimSpace(string(b))
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 20 s: " + what)
		}
	}
}

func TestStream(t *testing.T) {
	s := newSource(printer(t, helpText), nil)
	defer s.Close()
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("read before it was probed")
	}
	channels := s.Probe(patient(t))
	for _, c := range channels {
		if c.Missing != "" {
			t.Errorf("%+v", c)
		}
	}
	if len(channels) != 8 {
		t.Errorf("%d channels: %+v", len(channels), channels)
	}
	samples, err := s.Read(t.Context())
	if err != nil || len(samples) < 8 {
		t.Errorf("%v, %v", samples, err)
	}
	if got, want := s.beside(".asked"), "--samplers cpu_power,gpu_power,thermal -i 500 -f plist -b 0"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	pid, _ := strconv.Atoi(s.beside(".pid"))
	if err := s.Close(); err != nil || alive(pid) {
		t.Errorf("%v, alive %t", err, alive(pid))
	}
}

// A sampler that a release does not list would end powermetrics.
func TestSamplers(t *testing.T) {
	for help, want := range map[string]string{
		helpText:             "cpu_power,gpu_power,thermal",
		"cpu_power, thermal": "cpu_power,thermal",
		"":                   "cpu_power,gpu_power,thermal",
		"no list":            "cpu_power,gpu_power,thermal",
	} {
		s := newSource(script(t, "printf '"+help+"' >&2; exit 1"), nil)
		if got := strings.Join(s.samplers(t.Context()), ","); got != want {
			t.Errorf("%q: %s", help, got)
		}
	}
}

func TestWhyNot(t *testing.T) {
	sudo := func(says string) []string { return script(t, "echo '"+says+"' >&2; exit 1") }
	run := printer(t, helpText)
	for name, c := range map[string]struct {
		s    *Source
		want power.Reason
		note string
	}{
		"not macOS":     {newSource([]string{"/there/is/no/powermetrics"}, nil), power.ReasonNoChannel, "macOS"},
		"password":      {newSource(run, sudo("sudo: a password is required")), power.ReasonSudoNeeded, "sudo -v"},
		"no rule":       {newSource(run, sudo("Sorry, user x is not allowed to execute powermetrics as root")), power.ReasonDenied, "not allowed"},
		"no sudo":       {newSource(run, []string{"/there/is/no/sudo"}), power.ReasonSudoNeeded, "root"},
		"not root":      {newSource(script(t, "echo 'powermetrics must be invoked as the superuser' >&2; exit 1"), nil), power.ReasonSudoNeeded, "NOPASSWD"},
		"other trouble": {newSource(script(t, "echo 'unrecognized sampler: x' >&2; exit 64"), nil), power.ReasonNoReading, "unrecognized"},
		"virtual":       {newSource(script(t, "cat <<E\n"+strings.Replace(doc(1e8, nominal, "", ""), "Mac14,14", "VirtualMac2,1", 1)+"E\n"), nil), power.ReasonVM, "host"},
	} {
		got := c.s.Probe(patient(t))
		if len(got) == 0 || got[0].Missing != c.want || !strings.Contains(got[0].Note, c.note) {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := c.s.Read(t.Context()); err == nil {
			t.Errorf("%s: read", name)
		}
		if err := c.s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nobody is asked for a password: sudo is told so, and has no terminal to read.
func TestNeverAPrompt(t *testing.T) {
	s := New()
	if os.Geteuid() != 0 && strings.Join(s.sudo, " ") != "sudo -n" || os.Geteuid() == 0 && s.sudo != nil {
		t.Errorf("sudo %v", s.sudo)
	}
	s = newSource(printer(t, helpText), script(t, `read x && echo "read $x"; echo "sudo: a password is required" >&2; exit 1`))
	if got := s.Probe(patient(t)); got[0].Missing != power.ReasonSudoNeeded {
		t.Errorf("%+v", got[0])
	}
}

const ownerEnv = "TOKWATT_TEST_OWNER"

// TestMain is also the process that TestKilled kills: it runs powermetrics by
// the programs that the variable names.
func TestMain(m *testing.M) {
	programs := os.Getenv(ownerEnv)
	if programs == "" {
		os.Exit(m.Run())
	}
	program, sudo, _ := strings.Cut(programs, ":")
	s := newSource([]string{"sh", program}, nil)
	if sudo != "" {
		s.sudo = []string{"sh", sudo}
	}
	fmt.Println(s.Probe(context.Background())[0].Missing)
	time.Sleep(time.Minute)
}

// After kill -9 of this process no powermetrics is left, though it and sudo
// take no signal of ours, as root's processes don't.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, sudo := range map[string][]string{"root": nil, "sudo": script(t, "trap '' TERM\n\"$@\"")} {
		t.Run(name, func(t *testing.T) {
			s := newSource(printer(t, helpText), nil)
			owner := exec.Command(self)
			owner.Env = append(os.Environ(), ownerEnv+"="+s.program[1])
			if sudo != nil {
				owner.Env = append(os.Environ(), ownerEnv+"="+s.program[1]+":"+sudo[1])
			}
			out, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "\n" {
				t.Fatalf("it does not run: %q, %v", line, err)
			}
			pid, err := strconv.Atoi(s.beside(".pid"))
			if err != nil || !alive(pid) {
				t.Fatalf("process %d does not run, %v", pid, err)
			}
			if err := owner.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = owner.Wait()
			eventually(t, "the end of powermetrics", func() bool { return !alive(pid) })
		})
	}
}
