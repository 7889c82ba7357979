package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"unicode"

	"tokwatt/plot"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// Write writes the page. It is whole or not at all: nothing is written before
// all figures are drawn.
func (p *Page) Write(w io.Writer) error {
	figures, err := drawAll(p)
	if err != nil {
		return fmt.Errorf("the report on %s: %w", p.Title, err)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"plain": plain, "prose": prose, "head": rowHead, "cells": rowCells, "column": column, "pieces": pieces,
		"drawn": func(f *plot.Figure) drawing { return figures.drawn[f] },
	}).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("the report's template: %w", err)
	}
	css, err := figures.css()
	if err != nil {
		return fmt.Errorf("the report on %s: %w", p.Title, err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		*Page
		CSS template.CSS
	}{p, template.CSS(pageCSS + css)})
	if err != nil {
		return fmt.Errorf("the report on %s: %w", p.Title, err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// plain replaces characters that no page may hold, and those that turn the
// direction of what is read.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF, unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// unitBehind is the unit behind a number, before which no line may break.
var unitBehind = regexp.MustCompile(`([0-9]) (%|ms|s|min|h|W|J)([ ,.;:)]|$)`)

// prose is text in lines as long as the page has room for.
func prose(s string) string {
	return unitBehind.ReplaceAllString(plain(s), "${1}\u00a0${2}${3}")
}

// pieces are the parts of a column's name between which a line may break.
func pieces(name string) []string { return strings.SplitAfter(name, "_") }

// rowHead and rowCells part a row of a table.
func rowHead(t Table, row []string) []string { return row[:min(t.Keys, len(row))] }

func rowCells(t Table, row []string) []string { return row[min(t.Keys, len(row)):] }

// column is the column of cell i of those behind the keys.
func column(t Table, i int) Column { return t.Columns[t.Keys+i] }
