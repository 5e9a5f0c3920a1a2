package wordpieces

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Prefixed gives every text of t a prefix, such as the "passage: " that some models want before what they embed. Ids and counts are
// those of prefix+text; spans refer to the text alone, so that pieces of the prefix have empty ones. The name as a counter tells the
// prefix. An empty prefix returns t.
//
// Behind a prefix that ends in white space a text has the pieces that it has alone. Only a text of which normalisation leaves
// nothing has one more with Unigram: the white space itself, which nothing follows.
func Prefixed(t Tokenizer, prefix string) Tokenizer {
	if prefix == "" {
		return t
	}
	if outer, ok := t.(*prefixed); ok {
		t, prefix = outer.t, outer.prefix+prefix
	}
	// Half a character at the end must not become a whole one with a text: it counts as U+FFFD as it stands.
	prefix = whole(prefix)
	p := &prefixed{t: t, prefix: prefix, tail: prefix}
	if s, ok := t.(splitter); ok {
		p.s = s
		s.starts(prefix, func(at, pieces int) { p.tail, p.head = prefix[at:], pieces })
	}
	return p
}

// whole replaces what isn't UTF-8 as tokenizers do, byte by byte.
func whole(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

type prefixed struct {
	t      Tokenizer
	prefix string
	s      splitter // t, if it cuts words on their own
	head   int      // the pieces of the prefix before tail
	tail   string   // the last word of the prefix, which a text may go on with
}

// Name implements [connector.Counter].
func (p *prefixed) Name() string { return p.t.Name() + "+" + strconv.Quote(p.prefix) }

// Specials implements [Tokenizer]. The prefix is not among them.
func (p *prefixed) Specials() int { return p.t.Specials() }

// Encode implements [Tokenizer].
func (p *prefixed) Encode(text string, limit int) ([]int32, []connector.Span) {
	ids, spans := p.t.Encode(p.prefix+text, limit)
	for i, s := range spans {
		spans[i] = connector.Span{Start: max(0, s.Start-len(p.prefix)), End: max(0, s.End-len(p.prefix))}
	}
	return ids, spans
}

// AppendIDs implements [Tokenizer].
func (p *prefixed) AppendIDs(ids []int32, text string, limit int) []int32 {
	return p.t.AppendIDs(ids, p.prefix+text, limit)
}

// Count implements [connector.Counter].
func (p *prefixed) Count(text string) int {
	if p.s == nil {
		return p.t.Count(p.prefix + text)
	}
	return p.head + p.s.pieces(p.tail+text) + p.s.Specials()
}

// Ruler implements [connector.Counter].
func (p *prefixed) Ruler(text string) connector.Ruler {
	if p.s == nil {
		return slowRuler{p, text}
	}
	r := newRuler(p.s, text)
	r.head, r.tail = p.head, p.tail
	return r
}

// slowRuler measures every range anew.
type slowRuler struct {
	c    connector.Counter
	text string
}

func (r slowRuler) Count(i, j int) int { return r.c.Count(r.text[i:j]) }
