package strategies

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sentences"
)

// chunkSentences makes a chunk of every sentence, with the headings above it. A heading is part of the first sentence below it, a sentence
// shorter than min_chars joins the one behind it, one over the cap is cut, and whatever else than running text begins (a heading, a
// list, a table) begins a sentence. It holds a window of the text.
func chunkSentences(ctx context.Context, b *budget, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		s := &sentenceStream{stream: stream{b: b, c: textCut{cutting: cutting{seps: sentenceSeparators()}}, yield: yield}, kind: connector.KindText}
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			if el.Kind != connector.KindText || s.kind != connector.KindText && s.kind != connector.KindHeading {
				s.heads = append(s.heads, el.Span.Start)
			} else if s.kind == connector.KindHeading {
				s.below = append(s.below, el.Span.Start)
			}
			s.kind = el.Kind
			s.add(&el)
			if s.waiting >= max(windowBytes, len(s.text)-s.pos) && !s.process(false) {
				return
			}
		}
		s.process(true)
	}
}

// sentenceStream is a stream whose packing starts afresh at every sentence.
type sentenceStream struct {
	stream
	kind  connector.Kind // of the latest element
	heads []int          // where elements begin that no sentence runs into, in the parsed text
	below []int          // where text begins below a heading, which is part of its first sentence
	begun int            // where the sentence begins that is being read, in the parsed text
}

// process cuts as far as the text at hand decides; all of it if final. It returns false once the consumer wants no more.
func (s *sentenceStream) process(final bool) bool {
	s.gather()
	m, c := s.b.measure(s.text), s.c
	c.atoms = s.fitting(m)
	sure := s.findSentences(final)
	for s.pos < len(s.text) && !s.closed {
		for len(s.starts) > 0 && (s.starts[0] <= s.base+s.pos || c.insideAtom(s.starts[0]-s.base)) {
			s.starts = s.starts[1:]
		}
		hi, whole := sure, final
		if len(s.starts) > 0 && s.starts[0]-s.base <= sure {
			hi, whole = s.starts[0]-s.base, true
		}
		if hi <= s.pos || !s.chunk(m, c, hi, whole) {
			break
		}
	}
	return !s.closed
}

// findSentences finds where sentences begin. It returns up to where all of them are known.
func (s *sentenceStream) findSentences(final bool) int {
	for s.scan.pos < len(s.text) {
		far := min(len(s.text), s.scan.pos+longest)
		if !final && far+4*anchorBytes > len(s.text) {
			break
		}
		next := sentences.Next(s.text[:min(len(s.text), far+4*anchorBytes)], s.scan.pos)
		stop := min(next, far)
		for len(s.heads) > 0 && s.heads[0]-s.base < stop {
			s.begin(s.heads[0], true)
			s.heads = s.heads[1:]
		}
		if next < len(s.text) && next <= far {
			s.begin(s.base+next, false)
		}
		s.scan.pos = stop
	}
	slices.Sort(s.starts)
	s.starts = slices.Compact(s.starts)
	if final {
		return len(s.text)
	}
	return s.scan.pos
}

// begin notes that a sentence begins at a place of the parsed text, unless the one before is too short to stand alone.
func (s *sentenceStream) begin(at int, always bool) {
	if !always {
		for len(s.below) > 0 && s.below[0] <= at {
			first := s.below[0]
			if s.below = s.below[1:]; first == at {
				return
			}
		}
		text := strings.TrimSpace(s.text[max(s.begun-s.base, 0) : at-s.base])
		if len(text) < 4*s.b.minChars && chars(text, s.b.minChars) < s.b.minChars {
			return
		}
	}
	s.begun = at
	s.starts = append(s.starts, at)
}
