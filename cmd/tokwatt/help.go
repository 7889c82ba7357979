package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// printHelp draws the help screen of a command: what it is, how it is called,
// its commands, its flags, and two examples, which the tests run. The root's one
// flag is in a sentence.
func printHelp(w io.Writer, _ string, data any) {
	cmd, ok := data.(*cli.Command)
	if !ok {
		return
	}
	fmt.Fprintf(w, "%s - %s\n\nUSAGE\n   %s\n", cmd.FullName(), cmd.Usage, usageLine(cmd))
	if cmd.Description != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.Description)
	}
	if subs := cmd.VisibleCommands(); len(subs) > 0 {
		fmt.Fprintln(w, "\nCOMMANDS")
		for _, c := range subs {
			fmt.Fprintf(w, "   %-11s%s\n", c.Name, c.Usage)
		}
	}
	if isRoot(cmd) {
		fmt.Fprintln(w, "\nEvery command has --help and takes --db FILE, the store (or TOKWATT_DB).\n"+
			"An ID is a session, by the first of its id that no other has: last is the newest\nsession, last~1 the one before.")
	} else {
		printFlags(w, cmd)
	}
	if ex, ok := cmd.Metadata["examples"].([]string); ok {
		fmt.Fprintln(w, "\nEXAMPLES")
		for _, e := range ex {
			fmt.Fprintf(w, "   %s\n", e)
		}
	}
}

func isRoot(cmd *cli.Command) bool { return cmd.Root() == cmd }

func usageLine(cmd *cli.Command) string {
	line := cmd.FullName()
	switch {
	case len(cmd.VisibleCommands()) == 0:
	case isRoot(cmd):
		line += " COMMAND"
	default:
		line += " [COMMAND]"
	}
	if cmd.ArgsUsage != "" {
		line += " " + cmd.ArgsUsage
	}
	return line + " [flags]"
}

// printFlags lists the flags by category, those without one first.
func printFlags(w io.Writer, cmd *cli.Command) {
	var names []string
	groups := map[string][]cli.Flag{}
	for _, f := range cmd.VisibleFlags() {
		if slices.Contains(f.Names(), "help") {
			continue
		}
		category := ""
		if c, ok := f.(cli.CategorizableFlag); ok {
			category = c.GetCategory()
		}
		if !slices.Contains(names, category) {
			names = append(names, category)
		}
		groups[category] = append(groups[category], f)
	}
	fmt.Fprintln(w)
	for _, n := range names {
		fmt.Fprintln(w, categoryHeading(n))
		for _, line := range flagLines(n, groups[n]) {
			fmt.Fprintln(w, line)
		}
	}
}

// categoryHeading is a category's name, what is said of it in brackets as it stands.
func categoryHeading(category string) string {
	name, rest, _ := strings.Cut(category, " (")
	if rest != "" {
		rest = " (" + rest
	}
	return cmp.Or(strings.ToUpper(name), "FLAGS") + rest
}

// flagLines are the flags of a category, a line each; those of a packed one
// as a paragraph.
func flagLines(category string, flags []cli.Flag) []string {
	if !slices.Contains([]string{categoryAccess, categoryTime, categoryExo, categoryRun}, category) {
		var out []string
		for _, f := range flags {
			out = append(out, flagLine(f))
		}
		return out
	}
	var items []string
	for _, f := range flags {
		items = append(items, strings.TrimSpace(flagLine(f)))
	}
	const indent, width = "  ", 80
	out := []string{indent}
	for _, word := range strings.Fields(strings.Join(items, ", ")) {
		if last := len(out) - 1; len(out[last])+1+len(word) <= width {
			out[last] += " " + word
		} else {
			out = append(out, indent+" "+word)
		}
	}
	return out
}

var placeholder = regexp.MustCompile("`([^`]+)`")

// flagLine is "   --pp LIST            what it does"; the usage of the flag begins with
// its placeholder.
func flagLine(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return "   --" + f.Names()[0]
	}
	left, usage := "--"+f.Names()[0], d.GetUsage()
	if m := placeholder.FindStringSubmatch(usage); m != nil {
		left += " " + m[1]
		usage = strings.TrimLeft(placeholder.ReplaceAllString(usage, ""), " ")
	}
	return fmt.Sprintf("   %-21s%s", left, usage)
}

var number = regexp.MustCompile(`^\d+(,\d+)*$`)

// spread lets the named flags take several values parted by spaces, as people
// write them for other tools: --pp 512 4096 becomes --pp 512 --pp 4096.
func spread(args []string, names ...string) []string {
	var out []string
	flag := "" // the list flag whose values are being read
	for i, a := range args {
		switch {
		case a == "--":
			return append(out, args[i:]...)
		case strings.HasPrefix(a, "-"):
			flag = ""
			if slices.Contains(names, strings.TrimLeft(a, "-")) {
				flag = a
			}
			out = append(out, a)
		case flag != "" && number.MatchString(a) && out[len(out)-1] != flag:
			out = append(out, flag, a)
		default:
			if !number.MatchString(a) {
				flag = ""
			}
			out = append(out, a)
		}
	}
	return out
}

// helpFirst makes --help work wherever it stands: behind an argument the
// library takes that for a topic.
func helpFirst(root *cli.Command, args []string) []string {
	i := slices.IndexFunc(args, func(a string) bool { return a == "--help" || a == "-h" })
	if end := slices.Index(args, "--"); i < 0 || end >= 0 && end < i {
		return args
	}
	line, at, other := []string{args[0]}, root, ""
	for _, a := range args[1:i] {
		if strings.HasPrefix(a, "-") {
			continue
		}
		if sub := at.Command(a); sub != nil {
			line, at = append(line, a), sub
		} else if other == "" {
			other = a
		}
	}
	if at == root && other != "" {
		line = append(line, other) // no command of ours: the library's, or a mistake
	}
	return append(line, "--help")
}
