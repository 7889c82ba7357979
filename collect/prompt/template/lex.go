package template

import (
	"fmt"
	"strings"
	"unicode"
)

// A piece is a part of a template. Comments are no pieces.
type piece struct {
	kind byte   // kindText, kindOutput or kindBlock
	body string // the text, or what stands between the delimiters
}

const (
	kindText    = 'T'
	kindOutput  = '{'
	kindBlock   = '%'
	kindComment = '#'
)

// lexer cuts a template as Jinja's does with trim_blocks and lstrip_blocks on,
// which is how transformers sets it:
//
//   - "-" inside a delimiter takes all white space on its side away;
//   - white space between the start of a line and a block or a comment goes,
//     unless the tag opens with "+";
//   - so does the newline after a block or a comment, unless it closes with "+".
type lexer struct {
	src       string
	pos       int
	lineStart bool // the last tag took a newline with it, or there was none yet
	out       []piece
}

// split cuts a template into its pieces.
func split(src string) ([]piece, error) {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	l := lexer{src: strings.TrimSuffix(src, "\n"), lineStart: true}
	for {
		open := l.nextTag()
		if open < 0 {
			l.text(l.src[l.pos:])
			return l.out, nil
		}
		if err := l.tag(open); err != nil {
			return nil, err
		}
	}
}

// nextTag is where the next delimiter opens, -1 if there is none.
func (l *lexer) nextTag() int {
	for i := l.pos; i+1 < len(l.src); i++ {
		if l.src[i] == '{' && strings.IndexByte("{%#", l.src[i+1]) >= 0 {
			return i
		}
	}
	return -1
}

func (l *lexer) text(s string) {
	if s != "" {
		l.out = append(l.out, piece{kindText, s})
	}
}

// tag takes the text before the tag that opens at open, and the tag.
func (l *lexer) tag(open int) error {
	kind := l.src[open+1]
	before := l.src[l.pos:open]
	start := open + 2
	mark := l.sign(start)
	if mark != 0 {
		start++
	}
	length, err := l.length(kind, start)
	if err != nil {
		return err
	}
	body, end := l.src[start:start+length], start+length+2
	if kind == kindBlock && strings.TrimFunc(strings.TrimSuffix(body, "-"), isSpace) == "raw" {
		l.text(l.left(before, mark, true))
		return l.raw(end, strings.HasSuffix(body, "-"))
	}
	closing := byte(0)
	if n := len(body); n > 0 && (body[n-1] == '-' || body[n-1] == '+' && kind != kindOutput) {
		closing, body = body[n-1], body[:n-1]
	}
	l.text(l.left(before, mark, kind != kindOutput))
	l.right(end, closing, kind != kindOutput)
	if kind != kindComment {
		l.out = append(l.out, piece{kind, strings.TrimFunc(body, isSpace)})
	}
	return nil
}

// sign is the mark that opens a tag whose delimiter ends at i.
func (l *lexer) sign(i int) byte {
	if i < len(l.src) && (l.src[i] == '-' || l.src[i] == '+') {
		return l.src[i]
	}
	return 0
}

// left is the text before a tag, as the tag leaves it.
func (l *lexer) left(text string, mark byte, block bool) string {
	if mark == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if !block || mark == '+' {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// right goes on after a tag that ends at end, and what it takes with it.
func (l *lexer) right(end int, mark byte, block bool) {
	l.pos = end
	switch {
	case mark == '-':
		rest := strings.TrimLeftFunc(l.src[end:], isSpace)
		l.pos = len(l.src) - len(rest)
	case block && mark == 0 && strings.HasPrefix(l.src[end:], "\n"):
		l.pos++
	}
	l.lineStart = l.pos > end && l.src[l.pos-1] == '\n'
}

// length is that of a tag's body from start. The closing delimiter does not
// count inside of strings and brackets.
func (l *lexer) length(kind byte, start int) (int, error) {
	s := l.src[start:]
	closer := map[byte]string{kindOutput: "}}", kindBlock: "%}", kindComment: "#}"}[kind]
	if kind == kindComment {
		if i := strings.Index(s, closer); i >= 0 {
			return i, nil
		}
		return 0, l.unclosed(start)
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		if depth == 0 && strings.HasPrefix(s[i:], closer) {
			return i, nil
		}
		switch s[i] {
		case '\'', '"':
			n := stringLength(s[i:])
			if n == 0 {
				return 0, l.unclosed(start)
			}
			i += n - 1
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		}
	}
	return 0, l.unclosed(start)
}

func (l *lexer) unclosed(start int) error {
	return fmt.Errorf("the chat template's tag in line %d does not end", 1+strings.Count(l.src[:start], "\n"))
}

// stringLength is that of the string literal that s starts with, 0 if it does
// not end.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

// raw takes a raw block's text, of which only the closing tag's white-space
// control is applied, from the end of the opening tag on.
func (l *lexer) raw(begin int, trim bool) error {
	l.pos = begin
	l.lineStart = false
	if trim {
		l.right(begin, '-', true)
	}
	for i := l.pos; ; i++ {
		n := strings.Index(l.src[i:], "{%")
		if n < 0 {
			return l.unclosed(begin)
		}
		i += n
		start := i + 2
		mark := l.sign(start)
		if mark != 0 {
			start++
		}
		rest := strings.TrimLeftFunc(l.src[start:], isSpace)
		rest, ok := strings.CutPrefix(rest, "endraw")
		rest = strings.TrimLeftFunc(rest, isSpace)
		closing := byte(0)
		if ok && rest != "" && (rest[0] == '-' || rest[0] == '+') {
			closing, rest = rest[0], rest[1:]
		}
		if !ok || !strings.HasPrefix(rest, "%}") {
			continue
		}
		l.text(l.left(l.src[l.pos:i], mark, true))
		l.right(len(l.src)-len(rest)+2, closing, true)
		return nil
	}
}

// isSpace is what Python takes for white space.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}
