package org

import (
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/lightmarkup"
)

// builder makes the blocks of one document.
type builder struct {
	*lightmarkup.Source
	ends       map[string][]int32 // lines that may end a block, by what they say in lower case
	keywords   map[string]bool    // what may stand before a headline's title
	properties map[string]any
}

// place is where blocks stand.
type place struct {
	depth int // containers around them
	lists int // lists around them
}

func (p place) in() place   { return place{p.depth + 1, p.lists} }
func (p place) list() place { return place{p.depth + 1, p.lists + 1} }

// bounds of what is taken from a document's head.
const (
	maxProperties = 64
	maxProperty   = 1000
	maxKeywords   = 256
)

// newBuilder looks over the lines once for what ends blocks and for what the document says of itself.
func newBuilder(s *lightmarkup.Source) *builder {
	b := &builder{Source: s, ends: map[string][]int32{}, keywords: map[string]bool{"TODO": true, "DONE": true}, properties: map[string]any{}}
	for i := range s.Lines {
		line := s.Line(i)
		if len(line) < 4 || len(line) > 80 {
			b.keyword(i, line)
			continue
		}
		switch {
		case line[0] == '#' && line[1] == '+':
			if low := strings.ToLower(line); strings.HasPrefix(low, "#+end") {
				b.ends[low] = append(b.ends[low], int32(i))
			} else {
				b.keyword(i, line)
			}
		case line[0] == ':' && strings.EqualFold(line, ":end:"):
			b.ends[":end:"] = append(b.ends[":end:"], int32(i))
		case line[0] == '\\' && strings.HasPrefix(line, `\end{`):
			b.ends[line] = append(b.ends[line], int32(i))
		}
	}
	return b
}

// end is the first line from i on, before hi, that says what; hi if there is none.
func (b *builder) end(what string, i, hi int) int {
	lines := b.ends[what]
	lo, up := 0, len(lines)
	for lo < up {
		if mid := (lo + up) / 2; int(lines[mid]) < i {
			lo = mid + 1
		} else {
			up = mid
		}
	}
	if lo < len(lines) && int(lines[lo]) < hi {
		return int(lines[lo])
	}
	return hi
}

// keyword notes what a line "#+KEY: value" says of the document, or which words mark tasks.
func (b *builder) keyword(i int, line string) {
	key, value, ok := keywordOf(line)
	if !ok || len(value) > maxProperty {
		return
	}
	switch key {
	case "title", "subtitle", "author", "date", "email", "language", "description", "keywords", "subject", "category", "filetags", "startup", "export_file_name":
		old, twice := b.properties[key].(string)
		switch {
		case value == "" || twice && len(old) > maxProperty:
		case twice && (key == "title" || key == "keywords" || key == "description"):
			b.properties[key] = lightmarkup.Join([]string{old, value})
		case !twice && key != "startup" && key != "export_file_name":
			b.properties[key] = value
		}
	case "todo", "seq_todo", "typ_todo":
		for word := range strings.FieldsSeq(value) {
			if word, _, _ = strings.Cut(word, "("); word != "|" && word != "" && len(b.keywords) < maxKeywords {
				b.keywords[word] = true
			}
		}
	}
}

// keywordOf reads "#+KEY: value", "#+KEY[option]: value" too.
func keywordOf(line string) (key, value string, ok bool) {
	if len(line) < 4 || line[0] != '#' || line[1] != '+' {
		return "", "", false
	}
	i := strings.IndexByte(line, ':')
	if i < 3 || i > 200 {
		return "", "", false
	}
	key = line[2:i]
	if k := strings.IndexByte(key, '['); k > 0 {
		key = key[:k]
	}
	if strings.ContainsAny(key, " \t") {
		return "", "", false
	}
	return strings.ToLower(key), strings.TrimSpace(line[i+1:]), true
}

// stars is the level of a headline, 0 if the line is none.
func (b *builder) stars(i int) int {
	l := &b.Lines[i]
	if l.Indent > 0 || l.Blank() || b.Text[l.From] != '*' {
		return 0
	}
	line := b.Text[l.From:l.End]
	n := 0
	for n < len(line) && line[n] == '*' {
		n++
	}
	if n < len(line) && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	if n == len(line) && (int(l.End) >= len(b.Text) || b.Text[l.End] != ' ') {
		return 0 // stars alone, without a space behind them, are text
	}
	return n
}

