package quality

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/kbsync/kbsync/connector"
)

// mojibake says where text looks as if it was decoded by a wrong table: UTF-8 that was read as Windows-1252, GBK that passed through a lossy
// step, control characters of Latin-1, replacement characters.
func mojibake(text string) string {
	for _, sign := range []string{"锟斤拷", "烫烫烫", "屯屯屯"} {
		if i := strings.Index(text, sign); i >= 0 {
			return around(text, i, i+len(sign))
		}
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError:
			return around(text, i, i+n)
		case r >= 0x80 && r < 0xA0 && r != 0x85:
			return around(text, i, i+n)
		case r < utf8.RuneSelf:
			i += n
			continue
		}
		j, garbled := westernRun(text, i)
		if garbled {
			return around(text, i, j)
		}
		i = j
	}
	return ""
}

// westernRun is the run of characters beyond ASCII that begins at i, and whether it is UTF-8 when it is written in Windows-1252.
func westernRun(text string, i int) (end int, garbled bool) {
	var raw []byte
	fits := true
	for end = i; end < len(text) && text[end] >= utf8.RuneSelf; {
		r, n := utf8.DecodeRuneInString(text[end:])
		if fits {
			var b byte
			b, fits = charmap.Windows1252.EncodeRune(r)
			raw = append(raw, b)
		}
		end += n
	}
	return end, fits && len(raw) >= 2 && utf8.Valid(raw)
}

// around shows a place of a text.
func around(text string, i, j int) string {
	shown := text[tailAt(text[:i]):i] + clip(text[i:j], sideRunes) + text[j:j+headEnd(text[j:])]
	return "…" + strings.Join(strings.Fields(shown), " ") + "…"
}

func markdown(r *connector.Record) bool {
	t, _ := r.Metadata["media_type"].(string)
	return strings.Contains(t, "markdown") || strings.HasSuffix(t, "mdx")
}

// fence reads a line of a code fence: its character, its length and whether it may close one; n is 0 where it is none. What stands before it in a
// list or quotation is passed over.
func fence(line string) (c byte, n int, closes bool) {
	line = strings.TrimSpace(line)
	for line != "" && (line[0] == '>' || (line[0] == '-' || line[0] == '*' || line[0] == '+') && strings.HasPrefix(line[1:], " ")) {
		line = strings.TrimSpace(line[1:])
	}
	if i := strings.IndexAny(line, ".)"); i > 0 && i < 4 && strings.Trim(line[:i], "0123456789") == "" && strings.HasPrefix(line[i+1:], " ") {
		line = strings.TrimSpace(line[i+1:])
	}
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return 0, 0, false
	}
	c = line[0]
	rest := strings.TrimLeft(line, string(c))
	if c == '`' && strings.Contains(rest, "`") {
		return 0, 0, false // a span of code
	}
	return c, len(line) - len(rest), strings.TrimSpace(rest) == ""
}

// fencedLines reads lines of Markdown; start is the line that opened the fence in which they begin, if they do.
type fencedLines struct{ start string }

// outside yields the lines that are in no code fence; open is the line that opened the last one, if that does not close.
func (f fencedLines) outside(text string, yield func(line string)) (open string) {
	in, width, _ := fence(f.start)
	open = f.start
	for line := range strings.Lines(text) {
		c, n, closes := fence(line)
		switch {
		case in == 0 && n > 0:
			in, width, open = c, n, strings.TrimSpace(line)
		case in != 0 && c == in && n >= width && closes:
			in, open = 0, ""
		case in == 0:
			yield(line)
		}
	}
	return open
}

// unbalancedFence says which code fence does not close. One that is open at the end of the document closes there.
func unbalancedFence(r *connector.Record, last bool, lines fencedLines) string {
	if !markdown(r) || r.Metadata["rendered"] == true {
		return ""
	}
	if lines.start != "" {
		return "begins inside " + clip(lines.start, 40)
	}
	if open := lines.outside(r.EmbedText, func(string) {}); open != "" && !last {
		return "opens and does not close: " + clip(open, 40)
	}
	return ""
}

// orphanHeading names the heading that ends a chunk, or is all of it, where there is more to come.
func orphanHeading(r, after *connector.Record, lines fencedLines) string {
	if after == nil || r.Metadata["title_chunk"] == true || after.Metadata["title_chunk"] == true || r.Metadata["generated"] == true || within(r, after) {
		return ""
	}
	last := ""
	if markdown(r) {
		open := lines.outside(r.Content, func(line string) {
			if s := strings.TrimSpace(line); s != "" {
				last = s
			}
		})
		if open == "" && atx(last) && strings.HasSuffix(strings.TrimSpace(r.Content), last) {
			return clip(last, 60)
		}
		return ""
	}
	text := strings.TrimSpace(r.Content)
	last = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	next := headings(after)
	if last == "" || len(next) == 0 || next[len(next)-1] != last {
		return ""
	}
	if own := headings(r); len(own) > 0 && own[len(own)-1] == last && text != last {
		return ""
	}
	return clip(last, 60)
}

