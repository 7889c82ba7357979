package tokenizer

import "unicode"

// since15 returns the characters of a general category that Unicode 15.1 and
// 16 added, as they stand between the brackets of a regular expression. The
// reference library's patterns know them, Go 1.26's tables don't. ok is false
// for a category that no known tokenizer uses.
func since15(category string) (class string, ok bool) {
	const (
		lu = "\u1c89\ua7cb-\ua7cc\ua7da\ua7dc\U00010d50-\U00010d65"
		ll = "\u1c8a\ua7cd\ua7db\U00010d70-\U00010d85"
		lm = "\U00010d4e\U00010d6f\U00016d40-\U00016d42\U00016d6b-\U00016d6c"
		lo = "\U000105c0-\U000105f3\U00010d4a-\U00010d4d\U00010d4f\U00010ec2-\U00010ec4\U00011380-\U00011389" +
			"\U0001138b\U0001138e\U00011390-\U000113b5\U000113b7\U000113d1\U000113d3\U00011bc0-\U00011be0" +
			"\U00013460-\U000143fa\U00016100-\U0001611d\U00016d43-\U00016d6a\U00018cff\U0001e5d0-\U0001e5ed" +
			"\U0001e5f0\U0002ebf0-\U0002ee5d"
		m = "\u0897\U00010d69-\U00010d6d\U00010efc\U000113b8-\U000113c0\U000113c2\U000113c5\U000113c7-\U000113ca" +
			"\U000113cc-\U000113d0\U000113d2\U000113e1-\U000113e2\U00011f5a\U0001611e-\U0001612f\U0001e5ee-\U0001e5ef"
		n = "\U00010d40-\U00010d49\U000116d0-\U000116e3\U00011bf0-\U00011bf9\U00016130-\U00016139" +
			"\U00016d70-\U00016d79\U0001ccf0-\U0001ccf9\U0001e5f1-\U0001e5fa"
		p = "\u1b4e-\u1b4f\u1b7f\U00010d6e\U000113d4-\U000113d5\U000113d7-\U000113d8\U00011be1\U00016d6d-\U00016d6f\U0001e5ff"
		s = "\u2427-\u2429\u2ffc-\u2fff\u31e4-\u31e5\u31ef\U00010d8e-\U00010d8f\U0001cc00-\U0001ccef\U0001cd00-\U0001ceb3" +
			"\U0001f8b2-\U0001f8bb\U0001f8c0-\U0001f8c1\U0001fa89\U0001fa8f\U0001fabe\U0001fac6\U0001fadc\U0001fadf" +
			"\U0001fae9\U0001fbcb-\U0001fbef"
	)
	switch category {
	case "L":
		return lu + ll + lm + lo, true
	case "Lu":
		return lu, true
	case "Ll":
		return ll, true
	case "Lt":
		return "", true
	case "Lm":
		return lm, true
	case "Lo":
		return lo, true
	case "M":
		return m, true
	case "N":
		return n, true
	case "P":
		return p, true
	case "S":
		return s, true
	}
	return "", false
}

// marksSince9 are the characters with a canonical combining class above 1 that
// Unicode added from version 10 to 15.
var marksSince9 = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x07fd, 0x07fd, 1}, {0x0898, 0x089f, 1}, {0x08ca, 0x08d3, 1}, {0x09fe, 0x09fe, 1}, {0x0c3c, 0x0c3c, 1}, {0x0d3b, 0x0d3c, 1},
		{0x0eba, 0x0eba, 1}, {0x1715, 0x1715, 1}, {0x1abf, 0x1ace, 1}, {0x1df6, 0x1dfa, 1}, {0xa82c, 0xa82c, 1},
	},
	R32: []unicode.Range32{
		{0x10d24, 0x10d27, 1}, {0x10eab, 0x10eac, 1}, {0x10efd, 0x10eff, 1}, {0x10f46, 0x10f50, 1}, {0x10f82, 0x10f85, 1}, {0x11070, 0x11070, 1},
		{0x1133b, 0x1133b, 1}, {0x1145e, 0x1145e, 1}, {0x11839, 0x1183a, 1}, {0x1193d, 0x1193e, 1}, {0x11943, 0x11943, 1}, {0x119e0, 0x119e0, 1},
		{0x11a34, 0x11a34, 1}, {0x11a47, 0x11a47, 1}, {0x11a99, 0x11a99, 1}, {0x11d42, 0x11d42, 1}, {0x11d44, 0x11d45, 1}, {0x11d97, 0x11d97, 1},
		{0x11f41, 0x11f42, 1}, {0x16ff0, 0x16ff1, 1}, {0x1e08f, 0x1e08f, 1}, {0x1e130, 0x1e136, 1}, {0x1e2ae, 0x1e2ae, 1}, {0x1e2ec, 0x1e2ef, 1},
		{0x1e4ec, 0x1e4ef, 1},
	},
}
