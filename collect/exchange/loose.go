package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
)

// object is a row of a foreign file: a JSON object, or a row of a table whose
// cells are JSON strings. Its accessors take the first of several names that
// has a value of the kind asked for: tools rename their fields. NULL is nil.
type object map[string]json.RawMessage

// number is a finite number, also one in quotes.
func (o object) number(names ...string) *float64 {
	for _, name := range names {
		if x, err := strconv.ParseFloat(strings.Trim(string(o[name]), `" `), 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
			return &x
		}
	}
	return nil
}

// count is a whole number that is not negative.
func (o object) count(names ...string) *int64 {
	for _, name := range names {
		if x := o.number(name); x != nil && *x >= 0 && *x <= 1<<53 && *x == math.Trunc(*x) {
			n := int64(*x)
			return &n
		}
	}
	return nil
}

// refuse is an error where a member that is there is not what ok asks for. What
// Python writes for a number that is none is not there.
func (o object) refuse(what string, ok func(name string) bool, names ...string) error {
	for _, name := range names {
		switch raw := strings.Trim(string(o[name]), `" `); {
		case raw == "", raw == "null", raw == "NaN", strings.HasSuffix(raw, "Infinity"), ok(name):
		default:
			return fmt.Errorf("its %s is %s, which is no %s", name, firstRunes(string(o[name]), 40), what)
		}
	}
	return nil
}

func (o object) refuseCounts(names ...string) error {
	return o.refuse("count", func(name string) bool { return o.count(name) != nil }, names...)
}

func (o object) refuseTimes(names ...string) error {
	return o.refuse("time", func(name string) bool { x := o.number(name); return x != nil && *x >= 0 }, names...)
}

func (o object) refuseNumbers(names ...string) error {
	return o.refuse("number", func(name string) bool { return o.number(name) != nil }, names...)
}

// text is a string, empty where there is none.
func (o object) text(names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(o[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// flag is a truth value; tables write 1 and 0.
func (o object) flag(name string) *bool {
	yes, no := true, false
	switch strings.Trim(string(o[name]), `" `) {
	case "true", "1":
		return &yes
	case "false", "0":
		return &no
	}
	return nil
}

// object is a member that is an object, nil where it is not.
func (o object) object(name string) object {
	raw, has := o[name]
	if !has {
		return nil // which most lookups of a row come to
	}
	var sub object
	if json.Unmarshal(raw, &sub) != nil {
		return nil
	}
	return sub
}

// list is a member that is a list, nil where it is not.
func (o object) list(name string) []json.RawMessage {
	var sub []json.RawMessage
	if json.Unmarshal(o[name], &sub) != nil {
		return nil
	}
	return sub
}

// numbers is a list of finite numbers, nil where any is not one.
func (o object) numbers(name string) []float64 {
	var known []*float64
	if json.Unmarshal(o[name], &known) != nil || known == nil {
		return nil
	}
	xs := make([]float64, 0, len(known))
	for _, x := range known {
		if x == nil {
			return nil
		}
		xs = append(xs, *x)
	}
	return xs
}

// without is the object less some members, as JSON; empty where nothing is left.
func (o object) without(names ...string) string {
	rest := maps.Clone(o)
	for _, name := range names {
		delete(rest, name)
	}
	if len(rest) == 0 {
		return ""
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return ""
	}
	return string(text)
}

// parseObject reads one JSON object and nothing behind it.
func parseObject(raw []byte) (object, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, said(err)
	}
	if o == nil {
		return nil, fmt.Errorf("null where an object should be")
	}
	return o, nil
}

// said is an error of the JSON library in the words of this program.
func said(err error) error {
	switch e := err.(type) {
	case *json.UnmarshalTypeError:
		return fmt.Errorf("a %s where an object should be", e.Value)
	case *json.SyntaxError:
		if strings.Contains(e.Error(), "unexpected end") {
			return errCut
		}
	}
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		return errCut
	}
	return fmt.Errorf("no valid JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

var (
	errCut    = fmt.Errorf("it breaks off")
	errBehind = fmt.Errorf("something stands behind its end, which is left out")
)

// decoder reads JSON as Python writes it, one document behind the other. A
// number may be of any size: one that no float64 holds is a fault of its own
// field alone.
func decoder(r io.Reader) *json.Decoder {
	dec := json.NewDecoder(pythonJSON(r))
	dec.UseNumber()
	return dec
}

// behind is errBehind where dec, which has read a document, has not come to the
// end of the file.
func behind(dec *json.Decoder) error {
	if _, err := dec.Token(); err != io.EOF {
		return errBehind
	}
	return nil
}

// eachMember goes through the members of the object that dec is in front of. each
// takes a member's value off dec; one that does not is passed over.
func eachMember(dec *json.Decoder, each func(name string) (taken bool, err error)) error {
	if err := delim(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return said(err)
		}
		name, _ := key.(string)
		taken, err := each(name)
		if err != nil {
			return err
		}
		if !taken {
			if err := skip(dec); err != nil {
				return err
			}
		}
	}
	return delim(dec, '}')
}

// elements goes through the elements of the list that dec is in front of.
func elements(dec *json.Decoder, each func(i int, raw json.RawMessage) bool) error {
	if err := delim(dec, '['); err != nil {
		return err
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return said(err)
		}
		if !each(i, raw) {
			return nil
		}
	}
	return delim(dec, ']')
}

func delim(dec *json.Decoder, want json.Delim) error {
	tok, err := dec.Token()
	if err != nil {
		return said(err)
	}
	if tok != want {
		return fmt.Errorf("%v where %v should be", tok, want)
	}
	return nil
}

// skip passes over one value without keeping it.
func skip(dec *json.Decoder) error {
	depth := 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return said(err)
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// compact is a JSON value without white space.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

// nanos is seconds in nanoseconds, nil where that is nothing that a clock can say.
func nanos(seconds *float64) *int64 {
	if seconds == nil || *seconds < 0 || *seconds > 1e9 {
		return nil
	}
	ns := int64(math.Round(*seconds * 1e9))
	return &ns
}
