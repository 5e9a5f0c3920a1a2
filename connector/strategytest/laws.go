package strategytest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// most is how many breaches of one kind are reported.
const most = 3

// faults collects breaches by kind.
type faults struct {
	list []error
	n    map[string]int
}

func (f *faults) add(kind, format string, args ...any) {
	if f.n == nil {
		f.n = map[string]int{}
	}
	if f.n[kind]++; f.n[kind] <= most {
		f.list = append(f.list, fmt.Errorf(kind+": "+format, args...))
	}
}

// Laws checks laws 1 to 4, and that offsets ascend, of chunks made from the input.
func Laws(info connector.StrategyInfo, in Input, chunks []connector.Chunk) []error {
	f := &faults{}
	text := in.Text()
	sound := form(f, text, chunks)
	if !sound {
		return f.list
	}
	nothingLost(f, text, chunks)
	ascending(f, chunks)
	parents(f, chunks)
	hardCap(f, info, chunks)
	if !info.Exempt {
		wordsWhole(f, info, in, text, chunks)
	}
	cellsInOrder(f, in, chunks)
	return f.list
}

// form is law 4: spans are sound and their text is the content; and no chunk is blank or no UTF-8.
func form(f *faults, text string, chunks []connector.Chunk) bool {
	for i := range chunks {
		c := &chunks[i]
		if strings.TrimSpace(c.Text) == "" {
			f.add("empty chunk", "chunk %d is blank", i)
		}
		if !utf8.ValidString(c.EmbedText()) && utf8.ValidString(text) {
			f.add("UTF-8", "chunk %d cuts a character: %q", i, clip(c.Text))
		}
		if strings.ContainsRune(c.Text, utf8.RuneError) && !strings.ContainsRune(text, utf8.RuneError) && !c.Generated {
			f.add("UTF-8", "chunk %d holds U+FFFD, which the text has not", i)
		}
		if len(c.Spans) == 0 {
			f.add("law 4", "chunk %d has no spans", i)
		}
		if !spansSound(c.Spans, len(text)) || !spansSound(c.ContextSpans, len(text)) {
			f.add("law 4", "chunk %d: spans %v, context %v are out of order or out of the text (%d bytes)", i, c.Spans, c.ContextSpans, len(text))
			continue
		}
		if c.Rendered || c.Generated {
			continue
		}
		var b strings.Builder
		for _, s := range c.Spans {
			b.WriteString(text[s.Start:s.End])
		}
		if b.String() != c.Text {
			f.add("law 4", "chunk %d is %q, but its spans hold %q", i, clip(c.Text), clip(b.String()))
		}
	}
	return f.n["law 4"] == 0
}

func spansSound(spans []connector.Span, end int) bool {
	last := 0
	for _, s := range spans {
		if s.Start < last || s.End <= s.Start || s.End > end {
			return false
		}
		last = s.End
	}
	return true
}

// nothingLost is law 1. Chunks that are only stored do not count: nobody finds what stands in them alone.
func nothingLost(f *faults, text string, chunks []connector.Chunk) {
	step := make([]int32, len(text)+1)
	for i := range chunks {
		if chunks[i].StoreOnly {
			continue
		}
		for _, s := range chunks[i].Spans {
			step[s.Start]++
			step[s.End]--
		}
		for _, s := range chunks[i].ContextSpans {
			step[s.Start]++
			step[s.End]--
		}
	}
	depth := int32(0)
	for p := 0; p < len(text); {
		r, n := utf8.DecodeRuneInString(text[p:])
		lost := false
		for k := range n {
			depth += step[p+k]
			lost = lost || depth == 0
		}
		if lost && !unicode.IsSpace(r) {
			f.add("law 1", "%q at byte %d is in no chunk", clip(text[p:min(len(text), p+20)]), p)
		}
		p += n
	}
}

