package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// The kinds of flags that the library has not in the form people write them.
type (
	// intsFlag is a list of whole numbers: 128,512 or repeated.
	intsFlag = cli.FlagBase[[]int64, cli.NoConfig, intsValue]
	// wordsFlag is a list of words: code,reasoning or repeated.
	wordsFlag = cli.FlagBase[[]string, cli.NoConfig, wordsValue]
	// textsFlag may be repeated; its values are taken as they stand, commas
	// included.
	textsFlag = cli.FlagBase[[]string, cli.NoConfig, textsValue]
	// secondsFlag is a duration; a mere number counts seconds, as exo-bench
	// has it.
	secondsFlag = cli.FlagBase[time.Duration, cli.NoConfig, secondsValue]
)

type intsValue struct{ p *[]int64 }

// Create, ToString, Set, Get and String of these types are the library's
// interfaces ValueCreator and Value.
func (intsValue) Create(val []int64, p *[]int64, _ cli.NoConfig) cli.Value {
	*p = val
	return &intsValue{p}
}

func (intsValue) ToString(v []int64) string {
	parts := make([]string, len(v))
	for i, n := range v {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, ",")
}

func (v *intsValue) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number", part)
		}
		*v.p = append(*v.p, n)
	}
	return nil
}

func (v *intsValue) Get() any       { return *v.p }
func (v *intsValue) String() string { return v.ToString(*v.p) }

type textsValue struct{ p *[]string }

func (textsValue) Create(val []string, p *[]string, _ cli.NoConfig) cli.Value {
	*p = val
	return &textsValue{p}
}

func (textsValue) ToString(v []string) string { return strings.Join(v, ", ") }

func (v *textsValue) Set(s string) error {
	*v.p = append(*v.p, s)
	return nil
}

func (v *textsValue) Get() any       { return *v.p }
func (v *textsValue) String() string { return v.ToString(*v.p) }

type wordsValue struct{ p *[]string }

func (wordsValue) Create(val []string, p *[]string, _ cli.NoConfig) cli.Value {
	*p = val
	return &wordsValue{p}
}

func (wordsValue) ToString(v []string) string { return strings.Join(v, ",") }

func (v *wordsValue) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		*v.p = append(*v.p, strings.TrimSpace(part))
	}
	return nil
}

func (v *wordsValue) Get() any       { return *v.p }
func (v *wordsValue) String() string { return v.ToString(*v.p) }

type secondsValue struct{ p *time.Duration }

func (secondsValue) Create(val time.Duration, p *time.Duration, _ cli.NoConfig) cli.Value {
	*p = val
	return &secondsValue{p}
}

func (secondsValue) ToString(v time.Duration) string { return v.String() }

func (v *secondsValue) Set(s string) error {
	d, err := seconds(s)
	if err == nil {
		*v.p = d
	}
	return err
}

func (v *secondsValue) Get() any       { return *v.p }
func (v *secondsValue) String() string { return v.p.String() }

// seconds reads a duration such as 500ms or 2h; a mere number counts seconds.
func seconds(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if !(f >= 0 && f <= 1e9) {
			return 0, fmt.Errorf("%s seconds are no duration", s)
		}
		return time.Duration(f * float64(time.Second)), nil
	}
	return time.ParseDuration(s)
}

// ints are the values of an intsFlag, texts those of a list of words or texts.
func ints(cmd *cli.Command, name string) []int64 {
	v, _ := cmd.Value(name).([]int64)
	return v
}

func texts(cmd *cli.Command, name string) []string {
	v, _ := cmd.Value(name).([]string)
	return v
}
