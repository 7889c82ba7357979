package analyze

import "fmt"

// merged looks at the sessions of a merged file.
func (c *checker) merged(table, rel string, listed bool) {
	layout, err := layoutOf(c.root, c.now.at(c.root, rel))
	if err != nil {
		c.report.Problems = append(c.report.Problems, &FileFault{rel, err.Error()})
	}
	for _, p := range layout {
		if listed && !c.ids[p.session] {
			c.problem(p.session, &FileFault{rel, fmt.Sprintf("it has %d rows of session %s, which has no manifest", p.n, p.session)})
			continue
		}
		c.twice(table, rel, p.session)
	}
}

// twice finds the copy of a session's rows.
func (c *checker) twice(table, rel, session string) {
	key := table + "/" + session
	first, found := c.seen[key]
	if !found {
		c.seen[key] = rel
		return
	}
	if first == rel {
		return
	}
	mend := "remove it"
	if isMerged(rel) {
		mend = "remove it, or where it has other sessions too, let `tokwatt archive compact` do so"
	}
	c.problem(session, &FileFault{rel, fmt.Sprintf("it has the session of %s, so its rows count twice: %s", first, mend)})
}
