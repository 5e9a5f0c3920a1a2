package strategies

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/features"
	"github.com/kbsync/kbsync/internal/sentences"
)

const (
	// densityLevels is the number of sizes.
	densityLevels = 4
	// densityReach is how many bytes of text on either side of a block decide how dense it is.
	densityReach = 2000
	// densityUnits is how many bytes of one block are measured.
	densityUnits = 4000
	// wholeBlock is the size in bytes up to which a paragraph is one block; a longer one has a block for each sentence.
	wholeBlock = 4000
)

// densityLevel is the level of a density, 0 for the plainest text. Encyclopaedias and speeches come out at 39 on average, annual
// reports at 46, abstracts of papers at 58.
func densityLevel(density int) int {
	switch {
	case density < 35:
		return 0
	case density < 45:
		return 1
	case density < 55:
		return 2
	}
	return 3
}

func densityName(level int) string { return [...]string{"low", "medium", "high", "very_high"}[level] }

// densityBlock is a piece of the text that has one density: a paragraph, a sentence of a long one, or an element of another kind.
type densityBlock struct {
	el    connector.Element
	safe  bool // a passage may begin here
	units []features.Unit
	level int
	limit int // the densest level at which nothing in it must be cut that fits the cap
}

func (b *densityBlock) size() int { return len(b.el.Text) }

// passageWindow parts a text into passages of one level of density each. What level a block has depends on the text within reach of it, and
// where a passage begins on the levels of the blocks behind, so an edit moves the borders nearby only.
type passageWindow struct {
	least int // bytes that a passage has at least
	// limit is the densest level at which what stays together in a block does: before is the text that it goes on from in mid-word.
	limit func(before string, el *connector.Element) int
}

// levelRun is a number of blocks of one level in a row, not decided yet.
type levelRun struct{ level, bytes, blocks int }

// passageState is the state of one document.
type passageState struct {
	w     passageWindow
	yield func(densityBlock, error) bool

	blocks []densityBlock // from the first that is still in the bag on
	bytes  []int          // where each starts, in bytes of text so far
	end    int            // where the last one ends
	lo     int            // the first block in the bag; those before out are yielded
	hi     int            // behind the last block in the bag
	mid    int            // the next block whose level is to be told
	out    int            // the next block to be yielded
	bag    features.Bag
	runs   []levelRun // of the blocks from out to mid
	ready  int        // bytes of them
	level  int        // of the passage that is being yielded; -1 before the first
	closed bool
}

// passages yields the blocks in order, each with the level of its passage.
func (w passageWindow) passages(elements iter.Seq2[connector.Element, error]) iter.Seq2[densityBlock, error] {
	return func(yield func(densityBlock, error) bool) {
		s := &passageState{w: w, yield: yield, level: -1}
		last := ""
		for el, err := range elements {
			if err != nil {
				yield(densityBlock{}, err)
				return
			}
			if el.Kind == connector.KindDropped || el.Text == "" {
				continue
			}
			for b := range blocksOf(el, spaceBetween(last, el.Text)) {
				if !s.add(b) {
					return
				}
			}
			last = el.Text
		}
		s.finish()
	}
}