// within says that the span of b lies in that of a.
func within(a, b *connector.Record) bool {
	return len(a.Spans) > 0 && len(b.Spans) > 0 && b.Spans[0].Start >= a.Spans[0].Start && b.Spans[len(b.Spans)-1].End <= a.Spans[len(a.Spans)-1].End
}

func atx(line string) bool {
	rest := strings.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

func headings(r *connector.Record) []string {
	switch list := r.Metadata["headings"].(type) {
	case []string:
		return list
	case []any:
		var out []string
		for _, v := range list {
			s, _ := v.(string)
			out = append(out, s)
		}
		return out
	}
	return nil
}

// headlessTable shows the first of the rows that stand without their header.
func headlessTable(r *connector.Record) string {
	if !markdown(r) || r.Metadata["rendered"] == true {
		if t, _ := r.Metadata["media_type"].(string); strings.Contains(t, "html") || markdown(r) {
			return headlessHTML(r.EmbedText)
		}
		return ""
	}
	found := ""
	var rows []string
	end := func() {
		if len(rows) > 1 && found == "" && !separator(rows[1]) {
			found = clip(rows[0], 60)
		}
		rows = rows[:0]
	}
	fencedLines{}.outside(r.EmbedText, func(line string) {
		line = strings.TrimLeft(strings.TrimSpace(line), "> ")
		if len(line) > 2 && line[0] == '|' && line[len(line)-1] == '|' && strings.Count(line, "|") > 2 {
			if len(rows) < 3 {
				rows = append(rows, line)
			}
			return
		}
		end()
	})
	end()
	if found == "" {
		found = headlessHTML(r.EmbedText)
	}
	return found
}

func separator(row string) bool {
	return strings.Contains(row, "-") && strings.Trim(row, "|-: \t") == ""
}

func headlessHTML(text string) string {
	if i := strings.Index(text, "<tr"); i >= 0 && !strings.Contains(text[:i], "<table") {
		return clip(text[i:], 60)
	}
	return ""
}

// proseOf says whether a record is prose, whose sentences may be asked for, and whether in a script without spaces.
func proseOf(r *connector.Record) (eastern, prose bool) {
	t, _ := r.Metadata["media_type"].(string)
	switch {
	case r.Metadata["rendered"] == true, r.Metadata["generated"] == true:
		return false, false
	case markdown(r), t == "text/plain", strings.Contains(t, "html"), strings.Contains(t, "pdf"), strings.Contains(t, "word"), strings.Contains(t, "epub"),
		strings.HasSuffix(t, "tex"), strings.HasSuffix(t, "rst"), strings.HasSuffix(t, "-org"):
	default:
		return false, false
	}
	letters, wide := 0, 0
	for _, c := range r.Content {
		switch {
		case spaceless(c):
			wide++
			letters++
		case unicode.IsLetter(c):
			letters++
		}
	}
	return wide*3 > letters, letters > 0
}

// midSentence says that a chunk of prose ends where its sentence goes on. The end of a block ends a sentence: a blank line, a heading, an item, a row.
func midSentence(r, after *connector.Record) bool {
	if after == nil || within(r, after) || overlaps(r, after) {
		return after != nil && !within(r, after) && !ended(r.Content)
	}
	if ended(r.Content) {
		return false
	}
	text := strings.TrimRightFunc(r.Content, unicode.IsSpace)
	blank := r.Content[len(text):]
	gap := 0
	if len(after.Spans) > 0 {
		gap = after.Spans[0].Start - contentEndOf(r)
	}
	if strings.Count(blank, "\n") > 1 || gap > 1 {
		return false
	}
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.Contains(blank, "\n") || gap == 1 {
		return !block(last) && !block(strings.SplitN(after.Content, "\n", 2)[0])
	}
	return true
}

func overlaps(r, after *connector.Record) bool {
	return len(after.Spans) > 0 && len(r.Spans) > 0 && after.Spans[0].Start < contentEndOf(r)
}

func contentEndOf(r *connector.Record) int {
	if len(r.Spans) == 0 {
		return 0
	}
	return contentEnd(r)
}

// ended says that text ends with the end of a sentence, or of a block that has none.
func ended(text string) bool {
	trimmed := strings.TrimRightFunc(text, unicode.IsSpace)
	if strings.Count(text[len(trimmed):], "\n") > 1 {
		return true
	}
	last := trimmed[strings.LastIndexByte(trimmed, '\n')+1:]
	if strings.Contains(text[len(trimmed):], "\n") && block(last) {
		return true
	}
	trimmed = strings.TrimRight(trimmed, "\"')]}*_`”’」』）】》〉〕»>")
	r, _ := utf8.DecodeLastRuneInString(trimmed)
	return trimmed == "" || strings.ContainsRune(".!?…:;。！？；：．｡", r)
}

// block says that a line is a block of its own: a heading, an item, a row, a fence, a tag, a quotation, a rule.
func block(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" {
		return true
	}
	switch line[0] {
	case '#', '|', '>', '<', '-', '*', '+', '=', '~', '`', '!', '[':
		return true
	}
	i := 0
	for i < len(line) && isDigit(rune(line[i])) {
		i++
	}
	return i > 0 && i < 4 && i < len(line) && (line[i] == '.' || line[i] == ')') || strings.HasPrefix(line, "•")
}
