package exchange

import (
	"fmt"
	"math"
	"strconv"
)

// exoFloat is a float as Python prints it: the shortest digits that mean this
// number, and never without a point or an exponent, by which readers tell a
// float from an integer.
type exoFloat float64

// MarshalJSON fails where x is not finite.
func (x exoFloat) MarshalJSON() ([]byte, error) {
	f := float64(x)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a number of JSON", f)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(nil, f, 'e', -1, 64), nil
	}
	text := strconv.AppendFloat(nil, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		text = append(text, ".0"...)
	}
	return text, nil
}

// cents is x to two places, as Python's round(x, 2) gives it: what is nearest
// to the exact value of x, half to even.
func cents(x float64) exoFloat {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 2, 64), 64)
	if err != nil {
		return exoFloat(x) // too large to have places
	}
	return exoFloat(r)
}
