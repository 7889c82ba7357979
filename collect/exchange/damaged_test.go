package exchange_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect/exchange"
)

// TestDamagedFiles reads the files of the cases cut, spliced and with bytes
// changed, as each format: reading ends, and what comes of it is sound.
func TestDamagedFiles(t *testing.T) {
	cases := importCases(t)
	names := slices.Sorted(maps.Keys(cases)) // the same files for the same numbers
	r := rand.New(rand.NewPCG(7, 7))
	for range 1500 {
		s := damage(r, []byte(cases[names[r.IntN(len(names))]].File))
		formats := exchange.Formats()
		sound(t, exchange.Input{Name: "f", Format: formats[r.IntN(len(formats))].Name, Now: time.Unix(1.8e9, 0), R: strings.NewReader(s), Size: int64(len(s))})
	}
}

func damage(r *rand.Rand, s []byte) string {
	for range 1 + r.IntN(5) {
		if len(s) == 0 {
			break
		}
		i, j := r.IntN(len(s)), r.IntN(len(s))
		i, j = min(i, j), max(i, j)
		switch r.IntN(4) {
		case 0:
			s[i] = byte(r.IntN(256))
		case 1:
			s = append(s[:i:i], s[j:]...)
		case 2:
			s = append(s, s[i:j]...)
		case 3:
			s = s[:j]
		}
	}
	return string(s)
}
