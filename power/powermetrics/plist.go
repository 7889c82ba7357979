package powermetrics

import (
	"bytes"
	"strings"
)

// end is where a document ends; what comes before the next is a NUL, which
// leads the next document's first line.
var end = []byte("</plist>")

// split is a [bufio.SplitFunc] whose records are documents. One that is cut
// off by the end of the stream is dropped.
func split(data []byte, _ bool) (advance int, token []byte, err error) {
	i := bytes.Index(data, end)
	if i < 0 {
		return 0, nil, nil
	}
	n := i + len(end)
	return n, bytes.TrimLeft(data[:n], "\x00 \r\n\t"), nil
}

// leaf is one value of a document, under its path of keys. The elements of an
// array have the path of the array and "[]": "gpu/dvfm_states[]/freq".
type leaf struct {
	path string
	text string // between the tags; "true" and "false" for those
}

// maxDepth bounds the nesting; real documents have seven levels.
const maxDepth = 32

// leaves walks a property list's tags and calls each for the values, in their
// order, keys that repeat included. It takes what is there and judges nothing:
// unknown tags are passed over, and where the text ends the walk ends.
func leaves(document []byte, each func(leaf)) {
	var open []frame
	key := ""
	rest := string(document)
	for {
		_, after, found := strings.Cut(rest, "<")
		if !found {
			return
		}
		tag, body, found := strings.Cut(after, ">")
		if !found {
			return
		}
		rest = body
		switch tag {
		case "dict", "array":
			if len(open) == maxDepth {
				return
			}
			open = append(open, frame{path: pathOf(open, key), array: tag == "array"})
			key = ""
		case "/dict", "/array":
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			key = ""
		case "key":
			key, _, _ = strings.Cut(rest, "<")
		case "integer", "real", "string":
			text, _, _ := strings.Cut(rest, "<")
			each(leaf{pathOf(open, key), strings.TrimSpace(text)})
			key = ""
		case "true/", "false/":
			each(leaf{pathOf(open, key), strings.TrimSuffix(tag, "/")})
			key = ""
		}
	}
}

// frame is an open dictionary or array.
type frame struct {
	path  string
	array bool
}

// pathOf is the path of a value under the innermost open frame.
func pathOf(open []frame, key string) string {
	if len(open) == 0 {
		return key
	}
	in := open[len(open)-1]
	switch {
	case in.array:
		return in.path + "[]"
	case in.path == "":
		return key
	}
	return in.path + "/" + key
}
