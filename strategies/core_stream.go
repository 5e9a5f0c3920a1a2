package strategies

import (
	"context"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// windowBytes is how much text is gathered before it is cut; more is held only if a chunk needs more.
const windowBytes = 256 << 10

const (
	// titleChars is the length up to which a paragraph of one line without a stop is a title.
	titleChars = 80
	// paragraphBytes is how much text is kept before what is scanned, to tell titles from paragraphs.
	paragraphBytes = 1024
)

// textCut is how a strategy for running text packs.
type textCut struct {
	cutting
	anchored   bool // packing starts afresh at anchors
	paragraphs bool // and at every paragraph but those below a title
	sentences  int  // overlap in sentences; 0: by the budget's
	good       uint8
}

// chunkText cuts a document's text regardless of its structure, except that atoms are kept whole while they fit. It holds a
// window of the text.
func chunkText(ctx context.Context, b *budget, c textCut, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		s := newStream(b, c, yield)
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			s.add(&el)
			if s.waiting >= max(windowBytes, len(s.text)-s.pos) && !s.process(false) {
				return
			}
		}
		s.process(true)
	}
}

// newStream is the state at a document's start.
func newStream(b *budget, c textCut, yield func(connector.Chunk, error) bool) *stream {
	s := &stream{b: b, c: c, yield: yield, anchors: anchorer{reach: b.anchorRadius()}}
	s.blanks = anchorer{reach: max(1, (b.caps[0].Max-b.overlap)*blankReach/10, min(b.minChars, s.anchors.reach)), first: s.anchors.reach}
	return s
}

// mark is a place from which on headings and page hold.
type mark struct {
	at       int // in the parsed text
	headings []string
	page     int
}

// stream is the state of one document.
type stream struct {
	b     *budget
	c     textCut
	yield func(connector.Chunk, error) bool

	parts   []string // text that is not in text yet
	waiting int      // its length
	text    string
	base    int // where text starts in the parsed text
	pos     int // where the next chunk's new text starts, in text

	scan    lineScan
	anchors anchorer // positions in the parsed text
	blanks  anchorer // the same among blank lines alone
	para    int      // where the paragraph that is being read starts, in the parsed text
	x, xAt  int      // the last candidate's distance, and its position in text
	wide    int      // how many of the 64 bytes around it are beyond ASCII
	starts  []int    // where packing starts afresh, in the parsed text, ascending, behind pos

	atoms  []connector.Span // in the parsed text, outer ones before inner ones
	marks  []mark
	hi     int // up to where packing goes, and where its last line ends, in the parsed text
	hiText int
	begun  int  // where the last chunk starts, in the parsed text
	open   bool // the last cut went through a word
	kind   uint8
	closed bool
	planner
}

func (s *stream) add(el *connector.Element) {
	s.parts = append(s.parts, el.Text)
	s.waiting += len(el.Text)
	s.atoms = atomSpans(s.atoms, el)
	last := mark{}
	if n := len(s.marks); n > 0 {
		last = s.marks[n-1]
	}
	next := mark{at: el.Span.Start, headings: last.headings, page: el.Page}
	if el.Kind == connector.KindHeading && el.Level > 0 {
		next.headings = make([]string, 0, el.Level)
		for level, title := range last.headings {
			if level+1 < el.Level {
				next.headings = append(next.headings, title)
			}
		}
		for len(next.headings) < el.Level-1 {
			next.headings = append(next.headings, "")
		}
		next.headings = append(next.headings, el.Title)
	} else if next.page == last.page {
		return
	}
	s.marks = append(s.marks, next)
}

// process cuts as far as the text at hand decides; all of it if final. It returns false once the consumer wants no more.
func (s *stream) process(final bool) bool {
	if s.closed {
		return false
	}
	s.gather()
	m := s.b.measure(s.text)
	c := s.c
	c.atoms = s.fitting(m)
	sure := s.findStarts(final)
	for s.pos < len(s.text) {
		for len(s.starts) > 0 && (s.starts[0] <= s.base+s.pos || c.insideAtom(s.starts[0]-s.base)) {
			s.starts = s.starts[1:]
		}
		hi, whole := sure, final
		if len(s.starts) > 0 && s.starts[0]-s.base <= sure {
			hi, whole = s.starts[0]-s.base, true
		}
		if hi <= s.pos || !s.pack(m, c, hi, whole) {
			break
		}
	}
	return !s.closed
}

// gather joins what waits to the text that is still needed: from the new text on, and as much before it as overlap and anchors look at.
func (s *stream) gather() {
	keep := max(0, min(s.pos-s.lookBehind(), s.scan.pos-paragraphBytes))
	if keep > 0 || len(s.text) > 0 {
		s.parts = slices.Insert(s.parts, 0, s.text[keep:])
	}
	s.text = strings.Join(s.parts, "") // of one part it is that part
	clear(s.parts)
	s.parts, s.waiting = s.parts[:0], 0
	s.base += keep
	s.pos -= keep
	s.scan.pos -= keep
	s.xAt -= keep
	gone := sort.Search(len(s.marks), func(k int) bool { return s.marks[k].at > s.base+s.pos })
	if gone > 1 {
		s.marks = slices.Delete(s.marks, 0, gone-1)
	}
	s.atoms = slices.DeleteFunc(s.atoms, func(a connector.Span) bool { return a.End <= s.base })
}

