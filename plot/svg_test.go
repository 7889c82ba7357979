package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A path in short leads through the same places, to a hundredth of a point.
func TestShortPath(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		var long strings.Builder
		var want [][2]float64
		for i := range 1 + r.IntN(40) {
			letter := "L"
			if i == 0 || r.IntN(4) == 0 {
				letter = "M"
			}
			at := [2]float64{600 * r.Float64(), 0.03 * r.Float64()}
			if i > 0 && r.IntN(3) == 0 {
				at[r.IntN(2)] = want[i-1][0]
			}
			want = append(want, at)
			fmt.Fprintf(&long, "%s%.5g,%.5g", letter, at[0], at[1])
			if letter == "L" && r.IntN(6) == 0 {
				long.WriteString("Z")
			}
		}
		got := leads(t, shortPath(long.String()))
		if len(got) != len(want) {
			t.Fatalf("%s: %d places of %d", shortPath(long.String()), len(got), len(want))
		}
		for i, at := range got {
			if math.Abs(at[0]-want[i][0]) > 0.0101 || math.Abs(at[1]-want[i][1]) > 0.0101 {
				t.Fatalf("place %d of %s is %v, not %v", i, shortPath(long.String()), at, want[i])
			}
		}
	}
	if curved := "M1,2C1,2,3,4,5,6"; shortPath(curved) != curved {
		t.Errorf("%s became %s", curved, shortPath(curved))
	}
}

// leads are those that a path of moves and lines from the one before leads to,
// as https://www.w3.org/TR/SVG2/paths.html reads it.
func leads(t *testing.T, d string) [][2]float64 {
	t.Helper()
	var list [][2]float64
	var at, began [2]float64
	for _, p := range regexp.MustCompile(`([mlhvz])([^mlhvz]*)`).FindAllStringSubmatch(d, -1) {
		var by []float64
		for _, n := range regexp.MustCompile(`-?[.0-9]+`).FindAllString(p[2], -1) {
			v, err := strconv.ParseFloat(n, 64)
			if err != nil {
				t.Fatal(err)
			}
			by = append(by, v)
		}
		switch p[1] {
		case "z":
			at = began
			continue
		case "h":
			at[0] += by[0]
		case "v":
			at[1] += by[0]
		default:
			at[0], at[1] = at[0]+by[0], at[1]+by[1]
		}
		if p[1] == "m" {
			began = at
		}
		list = append(list, at)
	}
	return list
}
