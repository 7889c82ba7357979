package plot

import (
	"image/color"
	"math"
	"testing"
)

// visions are how colours look to people: linear RGB through the matrices of
// Machado, Oliveira and Fernandes, "A Physiologically-based Model for
// Simulation of Color Vision Deficiency" (2009), severity 1.
var visions = map[string][9]float64{
	"normal":       {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}

func linear(c color.Color) [3]float64 {
	r, g, b, _ := c.RGBA()
	var out [3]float64
	for i, v := range []uint32{r, g, b} {
		u := float64(v) / 0xffff
		if out[i] = u / 12.92; u > 0.04045 {
			out[i] = math.Pow((u+0.055)/1.055, 2.4)
		}
	}
	return out
}

func seen(c [3]float64, m [9]float64) [3]float64 {
	var out [3]float64
	for i := range out {
		out[i] = math.Min(1, math.Max(0, m[3*i]*c[0]+m[3*i+1]*c[1]+m[3*i+2]*c[2]))
	}
	return out
}

// okLab is Ottosson's colour space (bottosson.github.io/posts/oklab), times
// 100: black and white are 100 apart.
func okLab(c [3]float64) [3]float64 {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return [3]float64{
		100 * (0.2104542553*l + 0.7936177850*m - 0.0040720468*s),
		100 * (1.9779984951*l - 2.4285922050*m + 0.4505937099*s),
		100 * (0.0259040371*l + 0.7827717662*m - 0.8086757660*s),
	}
}

func apart(a, b color.Color, vision [9]float64) float64 {
	x, y := okLab(seen(linear(a), vision)), okLab(seen(linear(b), vision))
	return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2])
}

// contrast is that of WCAG 2.2: 1 to 21.
func contrast(a, b color.Color) float64 {
	luminance := func(c color.Color) float64 {
		v := linear(c)
		return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2] + 0.05
	}
	x, y := luminance(a), luminance(b)
	return math.Max(x, y) / math.Min(x, y)
}

// Colours are told apart with any vision, and seen on their background.
func TestColors(t *testing.T) {
	least := map[string]float64{"normal": 10, "protanopia": 10, "deuteranopia": 10, "tritanopia": 8}
	for _, name := range Themes() {
		th := name.colors()
		for i, c := range th.series {
			for vision, m := range visions {
				for j, d := range th.series[:i] {
					if got := apart(c, d, m); got < least[vision] {
						t.Errorf("%s: series %d and %d are %.1f apart with %s, want %v", name, j, i, got, vision, least[vision])
					}
				}
			}
			if got := contrast(c, th.background); got < 3 {
				t.Errorf("%s: series %d has a contrast of %.2f, want 3", name, i, got)
			}
		}
		for vision, m := range visions {
			if got := apart(th.bands[BandPrefill], th.bands[BandGeneration], m); got < 5 {
				t.Errorf("%s: prefill and generation are %.1f apart with %s", name, got, vision)
			}
		}
		for what, c := range map[string]color.Color{"text": th.text, "muted": th.muted} {
			if got := contrast(c, th.background); got < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f, want 4.5", name, what, got)
			}
		}
	}
}

// The simulation agrees with what is known: red and green of one lightness
// come close to each other with deuteranopia, blue and yellow do not, and black
// on white has the contrast 21.
func TestVisionsSeeWhatIsKnown(t *testing.T) {
	red, green := color.NRGBA{0xb0, 0x60, 0x50, 0xff}, color.NRGBA{0x80, 0x78, 0x50, 0xff}
	if n, d := apart(red, green, visions["normal"]), apart(red, green, visions["deuteranopia"]); d > n/2 {
		t.Errorf("red and green are %.1f apart with deuteranopia and %.1f without", d, n)
	}
	if d := apart(color.NRGBA{0, 0, 0xff, 0xff}, color.NRGBA{0xff, 0xff, 0, 0xff}, visions["deuteranopia"]); d < 50 {
		t.Errorf("blue and yellow are %.1f apart with deuteranopia", d)
	}
	if got := contrast(color.Black, color.White); math.Abs(got-21) > 1e-9 {
		t.Errorf("black on white has a contrast of %v", got)
	}
	if got := apart(color.Black, color.White, visions["normal"]); math.Abs(got-100) > 0.1 {
		t.Errorf("black and white are %v apart", got)
	}
}

func TestThemeNamed(t *testing.T) {
	for name, want := range map[string]Theme{"": Light, "light": Light, "dark": Dark, "Dark": "", "sepia": ""} {
		if got, err := ThemeNamed(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}
