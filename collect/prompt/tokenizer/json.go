package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// scanner reads a tokenizer.json, of which nearly all is the vocabulary and
// the list of merges: 33 MB with 1.3 million strings for Gemma 3. It reads
// those two itself, in a fifth of the time of encoding/json, which validates
// each byte first and allocates each string of the merges, though they are
// only looked up. Every other value it leaves to encoding/json.
type scanner struct {
	data []byte
	at   int
}

var errJSON = errors.New("is not valid JSON")

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// accept skips the byte c if it is next.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// list calls item for each item of an array or object, whose brackets it
// skips, until one returns an error.
func (s *scanner) list(open, end byte, item func() error) error {
	if !s.accept(open) {
		return errJSON
	}
	if s.accept(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.accept(end) {
			return nil
		}
		if !s.accept(',') {
			return errJSON
		}
	}
}

func (s *scanner) array(item func() error) error { return s.list('[', ']', item) }

// object calls field for each name, with the scanner before its value. The
// name is good until field returns.
func (s *scanner) object(field func(name []byte) error) error {
	return s.list('{', '}', func() error {
		name, err := s.text()
		if err != nil {
			return err
		}
		if !s.accept(':') {
			return errJSON
		}
		return field(name)
	})
}

// text reads a string. The result may be a part of data.
func (s *scanner) text() ([]byte, error) {
	begin, err := s.skipText()
	if err != nil {
		return nil, err
	}
	quoted := s.data[begin:s.at]
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	var unquoted string
	if err := json.Unmarshal(quoted, &unquoted); err != nil {
		return nil, errJSON
	}
	return []byte(unquoted), nil
}

// skipText skips a string and returns where it begins.
func (s *scanner) skipText() (begin int, err error) {
	if s.peek() != '"' {
		return 0, errJSON
	}
	begin = s.at
	for i := s.at + 1; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			return begin, nil
		}
	}
	return 0, errJSON
}

// id reads a token's id.
func (s *scanner) id() (int32, error) {
	s.peek()
	begin := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	id, err := strconv.ParseInt(string(s.data[begin:s.at]), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("has a token without an id from 0 to 2147483647 at byte %d", begin)
	}
	return int32(id), nil
}

// value skips a value of any kind and returns its bytes. What is between the
// brackets of a list is not checked.
func (s *scanner) value() ([]byte, error) {
	s.peek()
	begin, depth := s.at, 0
	for {
		switch s.peek() {
		case '"':
			if _, err := s.skipText(); err != nil {
				return nil, err
			}
		case '[', '{':
			depth++
			s.at++
		case ']', '}':
			depth--
			s.at++
		case ',', ':':
			s.at++
		case 0:
			return nil, errJSON
		default:
			s.word()
		}
		if depth <= 0 {
			break
		}
	}
	if depth < 0 {
		return nil, errJSON
	}
	return s.data[begin:s.at], nil
}

// word skips a number, true, false or null.
func (s *scanner) word() {
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\r', '\n':
			return
		}
	}
}
