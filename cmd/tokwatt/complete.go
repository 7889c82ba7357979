package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// completion dresses the library's command that prints completion scripts.
func (a *app) completion(c *cli.Command) {
	c.Hidden = false
	c.Usage = "print a completion script: bash, zsh, fish or pwsh"
	c.Description = "bash: put `source <(tokwatt completion bash)` into ~/.bashrc; zsh alike."
	i := slices.IndexFunc(c.Commands, func(s *cli.Command) bool { return s.Name == "bash" })
	c.Commands[i].Action = func(context.Context, *cli.Command) error {
		_, err := fmt.Fprint(a.out, bashScript)
		return err
	}
	c.OnUsageError = onUsageError
	c.Action = func(_ context.Context, cmd *cli.Command) error {
		return usagef("completion needs a shell: bash, zsh, fish or pwsh, not %q", cmd.Args().First())
	}
}

// bashScript completes in any bash from 3.2 on, which macOS has; the library's
// own needs the package bash-completion.
const bashScript = `_tokwatt() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words=("${COMP_WORDS[@]:0:COMP_CWORD}") IFS=$'\n'
  case "$cur" in -*|*,*) words+=("$cur") ;; esac
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-shell-completion 2>/dev/null)" -- "$cur"))
  case "${COMPREPLY[0]}" in *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -o bashdefault -o default -F _tokwatt tokwatt
`

// complete prints what may stand where the cursor is: a flag where a dash was
// typed, else a command, or a session.
func (a *app) complete(ctx context.Context, cmd *cli.Command) {
	typed := lastWord(os.Args)
	if a.completeValue(ctx, cmd, typed) { // shells leave out an empty word
		return
	}
	if typed == "=" { // bash parts KEY=VALUE
		a.completeConditions(ctx, cmd, wordBefore(os.Args), "")
		return
	}
	if at := strings.LastIndex(typed, "="); at > strings.LastIndex(typed, ",")+1 && !strings.HasPrefix(typed, "-") { // other shells don't
		a.completeConditions(ctx, cmd, typed[:at], typed[:at+1])
		return
	}
	if strings.HasPrefix(typed, "-") {
		for _, f := range cmd.VisibleFlags() {
			fmt.Fprintln(a.out, "--"+f.Names()[0])
		}
		if !isRoot(cmd) {
			fmt.Fprintln(a.out, "--db") // the root's, which every command takes
		}
		return
	}
	if a.completeValue(ctx, cmd, wordBefore(os.Args)) {
		return
	}
	selects := cmd.ArgsUsage == "A B"
	if at := strings.LastIndex(typed, ","); selects && at >= 0 {
		a.completeKeys(typed[:at+1])
		return
	}
	for _, c := range cmd.VisibleCommands() {
		fmt.Fprintln(a.out, c.Name)
	}
	if selects || strings.Contains(cmd.ArgsUsage, "ID") {
		a.completeSessions(ctx, cmd)
	}
	if selects {
		a.completeKeys("")
	}
}

// completeKeys prints the keys of conditions, behind what is typed already.
func (a *app) completeKeys(typed string) {
	for _, key := range analyze.GroupKeys() {
		fmt.Fprintln(a.out, typed+key+"=")
	}
}

// plainWord is a value that no shell takes apart or runs: bash expands what is
// offered, and a label may be anything.
var plainWord = regexp.MustCompile(`^[\p{L}\p{N}._/@%+-]+$`)

// completeConditions prints the values that cases have of the key at the end of a
// selection, behind what is typed already.
func (a *app) completeConditions(ctx context.Context, cmd *cli.Command, selection, typed string) {
	key := selection[strings.LastIndex(selection, ",")+1:]
	if !slices.Contains(analyze.GroupKeys(), key) || !duck.Available {
		return
	}
	groups, err := a.groups(ctx, cmd)
	if err != nil {
		return // a completion has nobody to tell
	}
	var values []string
	for _, g := range groups {
		of := []string{g.Keys[key]}
		if key == "tags" {
			of = strings.Split(g.Keys[key], ",")
		}
		for _, v := range of {
			if plainWord.MatchString(v) {
				values = append(values, v)
			}
		}
	}
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		fmt.Fprintln(a.out, typed+v)
	}
}

// completeValue prints the values of a flag that takes one of a few, or a
// session; false where the word is no such flag.
func (a *app) completeValue(ctx context.Context, cmd *cli.Command, word string) bool {
	name := strings.TrimLeft(word, "-")
	if name == word {
		return false
	}
	switch name {
	case "resume":
		a.completeSessions(ctx, cmd)
		return true
	case "where":
		a.completeKeys("")
		return true
	}
	values := valuesOf(cmd.Name, name)
	if values != nil {
		fmt.Fprintln(a.out, strings.Join(values, "\n"))
	}
	return values != nil
}

// valuesOf are the words that a command's flag takes; nil where they are not few.
func valuesOf(command, flag string) []string {
	for _, name := range []string{command + " " + flag, flag} {
		if values, ok := choices[name]; ok {
			return values
		}
	}
	return plotValues(flag)
}

// lastWord is the word being typed: the last before the library's own mark.
func lastWord(args []string) string {
	if n := len(args); n >= 2 {
		return args[n-2]
	}
	return ""
}

// wordBefore is the word in front of the one being typed.
func wordBefore(args []string) string {
	if n := len(args); n >= 3 {
		return args[n-3]
	}
	return ""
}

func (a *app) completeSessions(ctx context.Context, cmd *cli.Command) {
	db, err := openStore(cmd)
	if err != nil {
		return
	}
	sessions, err := db.Sessions(ctx)
	if err != nil {
		return // a completion has nobody to tell
	}
	fmt.Fprintln(a.out, "last")
	for _, s := range sessions {
		fmt.Fprintln(a.out, shortID(s.ID))
	}
}
