package host

import "math"

// exp is e^x, within 2 units in the last place; 0 below -87.3, where the result
// would not be a normal number, and +Inf above 88.3, a little early. It takes
// half the time of math.Exp, and attention over a long prompt spends as much
// on exponentials as on products.
//
// x = n·ln 2 + r with |r| ≤ ln 2 / 2, so e^x = 2ⁿ·e^r. ln 2 comes in two parts,
// of which the first times n is exact; e^r is the minimax polynomial of
// Cephes' expf (S. Moshier, single/expf.c).
func exp(x float32) float32 {
	const (
		log2e  = 1.44269504088896341
		ln2Big = 0.693359375
		ln2Low = -2.12194440e-4
		round  = 3 << 22 // added and taken away, it rounds to an integer
	)
	switch {
	case x < -87.3:
		return 0
	case x > 88.3:
		return float32(math.Inf(1))
	case x != x:
		return x
	}
	n := float32(x*log2e+round) - round
	r := x - n*ln2Big - n*ln2Low
	p := float32(1.9875691500e-4)
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	y := p*r*r + r + 1
	return y * math.Float32frombits(uint32(int32(n)+127)<<23)
}
