package analyze

import (
	"fmt"
	"slices"
	"strings"
)

// GroupKeys are the columns that say what a row of the view summary is of: its
// session, target and case. They are columns of the view runs too, but
// tool_version, which is of table segments. Conditions name them, and
// Summary.Keys has their values.
func GroupKeys() []string {
	return []string{
		"session_id", "host", "date", "label", "tags", "profile", "import_tool", "hw_chip", "hw_model", "os_name", "os_version", "power_mode", "on_battery", "tool_version",
		"engine", "engine_version", "driver", "endpoint", "model_id", "model_format", "model_quantization",
		"placement_sharding", "placement_instance_meta", "placement_nodes",
		"pp", "depth", "tg", "concurrency", "cache_mode", "prefix_cache_hit", "cold_method", "eos_ban",
		"prompt_kind", "prompt_source", "prompt_hash", "streaming",
	}
}

// Condition is KEY=VALUE: of a group key, the value that rows are wanted with.
// No value at all is the empty one, placement_nodes is the number of nodes, and
// tags is one tag of several.
type Condition struct{ Key, Value string }

func (c Condition) String() string { return c.Key + "=" + c.Value }

// Conditions hold together.
type Conditions []Condition

// ParseConditions reads key=value,key=value. A comma that no word and = follow is
// part of the value.
func ParseConditions(text string) (Conditions, error) {
	var out Conditions
	for part := range strings.SplitSeq(text, ",") {
		key, value, pair := strings.Cut(part, "=")
		switch key = canonical(strings.TrimSpace(key)); {
		case pair && slices.Contains(GroupKeys(), key):
			out = append(out, Condition{key, strings.TrimSpace(value)})
		case pair && key != "" || len(out) == 0:
			return nil, &KeyError{Condition: part, Key: key}
		default:
			out[len(out)-1].Value += "," + part
		}
	}
	return out, nil
}

// KeyError is a condition that names no group key.
type KeyError struct{ Condition, Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s: must be KEY=VALUE with a key of %s", e.Condition, strings.Join(GroupKeys(), ", "))
}

// canonical is a key under its column's name: figures call the quantization
// by less.
func canonical(key string) string {
	if key == "quantization" {
		return "model_quantization"
	}
	return key
}

// Match reports whether the row is wanted.
func (cs Conditions) Match(s *Summary) bool {
	return !slices.ContainsFunc(cs, func(c Condition) bool { return !c.match(s) })
}

func (c Condition) match(s *Summary) bool {
	value := s.Keys[c.Key]
	if c.Key == "tags" {
		return value == c.Value || slices.Contains(strings.Split(value, ","), c.Value)
	}
	return value == c.Value
}

// Unmet explains why no row of a selection is left: the first condition that no
// row meets of those that meet the conditions before it, and the values that these
// rows have. Without rows there are no values.
func (cs Conditions) Unmet(rows []Summary) (unmet Condition, values []string) {
	for _, c := range cs {
		var left []Summary
		values = nil
		for _, s := range rows {
			if c.match(&s) {
				left = append(left, s)
			}
			if v := s.Keys[c.Key]; !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(left) == 0 {
			slices.Sort(values)
			return c, values
		}
		rows = left
	}
	return Condition{}, nil
}
