package notebook

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/kbsync/kbsync/connector"
)

// forms are the texts that one output comes in.
type forms struct {
	stream                       string
	isStream                     bool
	markdown, plain, latex, html clip
	name, value, trace           clip
}

// output reads one output of a code cell.
func (s *scanner) output(to *shown) error {
	room := 4*to.max + restMax // colours and tags take room of their own
	f := forms{stream: "stdout"}
	for _, c := range []*clip{&f.markdown, &f.plain, &f.latex, &f.html, &f.trace} {
		c.max = room
	}
	f.name.max, f.value.max = 256, room
	err := s.fields(func(key string) (err error) {
		switch key {
		case "output_type":
			var kind string
			kind, err = s.word()
			f.isStream = kind == "stream"
		case "name", "stream":
			f.stream, err = s.word()
		case "ename":
			err = s.lines(&f.name)
		case "evalue":
			err = s.lines(&f.value)
		case "traceback":
			err = s.traceback(&f.trace)
		case "data":
			err = s.fields(func(mime string) error { return s.form(mime, &f, to) })
		case "text", "html", "latex", "png", "jpeg", "svg", "pdf", "javascript", "json":
			err = s.form(key, &f, to)
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	f.choose(to)
	return nil
}

// traceback joins the lines of an error's trace.
func (s *scanner) traceback(c *clip) error {
	return s.list(func() error {
		if len(c.b) > 0 {
			c.add([]byte("\n"))
		}
		return s.lines(c)
	})
}

// form reads one form of an output, or skips what is no text.
func (s *scanner) form(mime string, f *forms, to *shown) error {
	switch strings.ToLower(mime) {
	case "text", "text/plain":
		return s.lines(&f.plain)
	case "text/markdown":
		return s.lines(&f.markdown)
	case "latex", "text/latex":
		return s.lines(&f.latex)
	case "html", "text/html":
		return s.lines(&f.html)
	}
	reason := connector.DropMarkup
	if strings.Contains(mime, "javascript") {
		reason = connector.DropScript
	}
	before := s.off
	err := s.skip()
	to.media(reason, mime, s.off-before)
	return err
}

// choose keeps the most textual form and notes the others.
func (f *forms) choose(to *shown) {
	f.failure(to)
	plain := string(f.plain.b)
	described := strings.HasPrefix(plain, "<") && strings.HasSuffix(strings.TrimSpace(plain), ">") && !strings.Contains(plain, "\n") // <IPython.core.display.HTML object>
	shownHTML := htmlText(string(f.html.b))
	rest := func(c *clip) { to.drop(connector.DropMarkup, string(c.b)) }
	switch {
	case len(f.markdown.b) > 0:
		to.addClip("", string(f.markdown.b), &f.markdown)
		rest(&f.plain)
		rest(&f.latex)
		rest(&f.html)
	case described && strings.TrimSpace(shownHTML) != "":
		to.addClip("", shownHTML, &f.html)
		rest(&f.plain)
		rest(&f.latex)
	case strings.TrimSpace(plain) != "":
		stream := ""
		if f.isStream {
			stream = f.stream
		}
		to.addClip(stream, plain, &f.plain)
		rest(&f.latex)
		rest(&f.html)
	case len(f.latex.b) > 0:
		to.addClip("", string(f.latex.b), &f.latex)
		rest(&f.html)
	default:
		to.addClip("", shownHTML, &f.html)
	}
}

// failure adds an error: its name and message first, lest they fall to the cut, unless the trace says them and is kept whole.
func (f *forms) failure(to *shown) {
	name := strings.TrimSpace(string(f.name.b))
	if name == "" && len(f.trace.b) == 0 {
		return
	}
	message := name + ": " + string(f.value.b)
	trace := colours.ReplaceAllString(string(f.trace.b), "")
	if len(trace) > to.max || !strings.Contains(trace, message) {
		to.addClip("", message, &f.value)
	}
	to.addClip("", trace, &f.trace)
}

// addClip adds text, which was made from c, and notes what c could not hold.
func (s *shown) addClip(stream, text string, c *clip) {
	if text == "" {
		return
	}
	s.add(stream, text)
	if c.lost > 0 {
		s.drop(connector.DropLimit, string(c.rest))
	}
}

// htmlText is the text of a piece of HTML: blocks and rows on lines of their own, cells apart.
func htmlText(source string) string {
	if source == "" {
		return ""
	}
	z := html.NewTokenizer(strings.NewReader(source))
	var b strings.Builder
	hidden := 0
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return joinLines(b.String())
		case html.TextToken:
			if hidden == 0 {
				b.WriteString(strings.ReplaceAll(string(z.Text()), "\n", " "))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			switch tag := string(name); tag {
			case "script", "style":
				if kind == html.StartTagToken {
					hidden++
				} else if hidden > 0 {
					hidden--
				}
			case "td", "th":
				b.WriteByte(' ')
			case "b", "i", "em", "strong", "span", "a", "code", "sub", "sup", "u", "small", "font":
			default:
				b.WriteByte('\n')
			}
		}
	}
}

// joinLines drops blank lines and doubled spaces.
func joinLines(s string) string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
