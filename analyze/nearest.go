package analyze

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest is the one of the known names that a mistyped one may stand for, and
// empty where none is near. Case and the sign between words don't count. Near
// is a name that begins with what was typed, from two letters on, or one that
// at most a third of the letters typed has to be mended for. A beginning wins
// over a mending, then the least mending, among equals the first.
func Nearest(typed string, known []string) string {
	word := []rune(plainName(typed))
	var begun, mended string
	var least [2]int // mendings, of begun and of mended
	for _, name := range known {
		other := []rune(plainName(name))
		d := mending(word, other)
		begins := len(word) >= 2 && len(other) >= len(word) && slices.Equal(other[:len(word)], word)
		switch {
		case begins && (begun == "" || d < least[0]):
			begun, least[0] = name, d
		case len(other) > 0 && d <= len(word)/3 && (mended == "" || d < least[1]):
			mended, least[1] = name, d
		}
	}
	return cmp.Or(begun, mended)
}

func plainName(s string) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// mending is how many letters have to be put in, left out, replaced or swapped
// with their neighbour to make b of a: the distance of Damerau and Levenshtein
// in its restricted form, which mends no place twice.
func mending(a, b []rune) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
