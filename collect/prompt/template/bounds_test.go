package template

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile are programs that would take all memory, or never end, or end the
// process, each by another way of the language.
var hostile = map[string]string{
	"repeated":             "{{ 'a' * 10**10 }}",
	"repeated, literal":    "{{ 'a' * 10000000000 }}",
	"repeated, turned":     "{{ 10000000000 * 'a' }}",
	"repeated twice":       "{{ 'a' * 100000 * 100000 }}",
	"repeated by macro":    "{% macro f(x) %}{{ x * 1000 }}{% endmacro %}{{ f(f(f(f('a')))) }}",
	"default of a macro":   "{% macro f(x='a'*10000000000) %}{{ x }}{% endmacro %}{{ f() }}",
	"doubled":              "{% set x='aaaaaaaaaa' %}" + strings.Repeat("{% set x=x+x %}", 40) + "{{ x }}",
	"doubled by tildes":    "{% set x='aaaaaaaaaa' %}" + strings.Repeat("{% set x=x~x %}", 40) + "{{ x }}",
	"doubled in turns":     "{% set ns=namespace(x='a') %}{% for i in range(60) %}{% set ns.x=ns.x+ns.x %}{% endfor %}{{ ns.x }}",
	"doubled in blocks":    "{% set x='a' %}" + strings.Repeat("{% set y %}{{x}}{{x}}{% endset %}{% set x=y %}", 40),
	"doubled by replace":   "{% set ns=namespace(x='aa') %}{% for i in range(60) %}{% set ns.x=ns.x.replace('a', ns.x) %}{% endfor %}",
	"replaced by filter":   "{% set ns=namespace(x='aa') %}{% for i in range(60) %}{% set ns.x=ns.x|replace('a', ns.x) %}{% endfor %}",
	"doubled by join":      "{% set ns=namespace(x='aa') %}{% for i in range(60) %}{% set ns.x=[ns.x, ns.x]|join %}{% endfor %}",
	"doubled lists":        "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=ns.x+ns.x %}{% endfor %}",
	"nested lists":         "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ ns.x == ns.x }}",
	"nested, as text":      "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ ns.x|string }}",
	"nested, called":       "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ ns.x() }}",
	"nested, as key":       "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ messages[0][ns.x] }}",
	"key of a mapping":     "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x=[ns.x,ns.x] %}{% endfor %}{{ {ns.x: 1} }}",
	"holds itself":         "{% set l=[1] %}{% set m=l.append(l) %}{{ l == l }}",
	"holds itself, text":   "{% set ns=namespace() %}{% set ns.x=ns %}{{ ns ~ '' }}",
	"holds itself, in":     "{% set l=[1] %}{% set m=l.append(l) %}{{ l in l }}",
	"holds its loop":       "{% set l=[[1],[1]] %}{% for x in l %}{% set m=x.append(loop) %}{{ loop == loop.previtem }}{{ x == l }}{% endfor %}",
	"range":                "{% for i in range(10**12) %}a{% endfor %}",
	"range, literal":       "{% for i in range(1000000000000) %}a{% endfor %}",
	"range, backwards":     "{% for i in range(0, -1000000000000, -1) %}a{% endfor %}",
	"range, its length":    "{{ range(10000000000)|list|length }}",
	"range, far":           "{{ range(9223372036854775000, 9223372036854775807, 1000) | length }}",
	"loops in loops":       "{% for i in range(100000) %}{% for j in range(100000) %}{% for k in range(100000) %}{% endfor %}{% endfor %}{% endfor %}",
	"loop with conditions": "{% for i in range(1000) if range(100000) %}{% endfor %}",
	"grown list":           "{% set l=[1] %}{% for i in range(100000) %}{% set m=l.append(l|length) %}{% endfor %}",
	"macro in itself":      "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
	"macro twice":          "{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}",
	"macros in turn":       "{% macro f(x) %}{{ g(x) }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
	"macro given":          "{% macro f(x) %}{{ x(x) }}{% endmacro %}{{ f(f) }}",
	"macro, left":          "{% macro f(x) %}{% for i in [1] %}{{ f(x) }}{% break %}{% endfor %}{% endmacro %}{{ f(1) }}",
	"slices":               "{{ [1,2][0:1000000000000:2]|length }}",
	"slices, backwards":    "{{ 'ab'[1000000000000::-1] }}",
	"slice of words":       "{% for i in range(1000) %}{{ 'é'[-9223372036854775807:] }}{{ 'é'[:9223372036854775807] }}{% endfor %}{{ 1 / 0 }}",
	"slice by nothing":     "{{ 'é'[nothing:] }}",
	"negative":             "{% for i in range(1000000) %}{% if 'a' * -1 == 'x' %}{% endif %}{% endfor %}",
	"method as a value":    "{% set f='aaaaaaaa'.replace %}{{ f('a', 'b') }}",
	"powers":               "{{ 9**9**9**9 }}",
	"centred":              "{{ 'a' | center(10000000000) }}",
	"indented":             "{{ 'a\nb' | indent(2000000000) }}",
	"formatted":            "{{ '%1000000000d' | format(1) }}",
	"formatted, percent":   "{{ '%1000000000d' % 1 }}",
	"deep brackets":        "{{ " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + " }}",
	"deep lists":           "{{ " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + " }}",
	"deep blocks":          strings.Repeat("{% if 1 %}", 12_000) + strings.Repeat("{% endif %}", 12_000),
	"many signs":           "{{ " + strings.Repeat("-", 1000) + "1 }}",
	"many words":           "{{ " + strings.Repeat("not ", 60_000) + "1 }}",
	"many operands":        "{{ 1" + strings.Repeat("+1", 120_000) + " }}",
	"many tags":            strings.Repeat("{{ 1 }}", 30_000),
	"many variables":       "{% for i in [1] %}" + strings.Repeat("{% set a=1 %}", 17_000) + "{% endfor %}",
	"long":                 strings.Repeat("a", 1<<20),
}

