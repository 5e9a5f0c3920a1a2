package strategies

import (
	"iter"
	"sort"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// passage is a window of the text that flows past to another strategy, with what may not be cut in it: parents and windows are made of
// the parsed text, and not of the chunks' texts.
type passage struct {
	buf   []byte
	base  int              // where buf starts in the parsed text
	atoms []connector.Span // ascending starts, outer ones before inner ones
}

// tap is the elements, noted on their way.
func (p *passage) tap(elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		for el, err := range elements {
			if err == nil && el.Kind != connector.KindDropped {
				p.buf = append(p.buf, el.Text...)
				p.atoms = atomSpans(p.atoms, &el)
			}
			if !yield(el, err) {
				return
			}
		}
	}
}

// end is up to where the text is known.
func (p *passage) end() int { return p.base + len(p.buf) }

// slice is the text of a range, as far as it is held.
func (p *passage) slice(from, to int) string {
	from, to = max(from-p.base, 0), min(to-p.base, len(p.buf))
	if from >= to {
		return ""
	}
	return string(p.buf[from:to])
}

// forget drops what stands before a place, once that is half of what is held: every byte is moved a bounded number of times.
func (p *passage) forget(before int) {
	n := before - p.base
	if n <= len(p.buf)/2 {
		return
	}
	p.buf = append(p.buf[:0], p.buf[n:]...)
	p.base = before
	keep := p.atoms[:0]
	for _, a := range p.atoms {
		if a.End > before {
			keep = append(keep, a)
		}
	}
	p.atoms = keep
}

// nested is how far atoms may lie inside one another and still be found.
const nested = 4096

// insideAtom tells that at is strictly inside the text of something that may not be cut while it fits. Blank lines before it and blank
// space behind it are no text.
func (p *passage) insideAtom(at int) bool {
	k := sort.Search(len(p.atoms), func(k int) bool { return p.atoms[k].Start >= at }) - 1
	for n := 0; k >= 0 && n < nested; k, n = k-1, n+1 {
		a := p.atoms[k]
		if a.End <= at {
			continue
		}
		stop := p.skip(at, a.End)
		if stop == a.End {
			continue // blank space behind it
		}
		switch first := p.skip(max(a.Start, p.base), at); {
		case first < at, a.Start < p.base: // of one whose start is gone, text stood there
			return true
		case at > p.base && p.buf[at-p.base-1] != '\n' && p.buf[at-p.base-1] != '\r':
			return true // in its indentation
		}
	}
	return false
}

// skip is the first place from a place on, up to a limit, that is not blank; the limit if there is none.
func (p *passage) skip(from, limit int) int {
	for limit = min(limit, p.end()); from < limit; {
		r, n := utf8.DecodeRune(p.buf[from-p.base:])
		if !unicode.IsSpace(r) {
			break
		}
		from += n
	}
	return from
}

// forced tells that a boundary of a chunk, which is marked as a forced split, at a place is the one that is forced: it goes through an
// atom, a word, or a run of characters without blank space that is over a cap.
func (p *passage) forced(at, from int, caps []connector.Cap) bool {
	if at <= p.base || at >= p.end() {
		return false
	}
	if p.insideAtom(at) {
		return true
	}
	most := 16 // of the run behind, no more is looked at than fills a cap
	for _, c := range caps {
		most = max(most, 8*c.Max)
	}
	before, after := p.slice(from, at), p.slice(at, at+most)
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(after)
	if before == "" || blank(a) || blank(b) {
		return false
	}
	if !wordBoundary(a, b) || inNumber(before+after[:min(len(after), 16)], len(before)) {
		return true
	}
	lo, hi := len(before), 0
	for lo > 0 {
		r, n := utf8.DecodeLastRuneInString(before[:lo])
		if blank(r) {
			break
		}
		lo -= n
	}
	for hi < len(after) {
		r, n := utf8.DecodeRuneInString(after[hi:])
		if blank(r) {
			break
		}
		hi += n
	}
	run := before[lo:] + after[:hi]
	for _, c := range caps {
		if c.Counter.Count(run) > c.Max {
			return true
		}
	}
	return false
}
