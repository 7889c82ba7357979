package template

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	date    = time.Date(2026, 3, 7, 9, 5, 1, 0, time.UTC)
	special = Special{BOS: "<s>", EOS: "</s>"}
)

func render(t testing.TB, src, system, user string) string {
	t.Helper()
	tm, err := Parse(src, special, date)
	if err != nil {
		t.Fatal(err)
	}
	text, err := tm.Render(system, user)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRender(t *testing.T) {
	const chatml = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}\n" +
		"{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
	for name, c := range map[string]struct{ src, system, user, want string }{
		"chatml":           {chatml, "", "hi", "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"},
		"system":           {chatml, "S", "hi", "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"},
		"special tokens":   {"{{ bos_token }}{{ eos_token }}{{ unk_token }}|{{ pad_token is defined }}", "", "", "<s></s>|False"},
		"date":             {"{{ strftime_now('%d %b %Y, %H:%M:%S %j %%') }}", "", "", "07 Mar 2026, 09:05:01 066 %"},
		"space before":     {"A: {{ 'x' }}{%- if true %} b{%- endif %}", "", "", "A: x b"},
		"escapes":          {`{{ '\u2581\n\x41\q' }}`, "", "", "▁\nA\\q"},
		"brackets at ends": {"{{ {'a': {'b': 'c'}}['a']['b'] }}", "", "", "c"},
		"one turn's value": {"{% set a = 1 %}{% for i in range(2) %}{{ a }}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}", "", "", "12121"},
		"none":             {"{{ none }}{{ tools }}{{ nothing }}", "", "", "NoneNone"},
		"is binds tightly": {"{{ 'a' ~ 'b' is string }}", "", "", "aTrue"},
		"branch not taken": {"{% if tools %}{{ x | groupby('y') }}{{ x.encode('z') }}{% endif %}ok", "", "", "ok"},
		"raw":              {"{% raw %}{{ x }}{% endraw %}", "", "", "{{ x }}"},
		"text like tags":   {"{ {x} } \" \\ {{ messages[0].content }}", "", "{{ a }}{% b %}", "{ {x} } \" \\ {{ a }}{% b %}"},
		"split, once":      {"{{ 'a</t>b</t>c'.split('</t>', 1)[-1] }}", "", "", "b</t>c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := render(t, c.src, c.system, c.user); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestDate(t *testing.T) {
	for src, want := range map[string]bool{"{{ strftime_now('%Y') }}": true, "{{ bos_token }}": false} {
		tm, err := Parse(src, special, date)
		if err != nil {
			t.Fatal(err)
		}
		if day, asked := tm.Date(); !day.Equal(date) || asked != want {
			t.Errorf("%s: %v, %t", src, day, asked)
		}
	}
}

func TestUnsupported(t *testing.T) {
	for src, want := range map[string]string{
		"{{ 'x' | groupby('y') }}":                            "groupby",
		"{{ 'x'.encode('y') }}":                               "encode",
		"{{ 'x' is divisibleby(3) }}":                         "divisibleby",
		"{{ 'x' is in ['x'] }}":                               "without brackets",
		"{{ messages }}":                                      "a list or a mapping",
		"{{ 1.5 }}":                                           "a number with a fraction",
		"{{ 'é' | upper }}":                                   "ASCII",
		"{{ messages | tojson }}":                             "JSON",
		"{{ strftime_now('%Q') }}":                            "%Q",
		"{{ 'x'.strip(chars='x') }}":                          "named",
		"{% set a, b = 1, 2 %}":                               "set a, b",
		"{% for (a, b) in messages %}{% endfor %}":            "for (",
		"{% macro m(a='x,y') %}{% endmacro %}":                "macro",
		"{% filter upper %}x{% endfilter %}":                  "filter",
		"{% for a in 'x' %}{% break %}{% else %}{% endfor %}": "else",
		"{% include 'x' %}":                                   "include",
		"{{ tokwatt_print(1) }}":                              "the name",
		"{% if x %}":                                          "unclosed",
		"{{ 'a' 'b' }}":                                       "",
		"{{ ä }}":                                             "character",
		`{{ '\N{DASH}' }}`:                                    "string",
	} {
		tm, err := Parse(src, special, date)
		if err == nil {
			_, err = tm.Render("", "x")
		}
		var u *UnsupportedError
		if !errors.As(err, &u) || !strings.Contains(u.What, want) {
			t.Errorf("%s: error %v, want one about %q", src, err, want)
		}
	}
	for _, src := range []string{"a\n{{ x", "{% raw %}", "{# ", "{{ 'x }}"} {
		if _, err := Parse(src, special, date); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func TestRefused(t *testing.T) {
	tm, err := Parse("{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{{ messages[0].content }}", special, date)
	if err != nil {
		t.Fatal(err)
	}
	var r *RefusedError
	if _, err := tm.Render("S", "hi"); !errors.As(err, &r) || r.Message != "System role not supported" {
		t.Errorf("error %v", err)
	}
	if text, err := tm.Render("", "hi"); err != nil || text != "hi" {
		t.Errorf("%q, %v", text, err)
	}
	long := RefusedError{Message: "\x1b[2Jno" + strings.Repeat("o", 1000)}
	if e := long.Error(); !strings.Contains(e, " [2Jnoo") || len(e) > 200 {
		t.Errorf("%q", e)
	}
}

// FuzzParse: whatever the source, there is an answer, and text without tags is
// rendered as it is.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"{{ x }}", "{%- if a is not b(1) -%}{{ c.d(e)|f }}{% endif %}", "{% set x %}y{% endset %}", "{#-#}", "{% raw -%} {%- endraw %}", "{{ '\\", "{%for", "{% set", "{{ is", "{{ x is not", "{% end%}"} {
		f.Add(s)
	}
	for _, s := range hostile {
		if len(s) < 1<<10 {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		tm, err := Parse(src, special, date)
		if err != nil {
			return
		}
		text, err := tm.Render("a", "b")
		if !strings.Contains(src, "{") && !strings.Contains(src, "\r") && (err != nil || text != strings.TrimSuffix(src, "\n")) {
			t.Errorf("%q becomes %q, %v", src, text, err)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	tm, err := Parse("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m['content'] | trim }}<|im_end|>\n{% endfor %}", special, date)
	if err != nil {
		b.Fatal(err)
	}
	user := strings.Repeat(" a", 100_000)
	b.SetBytes(int64(len(user)))
	for b.Loop() {
		if _, err := tm.Render("", user); err != nil {
			b.Fatal(err)
		}
	}
}
