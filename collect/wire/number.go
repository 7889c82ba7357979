package wire

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// Number is a figure that a server states; nil where it states none, or
// something that is no number.
type Number struct{ V *float64 }

// notFinite are the words that stand for what JSON has no number for: those of
// JavaScript and Python, which write them without quotes all the same.
var notFinite = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

// UnmarshalJSON reads a number, or a word for none. It is never an error.
func (n *Number) UnmarshalJSON(raw []byte) error {
	// A number too large for a double is infinite: ParseFloat says so beside
	// its error.
	f, err := strconv.ParseFloat(string(raw), 64)
	if isNumber(raw) && (err == nil || errors.Is(err, strconv.ErrRange)) {
		n.V = &f
	} else if f, ok := notFinite[string(bytes.Trim(raw, `"`))]; ok {
		n.V = &f
	}
	return nil
}

// isNumber tells a JSON number from all that ParseFloat takes beside them.
func isNumber(raw []byte) bool { return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' }

// Quoted puts quotes around the words of notFinite that stand where JSON wants
// a value, so that an event is not lost for one figure. It returns nil where
// there is none.
func Quoted(data []byte) []byte {
	var out []byte
	done, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == 'N' || c == 'I' || c == '-'):
			for word := range notFinite {
				if bytes.HasPrefix(data[i:], []byte(word)) {
					out = append(append(append(append(out, data[done:i]...), '"'), word...), '"')
					done = i + len(word)
					i = done - 1
					break
				}
			}
		}
	}
	if out == nil {
		return nil
	}
	return append(out, data[done:]...)
}
