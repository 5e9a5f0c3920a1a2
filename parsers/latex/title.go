package latex

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTitle bounds the titles that are read, in bytes.
const maxTitle = 4 << 10

// plain is s without markup: commands go, what they hold stays, except for notes, labels and comments. Math stays as it is.
func plain(s string) string {
	if len(s) > maxTitle {
		end := maxTitle
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			i = plainCommand(&out, s, i+1)
			continue
		case '%':
			i = lineEnd(s, i)
			continue
		case '$':
			if end := strings.IndexByte(s[i+1:], '$'); end >= 0 {
				out.WriteString(s[i : i+end+2])
				i += end + 2
				continue
			}
			out.WriteByte(c)
		case '{', '}':
		case '~':
			out.WriteByte(' ')
		default:
			out.WriteByte(c)
		}
		i++
	}
	title := out.String()
	if strings.Contains(title, "--") || strings.Contains(title, "``") || strings.Contains(title, "''") {
		title = strings.NewReplacer("---", "—", "--", "–", "``", "“", "''", "”").Replace(title)
	}
	return strings.Join(strings.Fields(title), " ")
}

// plainCommand writes what the command at s[at:], behind its backslash, stands for, and returns where the text goes on.
func plainCommand(out *strings.Builder, s string, at int) int {
	name := letters(s[at:])
	if name == "" {
		return plainSymbol(out, s, at)
	}
	at += len(name)
	switch name {
	case "footnote", "footnotemark", "footnotetext", "thanks", "label", "index", "vspace", "hspace", "inst", "texorpdfstring", "color", "fontsize":
		return skipGroups(s, at, name == "texorpdfstring")
	case "TeX", "LaTeX", "LaTeXe", "XeTeX", "XeLaTeX", "LuaTeX", "BibTeX", "today":
		out.WriteString(name)
		return at
	case "ldots", "dots", "textellipsis":
		out.WriteString("…")
	case "and", "newline", "quad", "qquad", "par", "break":
		out.WriteByte(' ')
	}
	for at < len(s) && s[at] == ' ' {
		at++
	}
	return at
}

// skipGroups passes the groups at s[at:], or only one.
func skipGroups(s string, at int, one bool) int {
	for at < len(s) && (s[at] == '{' || s[at] == '[' || s[at] == '*') {
		depth, i := 0, at
		for ; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		at = min(i+1, len(s))
		if one {
			break
		}
	}
	return at
}

// plainSymbol writes a control symbol: an escaped character, a line break, or an accent on the letter that follows.
func plainSymbol(out *strings.Builder, s string, at int) int {
	if at >= len(s) {
		return at
	}
	marks := map[byte]string{'\'': "\u0301", '`': "\u0300", '^': "\u0302", '"': "\u0308", '~': "\u0303", '=': "\u0304", '.': "\u0307"}
	c := s[at]
	mark, accent := marks[c]
	switch {
	case accent:
		rest := strings.TrimLeft(s[at+1:], "{ ")
		rest = strings.TrimPrefix(rest, `\`) // \'\i
		if rest == "" || rest[0] < 'A' || rest[0] > 'z' {
			return at + 1
		}
		out.WriteString(norm.NFC.String(rest[:1] + mark))
		return len(s) - len(rest) + 1
	case c == '\\' || c == ' ' || c == ',' || c == ';' || c == ':' || c == '\n':
		out.WriteByte(' ')
	case c == '/' || c == '-' || c == '!':
	case c < utf8.RuneSelf:
		out.WriteByte(c)
	default:
		return at
	}
	return at + 1
}