// document is all blocks: those before the first headline, and of each headline it and what stands below.
func (b *builder) document() []connector.Element {
	var els []connector.Element
	n := len(b.Lines)
	i := 0
	for i < n && b.stars(i) == 0 {
		i++
	}
	els = append(els, b.blocks(0, i, place{})...)
	b.fileProperties(i)
	for i < n {
		level := b.stars(i)
		end := i + 1
		for end < n && b.stars(end) == 0 {
			end++
		}
		title, comment := b.title(i, level)
		if comment {
			for end < n && (b.stars(end) == 0 || b.stars(end) > level) {
				end++
			}
			b.Cut(i, end)
			i = end
			continue
		}
		el := b.Element(connector.KindHeading, i, i+1)
		el.Level, el.Title = min(level, 6), title
		els = append(els, el)
		els = append(els, b.blocks(i+1, end, place{})...)
		i = end
	}
	return els
}

// fileProperties are those in a drawer at the very start.
func (b *builder) fileProperties(hi int) {
	i := b.Skip(0, hi)
	if i >= hi || !strings.EqualFold(b.Line(i), ":properties:") {
		return
	}
	end := b.end(":end:", i, hi)
	for i++; i < end && len(b.properties) < maxProperties; i++ {
		line := b.Line(i)
		if b.Blank(i) || line[0] != ':' {
			return
		}
		k := strings.IndexByte(line[1:], ':')
		if k < 1 || k > 64 || len(line) > maxProperty {
			continue
		}
		if key := strings.ToLower(line[1 : k+1]); b.properties[key] == nil {
			b.properties[key] = strings.TrimSpace(line[k+2:])
		}
	}
}

var (
	priority = regexp.MustCompile(`^\[#[A-Za-z0-9]+\]\s*`)
	tags     = regexp.MustCompile(`(?:^|\s+):(?:[\pL\pN_@#%]+:)+$`)
)

// title is a headline's text without keyword, priority, tags and markup; comment tells that its subtree is one.
func (b *builder) title(i, level int) (title string, comment bool) {
	s := strings.TrimSpace(b.Line(i)[level:])
	word, rest, _ := strings.Cut(s, " ")
	if b.keywords[word] {
		s = strings.TrimSpace(rest)
	}
	if len(s) <= maxTitleMarkup {
		s = priority.ReplaceAllString(s, "")
	}
	if s == "COMMENT" || strings.HasPrefix(s, "COMMENT ") {
		return "", true
	}
	if strings.HasSuffix(s, ":") && len(s) <= maxTitleMarkup {
		s = tags.ReplaceAllString(s, "")
	}
	return plain(s), false
}

// maxTitleMarkup bounds the titles whose markup is taken away.
const maxTitleMarkup = 512

var (
	links    = regexp.MustCompile(`\[\[([^\[\]]*)\](?:\[([^\[\]]*)\])?\]`)
	notes    = regexp.MustCompile(`\s*\[fn:[^\[\]]*\]`)
	targets  = regexp.MustCompile(`<{2,3}([^<>]+)>{2,3}\s*`)
	emphasis = regexp.MustCompile(`(^|[\s\-('"{])(?:\*([^\s*](?:[^*]*[^\s*])?)\*|/([^\s/](?:[^/]*[^\s/])?)/|_([^\s_](?:[^_]*[^\s_])?)_|=([^\s=](?:[^=]*[^\s=])?)=|~([^\s~](?:[^~]*[^\s~])?)~|\+([^\s+](?:[^+]*[^\s+])?)\+)($|[\s\-.,:!?;'")}\]])`)
)

// plain is a text without inline markup.
func plain(s string) string {
	if len(s) <= maxTitleMarkup {
		out := links.ReplaceAllStringFunc(s, func(m string) string {
			g := links.FindStringSubmatch(m)
			if g[2] != "" {
				return g[2]
			}
			return g[1]
		})
		out = notes.ReplaceAllString(out, "")
		out = targets.ReplaceAllString(out, "$1 ")
		for range 2 { // one match takes the space before the next
			out = emphasis.ReplaceAllString(out, "$1$2$3$4$5$6$7$8")
		}
		if strings.TrimSpace(out) != "" {
			s = out
		}
	}
	return strings.Join(strings.Fields(s), " ")
}
