package code

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// maxIndentDepth bounds how often blocks are divided again.
const maxIndentDepth = 8

// line is a line of text: its place, and how far it is indented (-1 if blank).
type line struct{ start, end, indent int }

func lines(text string, start, end int) []line {
	var out []line
	for start < end {
		stop := end
		if k := strings.IndexByte(text[start:end], '\n'); k >= 0 {
			stop = start + k + 1
		}
		out = append(out, line{start: start, end: stop, indent: indentOf(text[start:stop])})
		start = stop
	}
	return out
}

// indentOf counts columns up to the first visible character, a tabulator filling up to eight.
func indentOf(s string) int {
	n := 0
	for _, c := range []byte(s) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		case '\n':
			return -1
		default:
			return n
		}
	}
	return -1
}

// indented divides text into blocks: a block starts at a line of the lowest indentation that follows a blank line or a deeper one and
// does not close or continue what stands before it.
func indented(text string) []decl {
	return blocks(text, lines(text, 0, len(text)), nil, 0)
}

func blocks(text string, list []line, path []string, depth int) []decl {
	lowest := -1
	for _, l := range list {
		if l.indent >= 0 && (lowest < 0 || l.indent < lowest) {
			lowest = l.indent
		}
	}
	var out []decl
	first := 0
	for i := 1; i <= len(list); i++ {
		if i == len(list) || startsBlock(text, list, i, lowest) {
			out = append(out, block(text, list[first:i], lowest, path, depth))
			first = i
		}
	}
	return out
}

func startsBlock(text string, list []line, i, lowest int) bool {
	l, before := list[i], list[i-1]
	if l.indent != lowest || before.indent == lowest {
		return false
	}
	return before.indent < 0 && !continues(text[l.start:l.end]) || before.indent > lowest && !continues(text[l.start:l.end])
}

// continues says that a line closes or goes on with the block before it.
func continues(s string) bool {
	s = strings.TrimLeft(s, " \t")
	if s == "" || strings.IndexByte("})]>", s[0]) >= 0 {
		return true
	}
	word, _, _ := strings.Cut(strings.TrimRight(s, " \t\n:;{("), " ")
	switch strings.ToLower(word) {
	case "end", "else", "elif", "elsif", "elseif", "except", "catch", "finally", "rescue", "ensure", "then", "do", "begin", "fi", "done", "esac", "until", "where", "end.":
		return true
	}
	return strings.HasPrefix(strings.ToLower(s), "end ")
}

// block is one block, with its inner blocks as children where it is large.
func block(text string, list []line, lowest int, path []string, depth int) decl {
	start, end := list[0].start, trimmed(text, list[0].start, list[len(list)-1].end)
	d := decl{symbol: statementSymbol(start, end), start: start, end: end}
	head := headLine(text, list, lowest)
	if kind, name := declares(text[list[head].start:list[head].end]); name != "" {
		split := trimmed(text, list[head].start, list[head].end)
		d.symbol = connector.Symbol{
			Kind: kind, Name: name, Path: append(path[:len(path):len(path)], name),
			Header: connector.Span{Start: list[head].start, End: split},
			Doc:    connector.Span{Start: start, End: trimmed(text, start, list[head].start)},
			Body:   connector.Span{Start: split, End: end},
		}
	}
	if end-start >= largeText || d.symbol.Kind != "statement" && d.symbol.Kind != "function" {
		if inner := innerLines(list, head); len(inner) > 0 && depth < maxIndentDepth {
			d.children = blocks(text, inner, d.symbol.Path, depth+1)
		}
	}
	if isType(d.symbol.Kind) {
		callMethods(d.children)
	}
	return d
}

// innerLines are the lines of a block after its head, without those at its end that are no deeper: they close it.
func innerLines(list []line, head int) []line {
	inner := list[head+1:]
	for len(inner) > 0 && inner[len(inner)-1].indent <= list[head].indent {
		inner = inner[:len(inner)-1]
	}
	if len(inner) == 0 { // nothing is deeper
		inner = list[head+1:]
	}
	return inner
}

// headLine is the first line that is no comment or attribute, or the first of all.
func headLine(text string, list []line, lowest int) int {
	for i, l := range list {
		s := strings.TrimSpace(text[l.start:l.end])
		if l.indent == lowest && s != "" && strings.IndexByte("#/-*@;%[\"'", s[0]) < 0 {
			return i
		}
	}
	return 0
}

// declares reads the usual words for declarations at the start of a line.
func declares(s string) (kind, name string) {
	words := strings.Fields(s)
	for i, w := range words {
		if i > 5 || i+1 == len(words) {
			break
		}
		switch w {
		case "func", "function", "fn", "def", "sub", "proc", "fun", "defn", "defun", "defp", "procedure", "subroutine":
			kind = "function"
		case "class", "actor", "object":
			if words[i+1] == "func" || words[i+1] == "var" || words[i+1] == "let" { // of a type, in Swift
				continue
			}
			kind = "class"
		case "struct", "record":
			kind = "struct"
		case "enum":
			kind = "enum"
		case "interface", "protocol":
			kind = "interface"
		case "trait":
			kind = "trait"
		case "extension", "impl":
			kind = "impl"
		case "module", "package", "defmodule":
			kind = "module"
		case "namespace":
			kind = "namespace"
		default:
			if strings.ContainsAny(w, "=;\"'") {
				return "", ""
			}
			continue
		}
		name := words[i+1]
		if k := strings.IndexAny(name, "({<:;,="); k >= 0 {
			name = name[:k]
		}
		return kind, shorten(name)
	}
	return "", ""
}
