package tokenizer

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// splitTimeout is the longest that one match may take. Known patterns take
// less than a microsecond a character.
const splitTimeout = 2 * time.Second

// gpt2 is the pattern that is built into ByteLevel with use_regex.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// pattern compiles the regular expression of a Split. Oniguruma, which the
// reference library uses, and regexp2 are two dialects; taken are the
// constructs that both read alike and that tokenizers use:
//
//	a | b   (…)   (?:…)   (?=…)   (?!…)   (?i:…) around the English contractions
//	* + ? {n} {n,} {n,m}, greedy
//	[…] [^…] with ranges, \s \S \r \n \t \f, \p{…} of the categories in since15
//
// Character classes are widened by what Go's tables lack, and an expression
// that is slow on long runs is refused, as is one that is so long or so nested
// that compiling it is slow.
func (t *Tokenizer) pattern(expr string) (*regexp2.Regexp, error) {
	if len(expr) > maxPattern {
		return nil, unsupported("a pattern of %d bytes", len(expr))
	}
	widened, err := widen(expr)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(widened, regexp2.OptionMaxBacktrackingStackSize(maxBacktrack))
	if err != nil {
		return nil, unsupported("the pattern %q, which does not compile (%v)", expr, err.Error())
	}
	if atom := t.try(re); atom != "" {
		return nil, unsupported("the pattern %q, which is slow on a run of %q", expr, atom)
	}
	re.MatchTimeout = splitTimeout
	return re, nil
}

// try finds a run on which re is slow, "" if there is none. All patterns of a
// tokenizer share the time for it.
func (t *Tokenizer) try(re *regexp2.Regexp) (atom string) {
	begin := time.Now()
	defer func() { t.trial -= time.Since(begin) }()
	re.MatchTimeout = time.Second
	for _, atom := range []string{" ", "\n", "\t\n", "a", "A", "0", "-", "中", "aA", "- "} {
		// The end holds what a pattern may need, or no match would be tried.
		run := []rune(strings.Repeat(atom, 20_000) + "\x00 a\n0B-中")
		slow := false
		err := re.FindRunesMatches(run, 0, func(regexp2.MatchView) bool {
			slow = time.Since(begin) > t.trial
			return !slow
		})
		if err != nil || slow {
			return atom
		}
	}
	return ""
}

// widen rewrites \p{L} as the class of what Go and Unicode 16 call a letter,
// other categories likewise, and refuses what the dialects may read apart.
func widen(expr string) (string, error) {
	w := widener{rest: expr}
	for w.rest != "" {
		if why := w.step(); why != "" {
			return "", unsupported("the pattern %q with %s", expr, why)
		}
	}
	return w.out.String(), nil
}

type widener struct {
	rest    string
	out     strings.Builder
	inClass bool
	groups  int // that are open
}

// take moves n bytes as they are.
func (w *widener) take(n int) {
	w.out.WriteString(w.rest[:n])
	w.rest = w.rest[n:]
}

// step handles one construct. It returns what is not supported, or nothing.
func (w *widener) step() string {
	c := w.rest[0]
	switch {
	case c == '\\':
		return w.escape()
	case w.inClass:
		return w.class(c)
	case c == '[':
		w.inClass = true
		w.take(1)
		if strings.HasPrefix(w.rest, "^") {
			w.take(1)
		}
		if strings.HasPrefix(w.rest, "]") {
			return "an empty class"
		}
	case c == '(':
		if w.groups++; w.groups > maxGroups {
			return fmt.Sprintf("groups %d deep", w.groups)
		}
		return w.group()
	case c == ')':
		w.groups--
		w.take(1)
	case c == '{' && longNumber(w.rest[1:]):
		return "a long repetition"
	case strings.IndexByte("*+?}", c) >= 0:
		w.take(1)
		if w.rest != "" && strings.IndexByte("*+?{", w.rest[0]) >= 0 {
			return "a lazy or possessive repetition"
		}
	case strings.IndexByte(".^$]", c) >= 0:
		return `"` + string(c) + `" outside a class`
	default:
		w.take(1)
	}
	return ""
}

// longNumber reports a number of four digits or more in what ends with "}".
func longNumber(s string) bool {
	inside, _, _ := strings.Cut(s, "}")
	digits := 0
	for _, c := range inside {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > 3 {
			return true
		}
	}
	return false
}

func (w *widener) class(c byte) string {
	switch {
	case c == '[':
		return "a class within a class"
	case strings.HasPrefix(w.rest, "&&"):
		return "an intersection of classes"
	case c == ']':
		w.inClass = false
	}
	w.take(1)
	return ""
}

func (w *widener) group() string {
	switch {
	case strings.HasPrefix(w.rest, "(?i:"):
		body, _, _ := strings.Cut(w.rest[len("(?i:"):], ")")
		// Beyond ASCII letters, and for "ss" and "st", which have ligatures,
		// the dialects' rules for case differ.
		if strings.Trim(body, "'|[]sdmtrevl") != "" || strings.Contains(body, "ss") || strings.Contains(body, "st") {
			return "(?i:" + body + ")"
		}
		w.take(len("(?i:"))
	case strings.HasPrefix(w.rest, "(?:"), strings.HasPrefix(w.rest, "(?="), strings.HasPrefix(w.rest, "(?!"):
		w.take(len("(?:"))
	case strings.HasPrefix(w.rest, "(?"), strings.HasPrefix(w.rest, "(*"):
		return "a special group"
	default:
		w.take(1)
	}
	return ""
}

func (w *widener) escape() string {
	if len(w.rest) < 2 {
		return `"\" at its end`
	}
	switch c := w.rest[1]; {
	case c == 'p':
		name, _, ok := strings.Cut(strings.TrimPrefix(w.rest[2:], "{"), "}")
		more, known := since15(name)
		if !ok || w.rest[2] != '{' || !known {
			return `\p of another category`
		}
		w.rest = w.rest[len(`\p{}`)+len(name):]
		if w.inClass {
			w.out.WriteString(`\p{` + name + `}` + more)
		} else {
			w.out.WriteString(`[\p{` + name + `}` + more + `]`)
		}
	case strings.IndexByte("sSrntf", c) >= 0, c < '0', c > '9' && c < 'A', c > 'Z' && c < 'a', c > 'z' && c < 0x80:
		w.take(2)
	default:
		return `\` + string(rune(c))
	}
	return ""
}
