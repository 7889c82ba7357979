package plot

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/image/font/sfnt"
)

// subset is a TrueType font with the outlines that a text needs, and those of
// ASCII for who edits it: of 400 kB some 40 remain. Glyphs keep their numbers, so
// that the tables of characters, widths and kerning stay as they are. Tables of
// features that no text here uses are left out. See
// https://learn.microsoft.com/typography/opentype/spec/otff for the format.
func subset(font []byte, text string) ([]byte, error) {
	parsed, err := sfnt.Parse(font)
	if err != nil {
		return nil, fmt.Errorf("the font of figures: %w", err)
	}
	tables := tablesOf(font)
	long := binary.BigEndian.Uint16(tables["head"][50:]) == 1
	old := outlines{tables["glyf"], offsets(tables["loca"], long)}
	used := map[int]bool{0: true} // what stands for a character that is not there
	var buf sfnt.Buffer
	for r := ' '; r <= '~'; r++ {
		text += string(r)
	}
	for _, r := range text {
		if i, err := parsed.GlyphIndex(&buf, r); err == nil {
			old.use(used, int(i))
		}
	}
	var glyphs, places []byte
	place := func() { // in the long form
		places = binary.BigEndian.AppendUint32(places, uint32(len(glyphs)))
	}
	for i := range len(old.at) - 1 {
		place()
		if used[i] {
			glyphs = append(glyphs, old.glyph(i)...)
			glyphs = append(glyphs, make([]byte, -len(glyphs)&3)...)
		}
	}
	place()
	head := slices.Clone(tables["head"])
	binary.BigEndian.PutUint16(head[50:], 1)
	binary.BigEndian.PutUint32(head[8:], 0)
	post := slices.Clone(tables["post"][:32])
	binary.BigEndian.PutUint32(post, 0x00030000) // no names of glyphs
	tables["glyf"], tables["loca"], tables["head"], tables["post"] = glyphs, places, head, post
	return fontOfTables(tables), nil
}

// outlines are the glyphs' outlines and where each begins.
type outlines struct {
	glyf []byte
	at   []int
}

func (o outlines) glyph(i int) []byte { return o.glyf[o.at[i]:o.at[i+1]] }

// use marks a glyph, and those that it is put together from.
func (o outlines) use(used map[int]bool, i int) {
	const words, scale, more, scales, matrix = 1, 8, 32, 64, 128
	if used[i] && i > 0 {
		return
	}
	used[i] = true
	g := o.glyph(i)
	if len(g) < 10 || int16(binary.BigEndian.Uint16(g)) >= 0 {
		return // one outline of its own
	}
	for at, flags := 10, more; flags&more != 0; {
		flags = int(binary.BigEndian.Uint16(g[at:]))
		o.use(used, int(binary.BigEndian.Uint16(g[at+2:])))
		at += 6
		for flag, bytes := range map[int]int{words: 2, scale: 2, scales: 4, matrix: 8} {
			if flags&flag != 0 {
				at += bytes
			}
		}
	}
}

func offsets(loca []byte, long bool) []int {
	var list []int
	if long {
		for ; len(loca) >= 4; loca = loca[4:] {
			list = append(list, int(binary.BigEndian.Uint32(loca)))
		}
		return list
	}
	for ; len(loca) >= 2; loca = loca[2:] {
		list = append(list, 2*int(binary.BigEndian.Uint16(loca)))
	}
	return list
}

// neededTables are those without which no program takes a TrueType font, and
// those that say how its letters stand on pixels and beside each other.
func neededTables() []string {
	return []string{"OS/2", "cmap", "cvt ", "fpgm", "gasp", "glyf", "head", "hhea", "hmtx", "kern", "loca", "maxp", "name", "post", "prep"}
}

func tablesOf(font []byte) map[string][]byte {
	tables := map[string][]byte{}
	for i := range int(binary.BigEndian.Uint16(font[4:])) {
		entry := font[12+16*i:]
		from, length := binary.BigEndian.Uint32(entry[8:]), binary.BigEndian.Uint32(entry[12:])
		tables[string(entry[:4])] = font[from : from+length]
	}
	return tables
}

// fontOfTables writes the needed tables behind a directory of them.
func fontOfTables(tables map[string][]byte) []byte {
	names := neededTables() // 15: the powers of two that the header wants are 8 and 2³
	out := []byte{0, 1, 0, 0, 0, byte(len(names)), 0, 128, 0, 3, 0, byte(16*len(names) - 128)}
	at := len(out) + 16*len(names)
	var body []byte
	for _, name := range names {
		table := tables[name]
		padded := append(slices.Clone(table), make([]byte, -len(table)&3)...)
		out = append(out, name...)
		out = binary.BigEndian.AppendUint32(out, checksum(padded))
		out = binary.BigEndian.AppendUint32(out, uint32(at+len(body)))
		out = binary.BigEndian.AppendUint32(out, uint32(len(table)))
		body = append(body, padded...)
	}
	return append(out, body...)
}

func checksum(padded []byte) uint32 {
	sum := uint32(0)
	for ; len(padded) >= 4; padded = padded[4:] {
		sum += binary.BigEndian.Uint32(padded)
	}
	return sum
}
