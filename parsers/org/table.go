package org

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// table reads the lines that start with a bar, and the formulas below them. Rows above the first line of dashes are the header, if there are
// rows below it.
func (b *builder) table(start, i, hi int, caption string) (connector.Element, int, bool) {
	end := i
	for end < hi && !b.Blank(end) && b.Line(end)[0] == '|' {
		end++
	}
	after := end
	for after < hi && !b.Blank(after) && strings.HasPrefix(strings.ToLower(b.Line(after)), "#+tblfm:") {
		after++
	}
	el := b.Table(start, after)
	el.Title, el.Table.Caption = caption, caption
	body := i
	if rule := b.headRule(i, end); rule > 0 {
		for k := i; k < rule; k++ {
			if line := b.Line(k); !isRule(line) && !isWidths(line) {
				el.Table.Header = append(el.Table.Header, cells(line))
			}
		}
		el.Table.HeaderSpan = b.Span(i, rule+1)
		body = rule + 1
	}
	for k := body; k < end; k++ {
		line := b.Line(k)
		if isRule(line) || isWidths(line) {
			if n := len(el.Table.Rows); n > 0 { // it stays with the row above
				el.Table.Rows[n-1].Span.End = b.At(k + 1)
			}
			continue
		}
		el.Table.Rows = append(el.Table.Rows, connector.Row{Cells: cells(line), Span: b.Span(k, k+1)})
	}
	return el, after, true
}

// headRule is the first line of dashes behind a row, if rows follow it; 0 if there is none.
func (b *builder) headRule(lo, hi int) int {
	rule, seen := 0, false
	for k := lo; k < hi; k++ {
		switch line := b.Line(k); {
		case isRule(line):
			if seen && rule == 0 {
				rule = k
			}
		case isWidths(line):
		case rule > 0:
			return rule
		default:
			seen = true
		}
	}
	return 0
}

// isRule tells "|---+---|".
func isRule(line string) bool { return strings.HasPrefix(line, "|-") }

// isWidths tells a row of nothing but widths and alignments, such as "| <l> | <10> |".
func isWidths(line string) bool {
	found := false
	for _, c := range cells(line) {
		if c == "" || c == "/" {
			continue
		}
		if len(c) < 2 || c[0] != '<' && c != ">" || c[0] == '<' && c != "<" && strings.Trim(c[1:], "lcr0123456789>") != "" {
			return false
		}
		found = true
	}
	return found
}

func cells(line string) []string {
	line = strings.TrimPrefix(line, "|")
	line = strings.TrimSuffix(strings.TrimRight(line, " \t"), "|")
	out := strings.Split(line, "|")
	for k := range out {
		out[k] = strings.ReplaceAll(strings.TrimSpace(out[k]), `\vert{}`, "|")
	}
	return out
}
