package strategytest

import (
	"encoding/json"
	"html"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"

	"github.com/kbsync/kbsync/connector"
)

// url finds web addresses: up to blank space, quotes, brackets or anything beyond ASCII, less the stops at the end.
func urls(text string) []connector.Span {
	var out []connector.Span
	for _, m := range regexp.MustCompile(`(?:https?|ftp)://[!#-;=?-~]+`).FindAllStringIndex(text, -1) {
		end := m[0] + len(strings.TrimRight(text[m[0]:m[1]], ".,;:!?)]}'*_"))
		out = append(out, connector.Span{Start: m[0], End: end})
	}
	return out
}

// wordsWhole is law 3, and law 2's rule on forced splits: a boundary inside something that belongs together needs the
// mark, and that thing must alone be over the cap.
func wordsWhole(f *faults, info connector.StrategyInfo, in Input, text string, chunks []connector.Chunk) {
	links := urls(text)
	breaks := boundaries(text, links)
	clusters := clusterEnds(text)
	var word connector.Span
	atoms := atomsOf(in.Elements)
	over := map[connector.Span]bool{} // what is over a cap by itself: a word of 100 KB is counted once
	fits := func(c *connector.Chunk, s connector.Span) bool {
		body := strings.TrimRightFunc(text[s.Start:s.End], unicode.IsSpace)
		tooLong, known := over[s]
		if !known {
			tooLong = exceeds(info, body)
			over[s] = tooLong
		}
		return !tooLong && (c.Context == "" || !exceeds(info, c.Context+body))
	}
	var last connector.Span
	inRun := func(c *connector.Chunk, p int) bool { // a run of characters without a space that is over the cap
		last = runAround(text, p, last)
		s := last
		return s.Start < p && p < s.End && !fits(c, s)
	}
	check := func(i int, c *connector.Chunk, p int) (cut bool) {
		if p <= 0 || p >= len(text) {
			return false
		}
		things := []struct {
			what string
			span connector.Span
			ok   bool
		}{{what: "word"}, {what: "URL"}, {what: "atom"}}
		if !breaks.at(p) {
			if p <= word.Start || p >= word.End {
				word = breaks.around(p, text)
			}
			things[0].span, things[0].ok = word, strings.TrimSpace(text[word.Start:word.End]) != ""
		}
		things[1].span, things[1].ok = inside(links, p)
		things[2].span, things[2].ok = atoms.smallest(p, text)
		for _, thing := range things {
			if !thing.ok {
				continue
			}
			cut = true
			if fits(c, thing.span) {
				f.add("law 3", "chunk %d cuts the %s %q at byte %d", i, thing.what, clip(text[thing.span.Start:thing.span.End]), p)
			} else if !c.ForcedSplit {
				f.add("law 2", "chunk %d cuts the %s %q, which is over the cap, and is not marked as a forced split", i, thing.what, clip(text[thing.span.Start:thing.span.End]))
			}
		}
		if cl := clusters.around(p, text); !clusters.at(p) && fits(c, cl) {
			f.add("law 3", "chunk %d cuts the grapheme cluster %q", i, text[cl.Start:cl.End])
		}
		return cut
	}
	for i := range chunks {
		c := &chunks[i]
		if c.Generated {
			continue
		}
		cut := false
		for _, s := range c.Spans {
			cut = check(i, c, s.Start) || cut || c.ForcedSplit && inRun(c, s.Start)
			cut = check(i, c, s.End) || cut || c.ForcedSplit && inRun(c, s.End)
		}
		if c.ForcedSplit && !cut {
			f.add("law 2", "chunk %d is marked as a forced split, but nothing is cut: %q", i, clip(c.Text))
		}
	}
}

func exceeds(info connector.StrategyInfo, text string) bool {
	for _, limit := range info.Caps {
		if limit.Counter.Count(text) > limit.Max {
			return true
		}
	}
	return false
}

// runAround is the run of characters without blank space that p is in; last is the one before, often the same.
func runAround(text string, p int, last connector.Span) connector.Span {
	if last.Start <= p && p <= last.End && last.End > 0 {
		return last
	}
	s := connector.Span{Start: p, End: len(text)}
	if k := strings.LastIndexFunc(text[:p], unicode.IsSpace); k >= 0 {
		_, n := utf8.DecodeRuneInString(text[k:])
		s.Start = k + n
	} else {
		s.Start = 0
	}
	if k := strings.IndexFunc(text[p:], unicode.IsSpace); k >= 0 {
		s.End = p + k
	}
	return s
}

