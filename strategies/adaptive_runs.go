package strategies

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// keptTogether yields the texts in an element that are not cut while they fit the cap: its words (see [solidRuns]) and its atoms, rows included.
// before is the text that it goes on from in mid-word, if it does.
func keptTogether(before string, el *connector.Element) iter.Seq[string] {
	return func(yield func(string) bool) {
		for run := range solidRuns(before, el.Text) {
			if !yield(run) {
				return
			}
		}
		atomsOf(el, el.Text, el.Span.Start, yield)
	}
}

// atomsOf yields the atoms of an element, at any depth, of the text that starts at base.
func atomsOf(el *connector.Element, text string, base int, yield func(string) bool) bool {
	give := func(span connector.Span) bool {
		from, to := trimSpan(text, span.Start-base, span.End-base)
		return yield(text[from:to])
	}
	if el.Atom && !give(el.Span) {
		return false
	}
	if el.Table != nil {
		for _, row := range el.Table.Rows {
			if !give(row.Span) {
				return false
			}
		}
	}
	for k := range el.Children {
		if !atomsOf(&el.Children[k], text, base, yield) {
			return false
		}
	}
	return true
}

// solidRuns yields the runs of a text without blank space and without characters that may be parted anywhere (Han and Hiragana, and
// the marks of their scripts). The first one begins in the text before, if it does.
func solidRuns(before, text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		head := ""
		if before != "" {
			at := len(before)
			for at > 0 && len(before)-at < wholeBlock {
				r, n := utf8.DecodeLastRuneInString(before[:at])
				if parts(r) {
					break
				}
				at -= n
			}
			head = before[at:]
		}
		start := 0
		for i := 0; i <= len(text); {
			r, n := ' ', 1
			if i < len(text) {
				r, n = utf8.DecodeRuneInString(text[i:])
			}
			if parts(r) {
				if run := head + text[start:i]; run != "" && !yield(run) {
					return
				}
				head, start = "", i+n
			}
			i += n
		}
	}
}

// parts tells characters that stand in no word with others.
func parts(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= '\t' && r <= '\r'
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.Han, unicode.Hiragana) || r >= 0x3000 && r <= 0x303F && r != 0x3005 || r >= 0xFF01 && r <= 0xFF0F
}
