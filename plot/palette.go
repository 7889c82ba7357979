package plot

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"slices"
)

// paletted is the picture in its 256 most frequent colours, each other pixel in
// the nearest of them: a figure has few colours, and the shades of the edges of
// letters and lines can't be told apart. Its file is a quarter as large.
func paletted(img image.Image) *image.Paletted {
	b := img.Bounds()
	whole, ok := img.(*image.RGBA)
	if !ok {
		whole = image.NewRGBA(b)
		draw.Draw(whole, b, img, b.Min, draw.Src)
	}
	out := image.NewPaletted(b, nil)
	index, palette := indexed(count(whole))
	out.Palette = palette
	var before [3]uint8
	at := index[before] // most pixels are as the one before
	for i := range out.Pix {
		if c := pixel(whole, i); c != before {
			before, at = c, index[c]
		}
		out.Pix[i] = at
	}
	return out
}

// pixel is the i-th pixel; figures are opaque.
func pixel(img *image.RGBA, i int) [3]uint8 { return [3]uint8(img.Pix[4*i : 4*i+3]) }

func count(img *image.RGBA) map[[3]uint8]int {
	n := map[[3]uint8]int{}
	before, run := pixel(img, 0), 0
	for i := range len(img.Pix) / 4 {
		if c := pixel(img, i); c != before {
			n[before] += run
			before, run = c, 0
		}
		run++
	}
	n[before] += run
	return n
}

// indexed chooses the palette and gives every colour its place in it.
func indexed(counts map[[3]uint8]int) (map[[3]uint8]uint8, color.Palette) {
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b [3]uint8) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	index := make(map[[3]uint8]uint8, len(colors))
	var palette color.Palette
	for _, c := range colors {
		if len(palette) < 256 {
			index[c] = uint8(len(palette))
			palette = append(palette, color.RGBA{c[0], c[1], c[2], 0xff})
			continue
		}
		index[c] = uint8(palette.Index(color.RGBA{c[0], c[1], c[2], 0xff}))
	}
	return index, palette
}