// marks is the set of word boundaries of a text.
type marks []uint64

func (m marks) at(p int) bool { return m[p>>6]>>(p&63)&1 != 0 }

// around is the word that p is inside of.
func (m marks) around(p int, text string) connector.Span {
	s := connector.Span{Start: p, End: p}
	for s.Start > 0 && !m.at(s.Start) {
		s.Start--
	}
	for s.End < len(text) && !m.at(s.End) {
		s.End++
	}
	return s
}

// boundaries are those of UAX #29, and the starts of web addresses, which a word may run into: itéhttps://…
func boundaries(text string, links []connector.Span) marks {
	m := make(marks, len(text)/64+1)
	p := 0
	for it := words.FromString(text); it.Next(); {
		m[p>>6] |= 1 << (p & 63)
		p += len(it.Value())
	}
	m[p>>6] |= 1 << (p & 63)
	for _, link := range links {
		m[link.Start>>6] |= 1 << (link.Start & 63)
	}
	return m
}

// clusterEnds is the set of boundaries of grapheme clusters.
func clusterEnds(text string) marks {
	m := make(marks, len(text)/64+1)
	p := 0
	for it := graphemes.FromString(text); it.Next(); {
		m[p>>6] |= 1 << (p & 63)
		p += len(it.Value())
	}
	m[p>>6] |= 1 << (p & 63)
	return m
}

// inside finds the span, of a list in order, that p is strictly inside of.
func inside(spans []connector.Span, p int) (connector.Span, bool) {
	k := sort.Search(len(spans), func(k int) bool { return spans[k].End > p })
	if k < len(spans) && spans[k].Start < p {
		return spans[k], true
	}
	return connector.Span{}, false
}

// atomList holds atoms and rows, in order of their starts.
type atomList struct{ spans []connector.Span }

func atomsOf(elements []connector.Element) atomList {
	var out []connector.Span
	walk(elements, func(el *connector.Element) {
		if el.Atom {
			out = append(out, el.Span)
		}
		if el.Table != nil {
			for _, row := range el.Table.Rows {
				out = append(out, row.Span)
			}
		}
	})
	sort.Slice(out, func(i, k int) bool { return out[i].Start < out[k].Start })
	return atomList{spans: out}
}

// smallest is the smallest atom that p is inside of, blank lines before it and blank space behind it aside: the indentation of
// its first line is part of it. A list of thousands of rows is
// looked through from p backwards, as far as atoms may nest.
func (a atomList) smallest(p int, text string) (connector.Span, bool) {
	best, found := connector.Span{}, false
	k := sort.Search(len(a.spans), func(k int) bool { return a.spans[k].Start >= p }) - 1
	for n := 0; k >= 0 && n < 4096; k, n = k-1, n+1 {
		s := a.spans[k]
		body := text[s.Start:s.End]
		s.End = s.Start + len(strings.TrimRightFunc(body, unicode.IsSpace))
		blank := body[:len(body)-len(strings.TrimLeft(body, " \t\r\n"))]
		s.Start += strings.LastIndexAny(blank, "\r\n") + 1
		if s.Start < p && p < s.End && (!found || s.Len() < best.Len()) {
			best, found = s, true
		}
	}
	return best, found
}

// writings are the ways in which a cell may stand in a chunk: as it is, escaped for HTML or JSON or a Markdown table.
func writings(cell string) []string {
	quoted, err := json.Marshal(cell)
	if err != nil {
		return []string{cell}
	}
	var plain strings.Builder // without the escapes that protect JSON inside HTML
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(cell); err != nil {
		return []string{cell}
	}
	line := strings.Join(strings.Fields(cell), " ")
	return []string{
		plain.String()[1 : plain.Len()-2], strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(cell),
		cell, line, html.EscapeString(cell), string(quoted[1 : len(quoted)-1]),
		strings.ReplaceAll(cell, "|", `\|`), strings.ReplaceAll(strings.ReplaceAll(cell, "|", `\|`), "\n", "<br>"),
		strings.ReplaceAll(html.EscapeString(cell), "\n", "<br>"), strings.ReplaceAll(html.EscapeString(cell), "\n", "<br/>"),
	}
}
