package asciidoc

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// section reads a title: its level, 0 where line i starts none, its text, and how many lines it takes.
func (b *builder) section(i, hi int) (level int, title string, size int) {
	line := b.Line(i)
	if b.Lines[i].Indent > 0 {
		return 0, "", 0
	}
	if c := line[0]; c == '=' || c == '#' {
		n := 0
		for n < len(line) && line[n] == c {
			n++
		}
		if n <= 6 && n < len(line) && (line[n] == ' ' || line[n] == '\t') {
			text := strings.TrimSpace(line[n:])
			if t := strings.TrimSuffix(text, " "+line[:n]); t != text {
				text = strings.TrimSpace(t)
			}
			return n, plain(text), 1
		}
	}
	if i+1 >= hi || b.Blank(i+1) || b.Lines[i+1].Indent > 0 {
		return 0, "", 0
	}
	level = underline(b.Line(i + 1))
	if level == 0 || !titled(line, len(b.Line(i+1))) {
		return 0, "", 0
	}
	return level, plain(line), 2
}

// underline is the level that a line of marks gives to the title above it.
func underline(line string) int {
	if len(line) < 2 || !lightmarkup.OneOf(line, line[0]) {
		return 0
	}
	switch line[0] {
	case '=':
		return 1
	case '-':
		return 2
	case '~':
		return 3
	case '^':
		return 4
	case '+':
		return 5
	}
	return 0
}

// titled tells that marks are as many as a title has letters, or columns, give or take one; and that it is no other block's line.
func titled(line string, marks int) bool {
	if len(line) > 4*marks+8 || startsBlock(line) || !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return false
	}
	near := func(n int) bool { return n-marks <= 1 && marks-n <= 1 }
	return near(utf8.RuneCountInString(line)) || near(lightmarkup.Width(line))
}

// startsBlock tells lines that are no title and no author, since they start some block.
func startsBlock(line string) bool {
	switch line[0] {
	case '.':
		return len(line) > 1 && line[1] != ' '
	case '[':
		return line[len(line)-1] == ']'
	case '|', '=':
		return true
	case ':':
		return attribute.MatchString(line[:min(len(line), 200)])
	}
	return isComment(line) || delimiter(line) != 0 || macro(line) != ""
}

var (
	anchors   = regexp.MustCompile(`\s*\[\[[^\[\]]*\]\]\s*|\s*\[#[^\[\]]*\]\s*$`)
	linkMacro = regexp.MustCompile(`(?:link:|xref:|mailto:|https?://)[^\s\[\]]*\[([^\[\]]*)\]`)
	crossRef  = regexp.MustCompile(`<<([^<>,]*)(?:,([^<>]*))?>>`)
	inline    = regexp.MustCompile(`\b(?:footnote|footnoteref|indexterm2?|kbd|btn|menu|pass|stem|icon):[^\s\[\]]*\[[^\[\]]*\]`)
	double    = regexp.MustCompile("\\*\\*([^*]+)\\*\\*|__([^_]+)__|``([^`]+)``|##([^#]+)##|\\+\\+([^+]+)\\+\\+")
	single    = regexp.MustCompile("(^|[^\\pL\\pN*_`+#\\\\])(?:\\*([^\\s*](?:[^*]*[^\\s*])?)\\*|_([^\\s_](?:[^_]*[^\\s_])?)_|`([^\\s`](?:[^`]*[^\\s`])?)`|\\+([^\\s+](?:[^+]*[^\\s+])?)\\+|#([^\\s#](?:[^#]*[^\\s#])?)#)($|[^\\pL\\pN*_`+#])")
)

// plain is a title without inline markup.
func plain(s string) string {
	if len(s) <= maxTitleMarkup && strings.ContainsAny(s, "*_`+#[<") {
		out := anchors.ReplaceAllString(s, " ")
		out = inline.ReplaceAllStringFunc(out, func(m string) string {
			if strings.HasPrefix(m, "footnote") || strings.HasPrefix(m, "indexterm:") || strings.HasPrefix(m, "icon") {
				return ""
			}
			return m[strings.IndexByte(m, '[')+1 : len(m)-1]
		})
		out = linkMacro.ReplaceAllStringFunc(out, func(m string) string {
			g := linkMacro.FindStringSubmatch(m)
			if text, _, _ := strings.Cut(g[1], ","); text != "" {
				return strings.TrimSuffix(text, "^")
			}
			return m[:strings.IndexByte(m, '[')]
		})
		out = crossRef.ReplaceAllStringFunc(out, func(m string) string {
			if g := crossRef.FindStringSubmatch(m); strings.TrimSpace(g[2]) != "" {
				return strings.TrimSpace(g[2])
			}
			return m
		})
		out = double.ReplaceAllString(out, "$1$2$3$4$5")
		for range 2 { // one match takes the letter before the next
			out = single.ReplaceAllString(out, "$1$2$3$4$5$6$7")
		}
		if strings.TrimSpace(out) != "" {
			s = out
		}
	}
	return strings.Join(strings.Fields(s), " ")
}
