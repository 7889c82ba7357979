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
//  3. scopes (scope.go) gives each turn of a loop the variables that stood
//     before the loop, as Jinja does.
//
// What remains: some mistakes that Jinja stops at, such as adding a string to a
// number, are rendered; no server gets as far as that with such a template. And
// None joined to a string by ~ is nothing instead of "None".
package template
