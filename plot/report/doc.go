// Package report writes a page about measurements: one HTML file with its
// figures, its styles and its font inside, that a browser reads without a
// network and without a script.
//
//  1. A caller fills in a Page: sections with facts, tables, figures and text,
//     all of it plain text (page.go). What a figure cannot show is said in its
//     place.
//  2. Figures are drawn in both of plot's themes, which differ in colours alone,
//     and put into the page once, with variables where the colours are
//     (figure.go). What a reader would see in them is told in words to those who
//     do not see them (words.go).
//  3. Page.Write escapes everything else (write.go, page.html, page.css). Text
//     may come from anywhere, servers included: it can neither bring an element
//     into the page, nor has the page's policy any source for scripts.
//
// The same Page gives the same bytes. The page is well-formed XML as well, so
// that a strict parser reads it.
package report
