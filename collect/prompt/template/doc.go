// Package template renders chat templates: the Jinja programs by which a model
// turns a conversation into the text that it is sent.
//
// A count of tokens is only as right as the text that is counted, so a
// rendering is what the transformers library makes of the template, to the
// byte, or an error. The interpreter is github.com/ardanlabs/jinja, which reads
// every template we know of but differs from Jinja in places. What it gets is
// therefore not the template itself but a translation:
//
//  1. split (lex.go) cuts the template into text, expressions and statements as
//     Jinja's lexer does, white-space control included. Text goes on as string
//     literals, so that there is nothing left for the interpreter to trim.
//  2. rewrite (expr.go) makes filters, methods and tests into calls of our own
//     (python.go, values.go), which follow Python, and names those that we
//     don't have, so that running into one is an error. In branches that a
//     system and a user message never reach they do no harm.
//  3. bound (operators.go) makes operators, subscripts, loops and calls ask a
//     meter (meter.go) before they do anything: a template comes with a model's
//     files, and a program can take all memory, never end, or overflow the stack.
//     The operators are ours then (arithmetic.go), as are the functions of lists
//     (lists.go); all that a template runs is bounded in steps, in text, in time
//     and in depth, at each rendering.
//  4. scopes (scope.go) gives each turn of a loop the variables that stood
//     before the loop, as Jinja does.
package template
