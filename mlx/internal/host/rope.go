package host

import "math"

// Rotation is a table of the rotary embedding's angles: for each position and
// each pair of dimensions a cosine and a sine.
type Rotation struct {
	freqs    []float64 // radians per position, one per pair
	cos, sin []float32 // len(freqs) per position
}

// NewRotation makes a table for pairs that turn by freqs radians a position.
func NewRotation(freqs []float64) *Rotation { return &Rotation{freqs: freqs} }

// Dims is how many dimensions of a head the rotation turns.
func (r *Rotation) Dims() int { return 2 * len(r.freqs) }

// grow makes the table hold n positions.
func (r *Rotation) grow(n int) {
	for p := len(r.cos) / len(r.freqs); p < n; p++ {
		for _, f := range r.freqs {
			sin, cos := math.Sincos(float64(p) * f)
			r.cos = append(r.cos, float32(cos))
			r.sin = append(r.sin, float32(sin))
		}
	}
}

// RoPE turns each head of x in place. x has len(x)/(heads·dim) rows; they come
// in runs of seq, the positions of a run being offset, offset+1, … The pairs
// are (i, i + half) of the turned dimensions, or with interleaved (2i, 2i + 1).
func (c *CPU) RoPE(x []float32, r *Rotation, heads, dim, seq, offset int, interleaved bool) {
	r.grow(offset + seq)
	half, width := len(r.freqs), heads*dim
	first, second, step := 0, half, 1
	if interleaved {
		first, second, step = 0, 1, 2
	}
	c.rows(len(x)/width, 4*width, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			at := (offset + row%seq) * half
			cos, sin := r.cos[at:at+half], r.sin[at:at+half]
			for h := range heads {
				v := x[row*width+h*dim:][:dim]
				for i := range half {
					a, b := v[first+i*step], v[second+i*step]
					v[first+i*step] = a*cos[i] - b*sin[i]
					v[second+i*step] = a*sin[i] + b*cos[i]
				}
			}
		}
	})
}
