package pipeline

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// Query-time chunking: documents are stored whole, and those that answer a question best are cut when it is asked. Their chunks are embedded,
// ranked against the question and kept, so that the next question pays only for what no question has met before.

// wholePieces is how many pieces of documents are looked at, for each document that is cut: one over the embedder's limit is several.
const wholePieces = 4

// excerpt is a chunk that a question made.
type excerpt struct {
	hit   *connector.Hit
	chunk connector.Chunk // its spans are those of the document
	text  string          // what is embedded
	score float64
}

// postChunked answers from chunks of the documents that answer best.
func (p *Pipeline) postChunked(ctx context.Context, coll connector.Collection, q connector.Query) ([]Answer, error) {
	conf := p.file.PostChunking
	strategy, err := p.openStrategy(ctx, connector.Choice{Kind: conf.Strategy.Kind, Config: conf.Strategy.Config})
	if err != nil {
		return nil, err
	}
	k := q.K
	q.K = max(k, conf.Documents*wholePieces)
	hits, err := p.search(ctx, coll, q)
	if err != nil {
		return nil, err
	}
	var list []*excerpt
	docs := map[string]bool{}
	for i := range hits {
		h := &hits[i]
		if !docs[h.DocID] && len(docs) == conf.Documents {
			continue
		}
		docs[h.DocID] = true
		cut, err := p.excerpts(ctx, strategy, h)
		if err != nil {
			return nil, err
		}
		list = append(list, cut...)
	}
	if err := p.rank(ctx, q.Vector, list); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *excerpt) int { return cmp.Compare(b.score, a.score) })
	out := make([]Answer, 0, k)
	for _, x := range list[:min(k, len(list))] {
		out = append(out, p.excerptAnswer(x, conf.Strategy.Kind))
	}
	return out, nil
}

// excerpts cuts what a hit holds, if that was stored whole; else the hit stands for itself.
func (p *Pipeline) excerpts(ctx context.Context, s connector.Strategy, h *connector.Hit) ([]*excerpt, error) {
	if text(h.Metadata["strategy"]) != "whole" || len(h.Spans) != 1 {
		return []*excerpt{{hit: h, chunk: connector.Chunk{Text: h.Content, Context: h.Context, Spans: h.Spans}, text: h.EmbedText}}, nil
	}
	doc := &connector.Document{Path: h.Path, URI: text(h.Metadata["uri"]), MediaType: text(h.Metadata["media_type"]), Size: int64(len(h.Content))}
	var out []*excerpt
	for c, err := range s.Chunks(ctx, doc, p.elementsOf(ctx, doc, h.Content)) {
		if err != nil {
			return nil, err
		}
		if c.StoreOnly {
			continue // the document is the parent
		}
		x := &excerpt{hit: h, chunk: c, text: c.EmbedText()}
		x.chunk.Spans = slices.Clone(c.Spans)
		for i := range x.chunk.Spans {
			x.chunk.Spans[i].Start += h.Spans[0].Start
			x.chunk.Spans[i].End += h.Spans[0].Start
		}
		out = append(out, x)
	}
	return out, nil
}

// elementsOf parses a text that was stored: by the parser of its document, if the parsed text of that is the text itself, as it is of Markdown,
// source code and tables; else, as of HTML, it is plain text.
func (p *Pipeline) elementsOf(ctx context.Context, doc *connector.Document, content string) iter.Seq2[connector.Element, error] {
	f, _ := detectFacts(doc, []byte(content[:min(len(content), headBytes)]), 0)
	for _, kind := range []string{f.Parser, "text"} {
		parser := p.router.parsers[kind]
		if parser == nil {
			continue
		}
		var els []connector.Element
		var all strings.Builder
		var failed error
		for el, err := range parser.Parse(ctx, doc, strings.NewReader(content)) {
			if failed = err; err != nil {
				break
			}
			if els = append(els, el); el.Kind != connector.KindDropped {
				all.WriteString(el.Text)
			}
		}
		if failed == nil && all.String() == content {
			return func(yield func(connector.Element, error) bool) {
				for _, el := range els {
					if !yield(el, nil) {
						return
					}
				}
			}
		}
	}
	return func(yield func(connector.Element, error) bool) {
		yield(connector.Element{Kind: connector.KindText, Text: content, Span: connector.Span{End: len(content)}}, nil)
	}
}

