package strategies

import (
	"context"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// langChain cuts as RecursiveCharacterTextSplitter of langchain-text-splitters 1.1 does, to the character: the first
// separator that occurs splits; splits shorter than the size are merged, with an overlap of whole splits; the others are split by the
// separators that follow. It holds the whole text. A split that no separator divides stays whole, whatever its size.
type langChain struct {
	b    *budget
	seps []string
	keep bool
}

var _ connector.Strategy = (*langChain)(nil)

func newLangChain(b *budget, seps []string, keep bool) *langChain {
	if len(seps) == 0 {
		seps = []string{"\n\n", "\n", " ", ""}
	}
	return &langChain{b: b, seps: seps, keep: keep}
}

// Info describes it. It promises no cap: lengths are those of splits, which need not add up in tokens.
func (s *langChain) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "recursive/langchain", Version: 1, Exempt: true}
}

// Chunks gathers the text and cuts it.
func (s *langChain) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return wholeText(ctx, elements, func(text string, yield func(connector.Chunk, error) bool) {
		run := &langChainRun{langChain: s, m: s.b.measure(text), yield: yield}
		run.split(connector.Span{End: len(text)}, s.seps)
	})
}

// wholeText gathers the parsed text of a document for a strategy that needs it all at once.
func wholeText(ctx context.Context, elements iter.Seq2[connector.Element, error], cut func(text string, yield func(connector.Chunk, error) bool)) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		var parts []string
		for el, err := range textual(ctx, elements) {
			if err != nil {
				yield(connector.Chunk{}, err)
				return
			}
			parts = append(parts, el.Text)
		}
		cut(strings.Join(parts, ""), yield)
	}
}

type langChainRun struct {
	*langChain
	m     *measure
	yield func(connector.Chunk, error) bool
	done  bool
}

// split is one level of the recursion.
func (r *langChainRun) split(span connector.Span, seps []string) {
	text := r.m.text[span.Start:span.End]
	sep, rest := seps[len(seps)-1], []string(nil)
	for k, s := range seps {
		if s == "" || strings.Contains(text, s) {
			sep = s
			if s != "" {
				rest = seps[k+1:]
			}
			break
		}
	}
	joiner := sep
	if r.keep {
		joiner = ""
	}
	var good []connector.Span
	for _, s := range r.splits(span, sep) {
		if r.m.size(s.Start, s.End) < r.b.caps[0].Max {
			good = append(good, s)
			continue
		}
		r.merge(good, joiner)
		good = good[:0]
		if len(rest) == 0 {
			r.emit([]connector.Span{s}, "", false)
		} else {
			r.split(s, rest)
		}
		if r.done {
			return
		}
	}
	r.merge(good, joiner)
}

// splits divides a range at every occurrence of a separator, which then starts the next split or is dropped. Empty splits are left out.
func (r *langChainRun) splits(span connector.Span, sep string) []connector.Span {
	var out []connector.Span
	add := func(lo, hi int) {
		if lo < hi {
			out = append(out, connector.Span{Start: lo, End: hi})
		}
	}
	lo := span.Start
	if sep == "" {
		for lo < span.End {
			_, n := utf8.DecodeRuneInString(r.m.text[lo:span.End])
			add(lo, lo+n)
			lo += n
		}
		return out
	}
	for from := lo; ; {
		k := strings.Index(r.m.text[from:span.End], sep)
		if k < 0 {
			add(lo, span.End)
			return out
		}
		add(lo, from+k)
		from += k + len(sep)
		lo = from
		if r.keep {
			lo -= len(sep)
		}
	}
}

// merge packs splits up to the size. When one more is too much, what was gathered is a chunk, and splits leave it from the
// front until the rest is no longer than the overlap and leaves room for the next.
func (r *langChainRun) merge(splits []connector.Span, joiner string) {
	if r.done || len(splits) == 0 {
		return
	}
	size, joint := r.b.caps[0].Max, r.b.caps[0].Counter.Count(joiner)
	lengths := make([]int, len(splits))
	first, total := 0, 0
	jointIf := func(n, least int) int {
		if n > least {
			return joint
		}
		return 0
	}
	for k, s := range splits {
		lengths[k] = r.m.size(s.Start, s.End)
		if held := k - first; held > 0 && total+lengths[k]+joint > size {
			r.emit(splits[first:k], joiner, true)
			for total > r.b.overlap || total > 0 && total+lengths[k]+jointIf(k-first, 0) > size {
				total -= lengths[first] + jointIf(k-first, 1)
				first++
			}
		}
		total += lengths[k] + jointIf(k+1-first, 1)
	}
	r.emit(splits[first:], joiner, true)
}

// emit makes a chunk of splits and of the separators between them; blank space at both ends is stripped.
func (r *langChainRun) emit(splits []connector.Span, joiner string, strip bool) {
	if r.done || len(splits) == 0 {
		return
	}
	var spans []connector.Span
	for k, s := range splits {
		if k+1 < len(splits) {
			s.End += len(joiner)
		}
		if n := len(spans); n > 0 && spans[n-1].End == s.Start {
			spans[n-1].End = s.End
		} else {
			spans = append(spans, s)
		}
	}
	if strip {
		spans = stripSpans(r.m.text, spans)
	}
	var text string
	for k, s := range spans {
		if k == 0 {
			text = r.m.text[s.Start:s.End]
		} else {
			text += r.m.text[s.Start:s.End]
		}
	}
	if strings.TrimFunc(text, pythonSpace) == "" {
		return
	}
	r.done = !r.yield(connector.Chunk{Text: text, Spans: spans}, nil)
}

// stripSpans takes blank space off the ends of a list of ranges.
func stripSpans(text string, spans []connector.Span) []connector.Span {
	for len(spans) > 0 {
		s := &spans[0]
		s.Start = s.End - len(strings.TrimLeftFunc(text[s.Start:s.End], pythonSpace))
		if s.Start < s.End {
			break
		}
		spans = spans[1:]
	}
	for len(spans) > 0 {
		s := &spans[len(spans)-1]
		s.End = s.Start + len(strings.TrimRightFunc(text[s.Start:s.End], pythonSpace))
		if s.Start < s.End {
			break
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// pythonSpace is Python's str.isspace.
func pythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }
