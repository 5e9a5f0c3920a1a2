package main

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"sort"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

//go:embed chunks.html
var pageTemplate string

// htmlPrinter collects the chunks of every document and prints one page.
type htmlPrinter struct {
	ctx  context.Context //nolint:containedctx // the printer lives within one command
	a    *app
	v    *pipeline.Preview
	docs []pageDoc
	now  []pageChunk
}

// pageDoc is a document on the page.
type pageDoc struct {
	ID       int
	Path     string
	Explain  *pipeline.Explanation
	Segments []segment
	Chunks   []pageChunk
	Bars     []bar
	Tokens   int
	Smallest int
	Largest  int
}

// pageChunk is what the page says about a chunk. Content is given only where it is not the text in Spans.
type pageChunk struct {
	Index    int              `json:"index"`
	ID       string           `json:"id"`
	Tokens   int              `json:"tokens"`
	Chars    int              `json:"chars"`
	Section  string           `json:"section"`
	Lines    string           `json:"lines"`
	Context  string           `json:"context"`
	Content  string           `json:"content,omitempty"`
	Flags    string           `json:"flags,omitempty"`
	Preview  string           `json:"-"`
	Spans    []connector.Span `json:"-"`
	Width    int              `json:"-"` // share of the largest chunk, in per cent
	Rendered bool             `json:"-"`
}

// segment is a stretch of the text that the same chunks hold.
type segment struct {
	Text   string
	Chunks string // their indexes, separated by spaces
	Class  string
}

// bar is one bar of the histogram of sizes.
type bar struct {
	Label  string
	Count  int
	Height int // per cent
}

func (h *htmlPrinter) chunk(r *connector.Record) error {
	c := pageChunk{
		Index: len(h.now), ID: r.ChunkID, Tokens: r.TokenCount, Chars: r.CharCount, Context: r.Context, Spans: r.Spans,
		Preview: short(r.Content, 80), Lines: fmt.Sprintf("%v–%v", r.Metadata["line_start"], r.Metadata["line_end"]),
	}
	c.Section, _ = r.Metadata["section"].(string)
	var flags []string
	for _, key := range []string{"forced_split", "rendered", "generated"} {
		if r.Metadata[key] == true {
			flags = append(flags, strings.ReplaceAll(key, "_", " "))
		}
	}
	c.Flags = strings.Join(flags, ", ")
	if r.Metadata["rendered"] == true || r.Metadata["generated"] == true {
		c.Content = r.Content
	}
	h.now = append(h.now, c)
	return nil
}

func (h *htmlPrinter) document(f *found, x *pipeline.Explanation, _ int) error {
	d := pageDoc{ID: len(h.docs), Path: f.doc.Path, Explain: x, Chunks: h.now}
	h.now = nil
	if x.Skip == "" {
		_, elements, err := h.v.Elements(h.ctx, f.source, f.caps, f.doc)
		if err != nil {
			return err
		}
		var text strings.Builder
		for e, err := range elements {
			if err != nil {
				return err
			}
			if e.Kind != connector.KindDropped {
				text.WriteString(e.Text)
			}
		}
		d.Segments = segments(text.String(), d.Chunks)
	}
	d.measure()
	h.docs = append(h.docs, d)
	return nil
}

func (h *htmlPrinter) end() error {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return err
	}
	chunks := 0
	for _, d := range h.docs {
		chunks += len(d.Chunks)
	}
	return t.Execute(h.a.out, map[string]any{"Docs": h.docs, "Chunks": chunks})
}

// colours is how many tints the page has.
const colours = 6

// segments cuts the text at every end of a span.
func segments(text string, chunks []pageChunk) []segment {
	type edge struct {
		at, chunk int
		open      bool
	}
	var edges []edge
	for _, c := range chunks {
		for _, s := range c.Spans {
			if from, to := max(0, s.Start), min(len(text), s.End); from < to {
				edges = append(edges, edge{from, c.Index, true}, edge{to, c.Index, false})
			}
		}
	}
	sort.SliceStable(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	var out []segment
	var live []int
	at := 0
	for i := 0; i <= len(edges); i++ {
		to := len(text)
		if i < len(edges) {
			to = edges[i].at
		}
		if to > at {
			out = append(out, newSegment(text[at:to], live))
			at = to
		}
		if i == len(edges) {
			break
		}
		e := edges[i]
		if e.open {
			live = append(live, e.chunk)
			sort.Ints(live)
			continue
		}
		if k := sort.SearchInts(live, e.chunk); k < len(live) && live[k] == e.chunk {
			live = append(live[:k], live[k+1:]...)
		}
	}
	return out
}

func newSegment(text string, live []int) segment {
	s := segment{Text: text, Class: "none"}
	for i, c := range live {
		if i > 0 {
			if c == live[i-1] {
				continue
			}
			s.Chunks += " "
			s.Class = fmt.Sprintf("c%d over", c%colours)
		} else {
			s.Class = fmt.Sprintf("c%d", c%colours)
		}
		s.Chunks += strconv.Itoa(c)
	}
	return s
}

// maxBars bounds the histogram.
const maxBars = 12

// measure fills sizes and the histogram.
func (d *pageDoc) measure() {
	if len(d.Chunks) == 0 {
		return
	}
	d.Smallest = d.Chunks[0].Tokens
	for _, c := range d.Chunks {
		d.Tokens += c.Tokens
		d.Smallest, d.Largest = min(d.Smallest, c.Tokens), max(d.Largest, c.Tokens)
	}
	for i := range d.Chunks {
		d.Chunks[i].Width = d.Chunks[i].Tokens * 100 / max(1, d.Largest)
	}
	step := niceStep(d.Largest)
	d.Bars = make([]bar, d.Largest/step+1)
	most := 0
	for i := range d.Bars {
		d.Bars[i].Label = fmt.Sprintf("%d–%d", i*step, (i+1)*step-1)
	}
	for _, c := range d.Chunks {
		b := &d.Bars[c.Tokens/step]
		b.Count++
		most = max(most, b.Count)
	}
	for i := range d.Bars {
		if d.Bars[i].Count > 0 {
			d.Bars[i].Height = max(4, d.Bars[i].Count*100/most)
		}
	}
}

// niceStep is 1, 2 or 5 times a power of ten, such that largest needs at most maxBars bars.
func niceStep(largest int) int {
	for step := 1; ; step *= 10 {
		for _, n := range []int{1, 2, 5} {
			if largest/(n*step)+1 <= maxBars {
				return n * step
			}
		}
	}
}