// ascending: chunks come in reading order, and no two of them start at the same place: those that are embedded, and parents of each level
// among themselves.
func ascending(f *faults, chunks []connector.Chunk) {
	levels := map[string]int{} // of parents, by key
	last := map[int]int{}      // 1 more than where the chunk before starts; level 0 is that of embedded chunks
	for i := range chunks {
		c := &chunks[i]
		level := 0
		if c.StoreOnly {
			level = levels[c.ParentKey] + 1
			levels[c.Key] = level
		}
		if c.Rendered || c.Generated || len(c.Spans) == 0 {
			continue
		}
		start := c.Spans[0].Start
		if start < last[level] {
			f.add("offsets", "chunk %d starts at %d, the one before at %d", i, start, last[level]-1)
		}
		last[level] = start + 1
	}
}

// parents: every parent key names a chunk, and keys are unique.
func parents(f *faults, chunks []connector.Chunk) {
	keys := map[string]bool{}
	for i := range chunks {
		if k := chunks[i].Key; k != "" {
			if keys[k] {
				f.add("keys", "two chunks have the key %q", k)
			}
			keys[k] = true
		}
	}
	for i := range chunks {
		if k := chunks[i].ParentKey; k != "" && !keys[k] {
			f.add("keys", "chunk %d has the parent %q, which does not exist", i, k)
		}
	}
}

// hardCap is law 2, counted afresh over the embedded text, and that a count which a chunk brings along is right.
func hardCap(f *faults, info connector.StrategyInfo, chunks []connector.Chunk) {
	for i := range chunks {
		caps := info.Caps
		if chunks[i].StoreOnly {
			caps = info.ParentCaps
		}
		for _, limit := range caps {
			n := limit.Counter.Count(chunks[i].EmbedText())
			if limit.Counter.Name() == chunks[i].TokenUnit && n != chunks[i].Tokens {
				f.add("tokens", "chunk %d says that it has %d %s, and has %d: %q", i, chunks[i].Tokens, chunks[i].TokenUnit, n, clip(chunks[i].EmbedText()))
			}
			if n > limit.Max {
				f.add("law 2", "chunk %d has %d %s, the cap is %d: %q", i, n, limit.Counter.Name(), limit.Max, clip(chunks[i].EmbedText()))
			}
		}
	}
}

// cellsInOrder is the part of law 4 for rendered chunks: the chunks that span a row hold all its cells, in order.
func cellsInOrder(f *faults, in Input, chunks []connector.Chunk) {
	rendered := map[int][]int{} // chunks by the start of the rows that they span; rows are looked up among these alone
	for i := range chunks {
		if chunks[i].Rendered {
			for _, s := range chunks[i].Spans {
				rendered[s.Start] = append(rendered[s.Start], i)
			}
		}
	}
	if len(rendered) == 0 {
		return
	}
	walk(in.Elements, func(el *connector.Element) {
		if el.Table == nil {
			return
		}
		for _, row := range el.Table.Rows {
			var held []string
			for i := range chunks {
				if chunks[i].Rendered && covers(chunks[i].Spans, row.Span, in) {
					held = append(held, chunks[i].Text)
				}
			}
			if len(held) == 0 {
				continue
			}
			if cell, ok := inOrder(strings.Join(held, "\n"), row.Cells); !ok {
				f.add("law 4", "cell %q of the row at %d is not in its chunks, or not in order", clip(cell), row.Span.Start)
			}
		}
	})
}

func walk(elements []connector.Element, visit func(*connector.Element)) {
	for k := range elements {
		visit(&elements[k])
		walk(elements[k].Children, visit)
	}
}

// covers tells whether a row, apart from blank space at its ends, lies in one of the spans.
func covers(spans []connector.Span, row connector.Span, _ Input) bool {
	for _, s := range spans {
		if s.Start <= row.Start && s.End+2 >= row.End {
			return true
		}
	}
	return false
}

// inOrder looks for every cell behind the one before, as it is or as a format must write it.
func inOrder(text string, cells []string) (missing string, ok bool) {
	for _, cell := range cells {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		at := -1
		for _, form := range writings(cell) {
			if k := strings.Index(text, form); k >= 0 && (at < 0 || k+len(form) < at) {
				at = k + len(form)
			}
		}
		if at < 0 {
			return cell, false
		}
		text = text[at:]
	}
	return "", true
}