// lookBehind is how many bytes before a chunk's new text its overlap may start.
func (s *stream) lookBehind() int {
	if s.c.sentences > 0 {
		return min(8*s.b.caps[0].Max, windowBytes)
	}
	return 8*s.b.overlap + 64
}

// fitting sorts the atoms in the text at hand: the outermost ones that fit are kept whole.
func (s *stream) fitting(m *measure) *atomSet {
	if len(s.atoms) == 0 {
		return nil
	}
	set := &atomSet{}
	sort.SliceStable(s.atoms, func(i, k int) bool { return s.atoms[i].Start < s.atoms[k].Start })
	end, bigEnd := 0, 0
	for _, a := range s.atoms {
		cut := a.Start < s.base // its start is gone, so a chunk has ended inside it: it is big, whatever is left
		a.Start, a.End = max(a.Start-s.base, 0), a.End-s.base
		if a.End <= end {
			continue // inside one that is kept
		}
		known := min(a.End, len(s.text))
		if from, to := trimSpan(s.text, a.Start, known); !cut && m.fits(from, to, nil) {
			set.keep = append(set.keep, a)
			end = a.End
		} else if a.End > bigEnd { // not one inside another, which a cut parts as well
			bigEnd = a.End
			set.big = append(set.big, a)
		}
	}
	return set
}

// findStarts finds where packing starts afresh. It returns up to where all such places are known.
func (s *stream) findStarts(final bool) int {
	if !s.c.anchored && !s.c.paragraphs {
		return len(s.text)
	}
	s.scan.scan(s.text, final, func(p int, kind uint64) {
		if s.c.paragraphs && (kind == 0 || indentAt(s.text, p)) {
			joined := s.b.joinsNext(s.text, s.para-s.base, p)
			s.para = s.base + p
			if joined {
				return
			}
			s.starts = append(s.starts, s.base+p)
		}
		if s.anchors.idle(s.base+p, kind) {
			return
		}
		if !s.c.paragraphs && kind < 2 && s.titleBefore(p) {
			return
		}
		c := candidate{at: s.base + p}
		c.key, s.wide = keyAround(s.text, p, kind)
		s.x += s.b.roughly(p-s.xAt, s.wide)
		s.xAt, c.x = p, s.x
		s.anchors.add(c)
		if !s.c.paragraphs && (kind == 0 || kind == 1 && lineEnds(s.text, p)) {
			s.blanks.add(c)
		}
	})
	end := min(s.scan.pos, len(s.text))
	if final {
		end = len(s.text)
	}
	far := s.x + s.b.roughly(max(0, end-s.xAt), s.wide)
	for _, a := range [...]*anchorer{&s.anchors, &s.blanks} {
		a.advance(far)
		s.starts = append(s.starts, a.found...)
		a.found = a.found[:0]
	}
	slices.Sort(s.starts) // one is decided later than the other, and a place may be both
	s.starts = slices.Compact(s.starts)
	if s.c.paragraphs {
		if n := len(s.starts); final && n > 0 && s.b.joinsNext(s.text, s.starts[n-1]-s.base, len(s.text)) {
			s.starts = s.starts[:n-1] // nothing comes that a short last paragraph could join
		}
	}
	if final {
		return len(s.text)
	}
	for _, a := range [...]*anchorer{&s.anchors, &s.blanks} {
		for _, c := range a.queue {
			if c.low {
				end = min(end, c.at-s.base)
				break
			}
		}
	}
	return end
}

// bounds is where the text to pack up to hi ends, blank space aside, and where packing goes on behind it. whole says that packing ends at
// hi, else more text may follow. Nothing is left where it is done with all there was.
func (s *stream) bounds(hi int, whole bool) (end, stop int, left bool) {
	if s.hi != s.base+hi { // blank space at the end is looked at once
		_, end := trimSpan(s.text, s.pos, hi)
		s.hi, s.hiText = s.base+hi, s.base+end
	}
	if !whole {
		return hi, hi, true
	}
	if end = s.hiText - s.base; end <= s.pos {
		s.pos = hi
		return end, hi, false
	}
	return end, hi, true
}

// pack cuts the next chunks from text[pos:hi), as many as are planned together. It returns false if more text is needed first, or if the
// consumer wants no more.
func (s *stream) pack(m *measure, c textCut, hi int, whole bool) bool {
	hi, stop, left := s.bounds(hi, whole)
	if !left {
		return true
	}
	far := horizon*s.b.caps[0].Max + 8*anchorBytes
	if !whole && hi-s.pos < far+4*anchorBytes {
		return false
	}
	end, all := hi, whole
	if hi-s.pos > far {
		end, all = runeFloor(s.text, s.pos, s.pos+far), false
	}
	if from, to := trimSpan(s.text, s.pos, hi); all && m.fits(from, to, nil) {
		return s.emit(m, c, cut{at: hi}, hi, stop)
	}
	cuts := s.plan(m, c, end, all)
	if len(cuts) == 0 {
		return s.first(m, c, hi, stop, whole)
	}
	for _, got := range cuts {
		if from, to := trimSpan(s.text, s.pos, got.at); !m.fits(from, to, nil) {
			return s.first(m, c, hi, stop, whole)
		}
		if !s.emit(m, c, got, hi, stop) {
			return false
		}
	}
	return true
}