// rank gives excerpts the cosine of their vectors and the question's.
func (p *Pipeline) rank(ctx context.Context, question []float32, list []*excerpt) error {
	at := map[string]int{}
	var texts []string
	for _, x := range list {
		if _, ok := at[x.text]; !ok {
			at[x.text] = len(texts)
			texts = append(texts, x.text)
		}
	}
	vectors, err := p.keptVectors(ctx, texts)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.score = cosine(question, vectors[at[x.text]]); math.IsNaN(x.score) { // a vector of nothing but zeros
			x.score = 0
		}
	}
	return nil
}

// keptVectors are the vectors of texts: those that the ledger's store has from there, the others from the embedder, and kept there. While another
// run writes the ledger it is only read.
func (p *Pipeline) keptVectors(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	lock, err := ledger.Acquire(LedgerPath(p.file), "kbsync query")
	locked := errors.As(err, new(*ledger.LockedError))
	if err != nil && !locked {
		return nil, err
	}
	if !locked {
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	l, err := p.openLedger(ctx, locked)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return p.lookUp(ctx, l, texts, !locked)
}

// lookUp takes vectors from a ledger's store, and embeds what it lacks.
func (p *Pipeline) lookUp(ctx context.Context, l *ledger.Ledger, texts []string, keep bool) ([][]float32, error) {
	tokens, err := p.counter("model")
	if err != nil {
		return nil, err
	}
	entries, hashes := make([]ledger.Entry, len(texts)), make([]ledger.Hash, len(texts))
	for i, t := range texts {
		x := wantOf(&p.model, t, tokens)
		entries[i], hashes[i] = ledger.Entry{Hash: x.hash, Text: t}, x.hash
		if x.group != nil { // a vector in a context, here of nothing else, stands apart from the text
			entries[i].Text = ""
		}
	}
	stored, err := l.Lookup(ctx, p.model.Identity(), hashes)
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	var missing []string
	var at []int
	for i := range stored {
		if vectors[i] = stored[i].Vector; vectors[i] == nil {
			missing, at = append(missing, texts[i]), append(at, i)
		}
	}
	if len(missing) == 0 {
		return vectors, nil
	}
	v, err := p.vectorizer(ctx)
	if err != nil {
		return nil, err
	}
	made, err := v.Vectors(ctx, missing)
	if err != nil {
		return nil, err
	}
	fresh := make([]ledger.Entry, len(missing))
	for n, i := range at {
		vectors[i], entries[i].Vector = made[n], made[n]
		fresh[n] = entries[i]
	}
	if keep {
		_, err = l.Put(ctx, p.model.Identity(), fresh)
	}
	return vectors, err
}

// excerptAnswer is how an excerpt is printed. Its id is made as those of stored chunks are; no chunk of that id is in the sink.
func (p *Pipeline) excerptAnswer(x *excerpt, kind string) Answer {
	a := answer(x.score, &x.hit.Record)
	if x.text == x.hit.EmbedText {
		return a
	}
	docID, err := connector.ParseUUID(x.hit.DocID)
	if err == nil {
		hash := textHash(x.text)
		a.ChunkID = connector.ChunkIDByContent(p.file.Name, docID, hex.EncodeToString(hash[:]), 0).String()
	}
	a.Content, a.Matched = x.chunk.Text, []string{x.hit.ChunkID}
	a.Metadata = maps.Clone(a.Metadata)
	maps.Copy(a.Metadata, x.chunk.Metadata)
	maps.DeleteFunc(a.Metadata, func(key string, _ any) bool {
		return slices.Contains([]string{"chunk_index", "total_chunks", "is_first_chunk", "is_last_chunk", "prev_id", "next_id", "parent_id", "content_hash"}, key)
	})
	if len(x.chunk.Headings) > 0 {
		a.Section = strings.Join(x.chunk.Headings, " > ")
		a.Metadata["section"], a.Metadata["headings"] = a.Section, x.chunk.Headings
	}
	if x.chunk.Page > 0 {
		a.Page = x.chunk.Page
		a.Metadata["page"] = a.Page
	}
	start, end := x.chunk.Spans[0].Start, x.chunk.Spans[len(x.chunk.Spans)-1].End
	base := x.hit.Spans[0].Start
	a.LineStart += strings.Count(x.hit.Content[:start-base], "\n")
	a.Metadata["line_start"], a.Metadata["line_end"] = a.LineStart, a.LineStart+strings.Count(x.hit.Content[start-base:max(end-1, start)-base], "\n")
	a.Metadata["strategy"], a.Metadata["span_start"], a.Metadata["span_end"] = kind, start, end
	return a
}
