// Package quality looks at chunks as a careful reader would: which were cut inside a word, which end with a heading that belongs to the next one, which
// hold half of a code fence or the rows of a table without its header, which repeat each other, which are far too small or too large; and how many
// end in the middle of a sentence. It reads records alone, so that the command line, a user interface and a test can use it on what was
// just cut and on what a database holds.
//
// # Limits
//
// What is flagged is worth a look, and no more: a rule of thumb has both false alarms and misses. Memory does not grow with the number of
// chunks, but for the rows by file, of which the first ten thousand are kept.
package quality

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/neardup"
)

// The flags.
const (
	CutWord         = "cut_word"         // a boundary falls inside a word, a number, a web address or a line end
	ForcedSplit     = "forced_split"     // a boundary falls inside what alone exceeds the cap
	Mojibake        = "mojibake"         // text that was decoded by a wrong table
	OrphanHeading   = "orphan_heading"   // a heading at the end of a chunk, or alone
	UnbalancedFence = "unbalanced_fence" // a code fence that opens and does not close, or the other way round
	HeadlessTable   = "headless_table"   // rows without their header
	NearDuplicate   = "near_duplicate"   // nearly the words of another chunk
	SizeOutlier     = "size_outlier"     // far from the usual size
	LanguageMix     = "language_mix"     // another language than the rest of the document, or two alphabets in one word
)

// Kinds are all flags, in the order of reports.
func Kinds() []string {
	return []string{CutWord, ForcedSplit, Mojibake, OrphanHeading, UnbalancedFence, HeadlessTable, NearDuplicate, SizeOutlier, LanguageMix}
}

// Options of a report.
type Options struct {
	// Sample is how many chunks are looked at closely; 0: all of them. The sample is that of the least hashes of the ids: the same chunks give
	// the same sample, in whatever order they come.
	Sample int
	// Unit is how tokens are counted, for the reader.
	Unit string
}

// Collector gathers what a report says. It is used by one goroutine at a time.
type Collector struct {
	opts   Options
	report Report
	sizes  sizes
	sample sample
	near   *neardup.Index
	seen   map[int]place // of the texts that near knows
	next   int
	doc    document
	strats map[string]*Row
	files  map[string]*Row
}

// place names a chunk for people.
type place struct {
	id, docID, source, path string
	index                   int
	spans                   []connector.Span
}

// document is what is remembered of the document whose chunks are coming.
type document struct {
	id        string
	before    *connector.Record // the chunk before pending
	pending   *connector.Record // the latest chunk: it is looked at when its successor is known
	fence     string            // the code fence that is open where the chunk before ends
	scripts   map[string]int    // letters by script
	strangers map[string][]*Item
}

// maxFiles bounds the rows by file; maxRefs the chunks that are remembered for near copies; maxStrangers the chunks of one script of a document.
const (
	maxFiles     = 10_000
	maxRefs      = 500_000
	maxStrangers = 256
)

// New makes an empty collector.
func New(opts Options) *Collector {
	near, err := neardup.New(neardup.DefaultThreshold)
	if err != nil {
		panic(err) // the default is in range
	}
	return &Collector{opts: opts, near: near, seen: map[int]place{}, sizes: sizes{}, strats: map[string]*Row{}, files: map[string]*Row{}, sample: sample{most: opts.Sample}}
}

// Add looks at the next chunk: those of a document come one after another, in their order.
func (c *Collector) Add(r *connector.Record) {
	if r.DocID != c.doc.id {
		c.endDocument()
		c.doc = document{id: r.DocID, scripts: map[string]int{}, strangers: map[string][]*Item{}}
		c.report.Documents++
	}
	if p := c.doc.pending; p != nil {
		if r.ParentID == p.ChunkID {
			c.report.Parents++ // only stored: neither embedded nor searched
		} else {
			c.look(p, c.doc.before, r)
		}
		c.doc.before = p
	}
	c.doc.pending = r
}

// endDocument looks at the last chunk, and at what only the whole document tells.
func (c *Collector) endDocument() {
	if c.doc.pending == nil {
		return
	}
	c.look(c.doc.pending, c.doc.before, nil)
	c.foreign()
	c.doc.pending = nil
}

// look measures and checks one chunk between its neighbours, which may be nil.
func (c *Collector) look(r, before, after *connector.Record) {
	c.report.Chunks++
	c.sizes.add(r.TokenCount)
	it := newItem(r)
	strategy, file := c.row(c.strats, it.Strategy, 0), c.fileRow(it)
	for _, row := range []*Row{strategy, file} {
		row.add(r.TokenCount)
	}
	if group, prose := proseOf(r); prose {
		mid := midSentence(r, after)
		c.report.ends(group).add(mid)
		for _, row := range []*Row{strategy, file} {
			row.Ends.add(mid)
		}
	}
	it.flag(CutWord, cutWord(r, before, after))
	if r.Metadata["forced_split"] == true {
		it.flag(ForcedSplit, "what was cut alone exceeds the cap")
		it.unflag(CutWord)
	}
	it.flag(Mojibake, mojibake(r.Content))
	c.fences(it, r, before, after)
	it.flag(HeadlessTable, headlessTable(r))
	it.flag(NearDuplicate, c.copyOf(r))
	it.flag(LanguageMix, mixedWord(r.Content))
	c.note(r, it)
	c.sample.add(it)
}

// fences checks what depends on whether the chunk begins inside a code fence.
func (c *Collector) fences(it *Item, r, before, after *connector.Record) {
	open := c.doc.fence
	if before == nil || overlap(before.Spans, r.Spans) || !markdown(r) || !slices.Equal(headings(before), headings(r)) {
		open = "" // the chunk has the text before it too, or begins with a heading, which the parser did not find in a fence
	}
	if strings.Contains(r.Context, "```") || strings.Contains(r.Context, "~~~") {
		open = ""
	}
	lines := fencedLines{start: open}
	it.flag(OrphanHeading, orphanHeading(r, after, lines))
	it.flag(UnbalancedFence, unbalancedFence(r, after == nil, lines))
	c.doc.fence = lines.outside(r.Content, func(string) {})
}

// copyOf names the chunk that this one nearly repeats. Chunks that share text on purpose (overlap) are no copies.
func (c *Collector) copyOf(r *connector.Record) string {
	id := c.next
	c.next++
	of, near := c.near.Add(id, r.Content)
	if !near {
		c.seen[id] = place{r.ChunkID, r.DocID, r.Source, r.Path, number(r.Metadata["chunk_index"]), r.Spans}
		delete(c.seen, id-maxRefs)
		return ""
	}
	p, ok := c.seen[of]
	if !ok || p.docID == r.DocID && overlap(p.spans, r.Spans) {
		return ""
	}
	return "nearly the same as " + p.path + " #" + itoa(p.index)
}

func overlap(a, b []connector.Span) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return a[0].Start < b[len(b)-1].End && b[0].Start < a[len(a)-1].End
}

func (c *Collector) row(rows map[string]*Row, name string, most int) *Row {
	r := rows[name]
	if r == nil {
		if most > 0 && len(rows) >= most {
			name = "(others)"
			if r = rows[name]; r != nil {
				return r
			}
		}
		r = &Row{Name: name, Flags: map[string]int{}}
		rows[name] = r
	}
	return r
}

func (c *Collector) fileRow(it *Item) *Row {
	return c.row(c.files, it.Source+"/"+it.Path, maxFiles)
}

// Report is what was found. The collector may go on afterwards.
func (c *Collector) Report() *Report {
	c.endDocument()
	r := c.report
	r.Tokens, r.Histogram, r.Unit = c.sizes.summary(), c.sizes.histogram(), c.opts.Unit
	items := slices.Clone(c.sample.items)
	slices.SortFunc(items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Index, b.Index), cmp.Compare(a.ChunkID, b.ChunkID))
	})
	r.Sampled, r.Flags, r.Flagged = len(items), map[string]int{}, []*Item{}
	for _, kind := range Kinds() {
		r.Flags[kind] = 0
	}
	strats, files := cloneRows(c.strats), cloneRows(c.files)
	for _, it := range items {
		it := it.clone()
		it.flag(SizeOutlier, c.sizes.outlier(it.Tokens))
		it.sort()
		if len(it.Flags) == 0 {
			continue
		}
		r.Flagged = append(r.Flagged, it)
		for _, f := range it.Flags {
			r.Flags[f.Kind]++
			if row := strats[it.Strategy]; row != nil {
				row.Flags[f.Kind]++
			}
			if row := files[it.Source+"/"+it.Path]; row != nil {
				row.Flags[f.Kind]++
			}
		}
	}
	r.Strategies, r.Files = sortedRows(strats), sortedRows(files)
	return &r
}

// sample keeps the items with the least hashes.
type sample struct {
	most  int
	items []*Item
}

func (s *sample) add(it *Item) {
	sum := sha256.Sum256([]byte(it.ChunkID))
	it.hash = string(sum[:])
	heap.Push(s, it)
	if s.most > 0 && len(s.items) > s.most {
		heap.Pop(s)
	}
}

// Len, Less, Swap, Push and Pop make the sample a heap with the greatest hash on top.
func (s *sample) Len() int           { return len(s.items) }
func (s *sample) Less(i, j int) bool { return s.items[i].hash > s.items[j].hash }
func (s *sample) Swap(i, j int)      { s.items[i], s.items[j] = s.items[j], s.items[i] }

// Push implements heap.Interface.
func (s *sample) Push(x any) { s.items = append(s.items, x.(*Item)) }

// Pop implements heap.Interface.
func (s *sample) Pop() any {
	last := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return last
}

// excerptRunes is how much of a chunk an item shows.
const excerptRunes = 160

func newItem(r *connector.Record) *Item {
	text := strings.Join(strings.Fields(r.Content[:min(len(r.Content), 16*excerptRunes)]), " ")
	strategy, _ := r.Metadata["strategy"].(string)
	return &Item{
		ChunkID: r.ChunkID, Source: r.Source, Path: r.Path, Index: number(r.Metadata["chunk_index"]), Line: number(r.Metadata["line_start"]),
		Tokens: r.TokenCount, Strategy: strategy, Excerpt: clip(strings.ToValidUTF8(text, "\uFFFD"), excerptRunes),
	}
}