// TestHostile: each such program is refused by its name, soon, and without
// taking much memory.
func TestHostile(t *testing.T) {
	for name, src := range hostile {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			tm, err := Parse(src, special, date)
			if err == nil {
				_, err = tm.Render("S", "hi")
			}
			runtime.ReadMemStats(&after)
			var u *UnsupportedError
			if !errors.As(err, &u) || len(err.Error()) > 300 {
				t.Errorf("error %.400v", err)
			}
			if took := time.Since(begin); took > 20*maxTime {
				t.Errorf("took %v", took)
			}
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 1024 {
				t.Errorf("made %d MiB", made)
			}
		})
	}
}

// TestHostileByLength: what is harmless with the first prompt is bounded with
// each later one too.
func TestHostileByLength(t *testing.T) {
	tm, err := Parse("{% if messages[0].content|length > 1000 %}{% for i in range(1000) %}{{ messages[0].content * 1000 }}{% endfor %}{% endif %}ok", special, date)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := tm.Render("", "hi"); err != nil || text != "ok" {
		t.Fatalf("%q, %v", text, err)
	}
	var u *UnsupportedError
	if _, err := tm.Render("", strings.Repeat("a", 2000)); !errors.As(err, &u) {
		t.Errorf("error %v", err)
	}
}

// TestLongPrompt: the bounds leave room for the longest prompts.
func TestLongPrompt(t *testing.T) {
	const src = "{% for m in messages %}{% set content = m.content|trim %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}{{ m.role + ': ' + content }}{% endfor %}"
	user := strings.TrimSpace(strings.Repeat(" a", 4<<20))
	if text := render(t, src, "S", user); text != "system: Suser: "+user {
		t.Errorf("%d bytes of %d", len(text), len(user))
	}
}

// TestOperators is Python's arithmetic.
func TestOperators(t *testing.T) {
	for src, want := range map[string]string{
		"7 // 2": "3", "-7 // 2": "-4", "-7 % 3": "2", "7 % -3": "-2", "2 + 3 * 4 - 1": "13", "(2 + 3) * 4": "20", "10 - 2 - 3": "5",
		"'a' ~ 1 ~ none ~ true ~ nothing": "a1NoneTrue", "'a' + 'b' + 'c'": "abc", "'ab' * 2": "abab", "2 * 'ab'": "abab", "'ab' * -2": "",
		"1 + 1 == 2": "True", "not 1 + 1 == 3": "True", "'a' in 'ab' and 'x' not in 'ab'": "True", "1 < 2 and 'a' <= 'b'": "True",
		"'é中a'[1:99] ~ 'é中a'[-99:2] ~ [1, 2, 3][::2] | length": "中aé中2",
		"1 if 2 > 1 else 3": "1", "([1] + [2])[1]": "2", "'abc'[1:] ~ 'abc'[-1] ~ 'abc'[::-1]": "bcccba", "-1 + 2": "1", "4 - -1": "5",
		"1 == 1.0": "True", "true == 1": "True", "[1, 2] == [1, 2]": "True", "'b' in ['a', 'b']": "True", "none == nothing": "False",
		"[{'a': 1}, {'a': 2}] | map(attribute='a') | join('-')": "1-2", "(['a', 'b'] | select('eq', 'b') | list)[0]": "b",
	} {
		if got := render(t, "{{ "+src+" }}", "", "x"); got != want {
			t.Errorf("%s is %q, want %q", src, got, want)
		}
	}
	for _, src := range []string{"'a' + 1", "none + 'a'", "1 / 0", "1 // 0", "1 % 0", "'a' < 1", "[1] * 2", "1 < 2 < 3", "9007199254740992 + 1", "1e5", "2 ** 3", "1 in 'a'"} {
		tm, err := Parse("{{ "+src+" }}", special, date)
		if err == nil {
			_, err = tm.Render("", "x")
		}
		var u *UnsupportedError
		if !errors.As(err, &u) {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// TestTime: a rendering that takes too long ends at the next call, and each
// later call fails too.
func TestTime(t *testing.T) {
	m := newMeter(10)
	if err := m.spend(1, 1); err != nil {
		t.Fatal(err)
	}
	m.end = time.Now().Add(-time.Nanosecond)
	if err := m.spend(1, 1); err == nil || !strings.Contains(err.Error(), "to render") {
		t.Errorf("error %v", err)
	}
	m.end = time.Now().Add(time.Hour)
	if err := m.spend(0, 0); err == nil {
		t.Error("the meter goes on after its end")
	}
}
