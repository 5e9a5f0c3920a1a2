//go:build cgo

package code

import (
	"strings"
	"unicode/utf8"
)

// The scanners of three grammars keep a stack in a buffer of 1,024 bytes and overrun it, which aborts the process. The bounds here
// are on what they could need; text over them is divided by indentation.
const (
	maxIndents  = 120 // columns, each of which may hold a mapping and a sequence of 4 bytes
	maxHeredocs = 600 // bytes of delimiters with what is kept for each
)

// safe says that the scanner of the language's grammar cannot overrun its buffer on text.
func safe(language, text string) bool {
	switch language {
	case "yaml":
		return indentColumns(text) <= maxIndents
	case "shell":
		return heredocBytes(text, false) <= maxHeredocs
	case "ruby":
		return heredocBytes(text, true) <= maxHeredocs
	}
	return true
}

// indentColumns counts the distinct columns at which a YAML collection or block scalar may start. The scanner's stack holds
// ascending columns, so it is at most twice as deep.
func indentColumns(text string) int {
	seen := map[int]bool{}
	for line := range strings.Lines(text) {
		column, fresh, start := 0, true, true
		for i := 0; i < len(line); {
			c := line[i]
			space := i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' || line[i+1] == '\n'
			switch {
			case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			case fresh, strings.IndexByte("-?:", c) >= 0 && space:
				seen[column] = true
				fresh = false
			}
			if strings.IndexByte("-?:", c) >= 0 && space || strings.IndexByte("[]{},\"'&*!|>", c) >= 0 || start && c == '#' {
				fresh = true
			}
			start = start && (c == ' ' || c == '\t')
			_, size := utf8.DecodeRuneInString(line[i:])
			i += size
			column++
		}
		if len(seen) > maxIndents {
			break
		}
	}
	return len(seen)
}

// heredocBytes bounds what a scanner keeps if every here-document of text were open at once. tight counts only those whose delimiter follows at once:
// in Ruby, << before a space is an operator.
func heredocBytes(text string, tight bool) int {
	total := 0
	for {
		k := strings.Index(text, "<<")
		if k < 0 || total > maxHeredocs {
			return total
		}
		text = strings.TrimLeft(text[k+2:], "<-~")
		if !tight {
			text = strings.TrimLeft(text, " \t")
		}
		if n := delimiterBytes(text); n > 0 {
			total += n + 8
		}
	}
}

// delimiterBytes is the length of the word or the quoted text at the start of s.
func delimiterBytes(s string) int {
	if s == "" {
		return 0
	}
	if q := s[0]; q == '"' || q == '\'' || q == '`' {
		if k := strings.IndexByte(s[1:], q); k >= 0 {
			return k
		}
		return len(s)
	}
	n := 0
	for n < len(s) && strings.IndexByte(" \t\n;|&()<>", s[n]) < 0 {
		if s[n] == '\\' {
			n++
		}
		n++
	}
	return n
}
