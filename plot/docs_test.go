package plot

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the pictures of the documentation anew")

// largestPicture is how large a picture of the documentation may be.
const largestPicture = 80_000

// Two pictures of docs/plots.md are of rich made-up data: they are what is drawn
// of it, byte for byte.
func TestPicturesInDocs(t *testing.T) {
	rows, sessions := historyOf(servers()[1:2], 24, []int64{512}, 5*24*time.Hour)
	for name, build := range map[string]func() (*Figure, error){
		"itl":     itlOf(batchOf(6, 90, 25, 3)),
		"history": pastOf(rows, sessions, Options{}),
	} {
		fig, err := build()
		if err != nil {
			t.Fatal(err)
		}
		if name == "itl" {
			fig.Theme = Dark
		}
		got, kept := encode(t, fig, PNG), filepath.Join("..", "docs", "plots", name+".png")
		if len(got) > largestPicture {
			t.Errorf("%s has %d bytes, over %d", name, len(got), largestPicture)
		}
		if *update {
			if err := os.WriteFile(kept, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is drawn (%v); -update draws it anew", kept, err)
		}
	}
}
