package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// python names a Python that has jinja2.
const python = "TOKWATT_MLX_PY"

// script makes templates and says what Jinja renders of them.
const script = "../../../scripts/oracle/templates.py"

// A jinjaCase is a template with a conversation, and what Jinja makes of it.
type jinjaCase struct {
	Name, Template, System, User string
	Want, Refused, Error         *string
}

// TestJinja compares with what Jinja rendered when the file was made:
//
//	python scripts/oracle/templates.py random 1 250 > collect/prompt/template/testdata/random.json
func TestJinja(t *testing.T) {
	raw, err := os.ReadFile("testdata/random.json")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, raw)
}

// TestJinjaLive compares with a Jinja that is at hand: templates that nobody
// has seen yet, and real ones that the interpreter's own tests come with.
func TestJinjaLive(t *testing.T) {
	py := os.Getenv(python)
	if py == "" {
		why := python + " is not set: give it a Python that has jinja2 (pip install jinja2)"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	run := func(args ...string) []byte {
		cmd := exec.Command(py, append([]string{"-W", "ignore", script}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Run("random", func(t *testing.T) {
		seed := fmt.Sprint(rand.Uint32())
		t.Logf("seed %s", seed)
		compare(t, run("random", seed, "1000"))
	})
	t.Run("real", func(t *testing.T) {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ardanlabs/jinja").Output()
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata/templates/*.jinja"))
		if err != nil || len(files) < 10 {
			t.Fatalf("only %d templates: %v", len(files), err)
		}
		compare(t, run(append([]string{"files"}, files...)...))
	})
}

// compare renders each case. What Jinja itself stops at may be anything, and a
// few of what it renders may be refused, but none may differ.
func compare(t *testing.T, raw []byte) {
	var cases []jinjaCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	same, unsupported := 0, 0
	for _, c := range cases {
		if c.Error != nil {
			continue
		}
		tm, err := Parse(c.Template, special, date)
		got := ""
		if err == nil {
			got, err = tm.Render(c.System, c.User)
		}
		var u *UnsupportedError
		var r *RefusedError
		switch {
		case errors.As(err, &u):
			unsupported++
		case errors.As(err, &r) && c.Refused != nil && *c.Refused == r.Message, err == nil && c.Want != nil && *c.Want == got:
			same++
		default:
			t.Errorf("%s: %q, system %q, user %q\ngot  %q, %v\nwant %q, %q", c.Name, c.Template, c.System, c.User, got, err, deref(c.Want), deref(c.Refused))
		}
	}
	t.Logf("%d cases: %d the same, %d not supported", len(cases), same, unsupported)
	if same < len(cases)*4/5 || unsupported > len(cases)/10 {
		t.Error("too few were compared")
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
