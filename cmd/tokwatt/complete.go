package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// complete prints what may stand where the cursor is: a flag where a dash was
// typed, else a command, a kind of plot, or a session.
func (a *app) complete(ctx context.Context, cmd *cli.Command) {
	typed := lastWord(os.Args)
	if strings.HasPrefix(typed, "-") {
		for _, f := range cmd.VisibleFlags() {
			fmt.Fprintln(a.out, "--"+f.Names()[0])
		}
		return
	}
	for _, c := range cmd.VisibleCommands() {
		fmt.Fprintln(a.out, c.Name)
	}
	if cmd.Name == "plot" && !cmd.Args().Present() {
		for _, kind := range slices.Sorted(maps.Keys(figures)) {
			fmt.Fprintln(a.out, kind)
		}
		return
	}
	if strings.Contains(cmd.ArgsUsage, "ID") {
		a.completeSessions(ctx, cmd)
	}
}

// lastWord is the word being typed: the last before the library's own mark.
func lastWord(args []string) string {
	if n := len(args); n >= 2 {
		return args[n-2]
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