// spaceBetween tells whether a text that ends and one that follows it are parted by blank space, so that no word goes from one to the other.
func spaceBetween(a, b string) bool {
	if a == "" {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	return unicode.IsSpace(last) && (last != '\r' || first != '\n') || last != '\r' && unicode.IsSpace(first)
}

// blocksOf parts an element: running text at blank lines, and long paragraphs at sentences; any other element is one block.
func blocksOf(el connector.Element, safe bool) iter.Seq[densityBlock] {
	return func(yield func(densityBlock) bool) {
		if el.Kind != connector.KindText || el.Atom || len(el.Children) > 0 || el.Table != nil {
			yield(densityBlock{el: el, safe: safe})
			return
		}
		text, at := el.Text, 0
		give := func(end int, ok bool) bool {
			part := el
			part.Text = text[at:end]
			part.Span = connector.Span{Start: el.Span.Start + at, End: el.Span.Start + end}
			at = end
			return yield(densityBlock{el: part, safe: ok})
		}
		for at < len(text) {
			end := paragraphEnd(text, at)
			first := at == 0
			for end-at > wholeBlock {
				next := sentences.Next(text[:end], at)
				if !give(next, !first || safe) {
					return
				}
				first = false
				if at == end {
					break
				}
			}
			if at < end && !give(end, !first || safe) {
				return
			}
		}
	}
}

// paragraphEnd is where the paragraph at p ends: behind the blank lines below it.
func paragraphEnd(text string, p int) int {
	for p < len(text) {
		n := strings.IndexByte(text[p:], '\n')
		if n < 0 {
			return len(text)
		}
		p += n + 1
		end := p
		for end < len(text) && text[end] <= ' ' {
			next := blankLine(text, end)
			if next == 0 {
				break
			}
			end = next
		}
		if end > p {
			return end
		}
	}
	return len(text)
}

// add takes the next block, and yields those that are decided by now.
func (s *passageState) add(b densityBlock) bool {
	text := b.el.Text
	features.Units(text[:runeFloor(text, 0, min(len(text), densityUnits))], func(u features.Unit) { b.units = append(b.units, u) })
	s.bound(&b)
	s.blocks = append(s.blocks, b)
	s.bytes = append(s.bytes, s.end)
	s.end += len(text)
	for s.mid < len(s.blocks)-1 && s.bytes[len(s.blocks)-1] >= s.bytes[s.mid]+s.blocks[s.mid].size()+densityReach {
		s.tell()
	}
	return s.decide(false)
}

// bound finds the limit of a block, and lowers those of the blocks that no passage can part it from.
func (s *passageState) bound(b *densityBlock) {
	before := ""
	if k := len(s.blocks) - 1; !b.safe && k >= 0 {
		before = s.blocks[k].el.Text
	}
	b.limit = densityLevels - 1
	if s.w.limit != nil {
		b.limit = s.w.limit(before, &b.el)
	}
	for k, safe := len(s.blocks)-1, b.safe; !safe && k >= s.out; k-- {
		b.limit = min(b.limit, s.blocks[k].limit)
		s.blocks[k].limit = b.limit
		safe = s.blocks[k].safe
	}
}

// finish decides what is left.
func (s *passageState) finish() {
	for s.mid < len(s.blocks) {
		s.tell()
	}
	s.decide(true)
}

// tell finds the level of the next block, all within reach of which is known.
func (s *passageState) tell() {
	start := s.bytes[s.mid]
	end := start + s.blocks[s.mid].size()
	for ; s.hi < len(s.blocks) && (s.hi <= s.mid || s.bytes[s.hi] < end+densityReach); s.hi++ {
		for _, u := range s.blocks[s.hi].units {
			s.bag.Add(u)
		}
	}
	for ; s.lo < s.mid && s.bytes[s.lo]+s.blocks[s.lo].size() <= start-densityReach; s.lo++ {
		for _, u := range s.blocks[s.lo].units {
			s.bag.Remove(u)
		}
		s.blocks[s.lo].units = nil
	}
	level := densityLevel(s.bag.Density())
	s.blocks[s.mid].level = level
	size := s.blocks[s.mid].size()
	if n := len(s.runs); n == 0 || s.runs[n-1].level != level {
		s.runs = append(s.runs, levelRun{level: level})
	}
	last := &s.runs[len(s.runs)-1]
	last.bytes += size
	last.blocks++
	s.ready += size
	s.mid++
}

// decide yields the blocks whose passage is known. A passage begins at a block from which on its level lasts.
func (s *passageState) decide(final bool) bool {
	for s.out < s.mid && !s.closed {
		front := &s.runs[0]
		switch {
		case s.level < 0:
			if !final && s.ready < 2*s.w.least {
				return true
			}
			s.level = s.firstLevel()
		case front.level == s.level:
		case front.bytes >= s.w.least:
			if s.blocks[s.out].safe {
				s.level = front.level
			}
		case len(s.runs) == 1 && !final:
			return true // it may yet last
		}
		b := s.blocks[s.out]
		s.blocks[s.out].el = connector.Element{Text: b.el.Text} // its size is still asked for
		s.out++
		s.ready -= b.size()
		front.bytes -= b.size()
		if front.blocks--; front.blocks == 0 {
			s.runs = s.runs[1:]
		}
		b.level, b.units = min(s.level, b.limit), nil
		s.closed = !s.yield(b, nil)
	}
	s.forget()
	return !s.closed
}

// firstLevel is the first level that lasts at the beginning of a text, else that of its first block.
func (s *passageState) firstLevel() int {
	for _, r := range s.runs {
		if r.bytes >= s.w.least {
			return r.level
		}
	}
	return s.runs[0].level
}

// forget drops the blocks that nothing asks for any more.
func (s *passageState) forget() {
	gone := min(s.lo, s.out)
	if gone < 64 || gone < len(s.blocks)/2 {
		return
	}
	s.blocks = append(s.blocks[:0], s.blocks[gone:]...)
	s.bytes = append(s.bytes[:0], s.bytes[gone:]...)
	clear(s.blocks[len(s.blocks):cap(s.blocks)])
	s.lo, s.hi, s.mid, s.out = s.lo-gone, s.hi-gone, s.mid-gone, s.out-gone
}
