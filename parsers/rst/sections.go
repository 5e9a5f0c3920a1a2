package rst

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// section reads a title with a line of marks below it, or above and below it. The first style that a document uses is level 1, the next new one
// level 2, and so on.
func (b *builder) section(i, hi int) (connector.Element, int, bool) {
	var none connector.Element
	line := b.Line(i)
	if c := adornment(line); c != 0 {
		if !b.overlined(i, hi) {
			return none, 0, false
		}
		return b.heading(i, i+1, i+3, style{c, true}), i + 3, true
	}
	if i+1 >= hi || b.Lines[i].Indent > 0 || b.Blank(i+1) || b.Lines[i+1].Indent > 0 {
		return none, 0, false
	}
	under := b.Line(i + 1)
	c := adornment(under)
	if c == 0 || under == ".." || under == "::" || !underlines(line, under) {
		return none, 0, false
	}
	return b.heading(i, i, i+2, style{c, false}), i + 2, true
}

// overlined tells that line i is the line of marks above a title.
func (b *builder) overlined(i, hi int) bool {
	if i+2 >= hi || b.Blank(i+1) || b.Blank(i+2) || b.Lines[i].Indent > 0 || b.Lines[i+2].Indent > 0 {
		return false
	}
	over, under := b.Line(i), b.Line(i+2)
	return adornment(under) == over[0] && adornment(b.Line(i+1)) == 0 && len(over) >= 2 &&
		(len(over) == len(under) || underlines(b.Line(i+1), over) && underlines(b.Line(i+1), under))
}

// underlines tells that marks are long enough for a title: as many as it has columns, or letters; or four at least, as docutils has it.
func underlines(title, marks string) bool {
	return len(marks) >= 4 || len(marks) >= min(lightmarkup.Width(title), utf8.RuneCountInString(title))
}

func (b *builder) heading(lo, title, hi int, st style) connector.Element {
	el := b.Element(connector.KindHeading, lo, hi)
	el.Title = plain(b.Line(title))
	k := slices.Index(b.styles, st)
	if k < 0 {
		k = len(b.styles)
		if k < 64 {
			b.styles = append(b.styles, st)
		}
	}
	el.Level = min(k+1, 6)
	return el
}

// maxTitleMarkup bounds the titles whose markup is taken away.
const maxTitleMarkup = 512

var (
	roleMarkup = regexp.MustCompile("(?::[A-Za-z][\\w.:+-]*:)?`{1,2}([^`]+)`{1,2}_{0,2}")
	linkTarget = regexp.MustCompile("\\s*<[^<>`]*>$")
	emphasis   = regexp.MustCompile(`(^|[\s(\[{"'])(?:\*\*([^\s*](?:[^*]*[^\s*])?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*|\|([^\s|](?:[^|]*[^\s|])?)\|)`)
	reference  = regexp.MustCompile(`([\pL\pN])_{1,2}($|[\s.,:;!?)])`)
)

// plain is a title without inline markup.
func plain(s string) string {
	if len(s) > maxTitleMarkup || !strings.ContainsAny(s, "*`|_\\") {
		return strings.Join(strings.Fields(s), " ")
	}
	out := roleMarkup.ReplaceAllStringFunc(s, func(m string) string {
		text := roleMarkup.FindStringSubmatch(m)[1]
		if t := linkTarget.ReplaceAllString(text, ""); t != "" && !strings.Contains(m, "``") {
			text = t
		}
		return strings.TrimPrefix(text, "~")
	})
	out = emphasis.ReplaceAllString(out, "$1$2$3$4")
	out = reference.ReplaceAllString(out, "$1$2")
	out = strings.Join(strings.Fields(unescape(out)), " ")
	if out == "" {
		return strings.Join(strings.Fields(s), " ")
	}
	return out
}

// unescape takes away backslashes: an escaped letter is itself, an escaped space nothing.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if i++; s[i] == ' ' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// properties are the title of a document that has one section around all others, and the fields right at its start or behind that title.
func (b *builder) properties(els []connector.Element) map[string]any {
	out := map[string]any{}
	next := 0
	for i := range els { // targets may stand before a title
		if els[i].Kind != connector.KindText || !strings.HasPrefix(b.Text[els[i].Span.Start:els[i].Span.End], ".. ") {
			next = i
			break
		}
	}
	if next < len(els) && els[next].Kind == connector.KindHeading && !slices.ContainsFunc(els[next+1:], func(el connector.Element) bool {
		return el.Kind == connector.KindHeading && el.Level <= els[next].Level
	}) {
		out["title"] = els[next].Title
		next++
	}
	if next < len(els) && els[next].Kind == connector.KindDefinition {
		b.docinfo(out, &els[next])
	}
	return out
}

// maxFields bounds what is taken from a list of fields.
const (
	maxFields = 64
	maxField  = 1000
)

func (b *builder) docinfo(out map[string]any, el *connector.Element) {
	for k := range min(len(el.Children), maxFields) {
		item := &el.Children[k]
		text := strings.TrimSpace(b.Text[item.Span.Start:item.Span.End])
		n := 0
		if text != "" {
			first, _, _ := strings.Cut(text, "\n")
			n = fieldMark(strings.TrimRight(first, " \t"))
		}
		if n == 0 {
			return
		}
		name := strings.ToLower(strings.TrimSpace(text[1 : n-1]))
		value := lightmarkup.Join(strings.Split(text[n:], "\n"))
		if name == "" || len(name) > 64 || len(value) > maxField {
			continue
		}
		if name == "authors" {
			name = "author"
		}
		if _, twice := out[name]; !twice {
			out[name] = value
		}
	}
}
