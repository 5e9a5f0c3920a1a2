package dialogue

import (
	"html"
	"strings"

	"github.com/kbsync/kbsync/internal/decode"
)

// clean is text whose entities are resolved, without what no parsed text may hold.
func (o *output) clean(text string) string {
	if strings.IndexByte(text, '&') < 0 {
		return text
	}
	var c decode.Cleaner
	out := c.Clean(html.UnescapeString(text))
	return strings.ReplaceAll(out, "\r", "\n")
}

// voiceTag finds the first voice tag at or behind from, and the name in it.
func voiceTag(text string, from int) (at int, name string) {
	for from < len(text) {
		k := strings.Index(text[from:], "<v")
		if k < 0 {
			return 0, ""
		}
		at = from + k
		end := strings.IndexByte(text[at:min(len(text), at+headBytes)], '>')
		if end > 2 && strings.IndexByte(". \t\n", text[at+2]) >= 0 {
			_, name, _ = strings.Cut(strings.ReplaceAll(text[at+2:at+end], "\n", " "), " ")
			if name = strings.TrimSpace(name); name != "" {
				return at, name
			}
		}
		from = at + 2
	}
	return 0, ""
}

// stripTags takes the tags of cues out, "{\an8}" of SubRip too, and gives them apart. Other angle brackets are text.
func stripTags(text string) (plain, tags string) {
	if !strings.ContainsAny(text, "<{") {
		return text, ""
	}
	var p, t strings.Builder
	for text != "" {
		k := strings.IndexAny(text, "<{")
		if k < 0 {
			p.WriteString(text)
			break
		}
		p.WriteString(text[:k])
		text = text[k:]
		n := tagLength(text)
		if n == 0 {
			p.WriteByte(text[0])
			text = text[1:]
			continue
		}
		t.WriteString(text[:n])
		text = text[n:]
	}
	return p.String(), t.String()
}

// tagLength is the length of the tag that text starts with, or 0.
func tagLength(text string) int {
	look := text[:min(len(text), headBytes)]
	if text[0] == '{' {
		if strings.HasPrefix(text, `{\`) {
			return strings.IndexByte(look, '}') + 1
		}
		return 0
	}
	n := strings.IndexByte(look, '>') + 1
	if n < 3 {
		return 0
	}
	name := strings.TrimPrefix(look[1:n-1], "/")
	if k := strings.IndexAny(name, ". \t\n/"); k >= 0 && !clock(name) {
		name = name[:k]
	}
	switch strings.ToLower(name) {
	case "v", "c", "i", "b", "u", "s", "ruby", "rt", "lang", "font", "br", "em", "strong":
		return n
	}
	if clock(name) {
		return n
	}
	return 0
}

// counter tells a cue's number.
func counter(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || len(line) > 9 {
		return false
	}
	for i := range len(line) {
		if line[i] < '0' || line[i] > '9' {
			return false
		}
	}
	return true
}

// isTiming tells "00:00:01.000 --> 00:00:04.000", with a comma in SubRip and settings behind it.
func isTiming(line string) bool {
	_, _, ok := cueTimes(line)
	return ok
}

func cueTimes(line string) (start, end string, ok bool) {
	a, b, found := strings.Cut(line, "-->")
	if !found {
		return "", "", false
	}
	b = strings.TrimSpace(b)
	if k := strings.IndexAny(b, " \t"); k >= 0 {
		b = b[:k]
	}
	a = strings.TrimSpace(a)
	if !clock(a) || !clock(b) {
		return "", "", false
	}
	return stamp(a), stamp(b), true
}

// clock tells "1:02:03.456" and "02:03,456".
func clock(s string) bool {
	colons, digits := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':':
			colons++
		case c >= '0' && c <= '9':
			digits++
		case c != '.' && c != ',':
			return false
		}
	}
	return len(s) <= 20 && colons >= 1 && colons <= 2 && digits >= 3
}

// stamp writes a time of a cue as hh:mm:ss.mmm, so that times compare as text.
func stamp(s string) string {
	s = strings.ReplaceAll(s, ",", ".")
	if strings.Count(s, ":") == 1 {
		s = "00:" + s
	}
	if strings.IndexByte(s, ':') == 1 {
		s = "0" + s
	}
	if !strings.Contains(s, ".") {
		s += ".000"
	}
	return s
}