// titleBefore tells that the line before p goes with what starts there.
func (s *stream) titleBefore(p int) bool {
	least := max(0, p-4*titleChars)
	_, end := trimSpan(s.text, least, p)
	lo := strings.LastIndexByte(s.text[least:end], '\n') + 1
	return (lo > 0 || least == 0) && least+lo < end && s.titled(least+lo, end)
}

// chunk cuts the next chunk from text[pos:hi), the longest that ends well. It returns false if more text is needed first, or if the
// consumer wants no more.
func (s *stream) chunk(m *measure, c textCut, hi int, whole bool) bool {
	hi, stop, left := s.bounds(hi, whole)
	return !left || s.first(m, c, hi, stop, whole)
}

// first is chunk for text that is left.
func (s *stream) first(m *measure, c textCut, hi, stop int, whole bool) bool {
	got := m.next(s.pos, hi, nil, c.cutting)
	if !whole && got.at+4*s.b.minChars+4*anchorBytes > hi {
		return false
	}
	if got.at < hi {
		got = s.noCrumbs(m, c, got, hi)
	}
	return s.emit(m, c, got, hi, stop)
}

// emit makes a chunk that ends at a cut, with the overlap that fits.
func (s *stream) emit(m *measure, c textCut, got cut, hi, stop int) bool {
	from := s.pos
	if s.pos > 0 && !s.open {
		from = s.withOverlap(m, c, got.at)
	}
	start, end := trimSpan(s.text, from, got.at)
	if start < end {
		chunk := connector.Chunk{
			Text:  s.text[start:end],
			Spans: []connector.Span{{Start: s.base + start, End: s.base + end}},
		}
		chunk.Tokens, chunk.TokenUnit = m.tokens(start, end, nil)
		chunk.ForcedSplit = got.forced || s.open || c.atoms != nil && (s.cutsBig(c.atoms, start) || s.cutsBig(c.atoms, end))
		chunk.Headings, chunk.Page = s.markAt(s.base + skipBlank(s.text, max(start, s.pos), end))
		if !s.yield(chunk, nil) {
			s.closed = true
			return false
		}
	}
	if start < end {
		s.begun = s.base + start
	}
	if got.at >= hi {
		got.at = stop
	}
	s.pos, s.open, s.kind = got.at, got.forced, got.level
	return true
}

// cutsBig tells that p parts the text of an atom; blank space at its ends is no text.
func (s *stream) cutsBig(set *atomSet, p int) bool {
	a, ok := inside(set.big, p)
	if !ok {
		return false
	}
	stop := min(a.End, len(s.text))
	return skipBlank(s.text, a.Start, p) < p && skipBlank(s.text, p, stop) < stop
}

// markAt is the breadcrumb and the page at a position of the parsed text.
func (s *stream) markAt(at int) (headings []string, page int) {
	k := sort.Search(len(s.marks), func(k int) bool { return s.marks[k].at > at }) - 1
	if k < 0 {
		return nil, 0
	}
	for _, title := range s.marks[k].headings {
		if title != "" {
			headings = append(headings, title)
		}
	}
	return headings, s.marks[k].page
}

// noCrumbs moves a cut so that neither the piece before it nor what remains behind it is shorter than min_chars, if that is possible.
func (s *stream) noCrumbs(m *measure, c textCut, got cut, hi int) cut {
	least := s.b.minChars
	if least == 0 {
		return got
	}
	start, end := trimSpan(s.text, s.pos, got.at)
	if chars(s.text[start:end], least) < least { // a crumb above a word that is too long: that word is cut in any case
		if next := m.next(got.at, hi, nil, c.cutting); next.forced {
			from, to := trimSpan(s.text, s.pos, hi)
			return m.forcedCut(from, to, nil)
		}
	}
	from, to := trimSpan(s.text, got.at, hi)
	if to-from >= 4*least || from == to || chars(s.text[from:to], least) >= least {
		return got
	}
	stop := to
	for n := 0; n < least && stop > start; n++ {
		stop = runeFloor(s.text, start, stop-1)
	}
	at, level := c.seps.last(s.text, start, start+(stop-start)*c.fill/100, stop)
	if level == levelNone {
		at, level = lastWord(s.text, start, stop), c.seps.word
	}
	if at = c.besideAtom(at, start, stop); at <= start {
		return got
	}
	if _, to := trimSpan(s.text, start, at); chars(s.text[start:to], least) < least || !m.fits(start, to, nil) {
		return got
	}
	return cut{at: at, level: level}
}

// chars counts code points, up to about limit.
func chars(text string, limit int) int {
	n := 0
	for i := range text {
		if n++; n >= limit {
			return n + len(text[i:])/4
		}
	}
	return n
}
