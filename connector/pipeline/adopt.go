package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
)

// AdoptOptions say what to take over and how to read it.
type AdoptOptions struct {
	// From is a configuration whose sink holds the collection; nil means the configured sink.
	From *config.File
	// Collection is the collection or table that kbsync did not write.
	Collection string
	// Content and Path name the fields that hold a chunk's text and its document; dots reach into objects. An empty Path makes each
	// item a document of its own, by its id.
	Content string
	Path    string
	// Source is the source that the documents belong to.
	Source string
	// VectorsOnly fills the store of texts and vectors and writes nothing to the sink.
	VectorsOnly bool
	// NoCheck leaves out the comparison of some vectors with those that the configured embedder makes of the same texts.
	NoCheck bool
}

// AdoptReport is the result of Adopt.
type AdoptReport struct {
	Items     int `json:"items"`
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`     // written to the sink, or held by it from an earlier attempt
	Vectors   int `json:"vectors"`    // stored, so that their texts need not be embedded
	Repeated  int `json:"repeated"`   // items that repeat the text of another one of their document
	Held      int `json:"held"`       // items of documents that a sync wrote already; only their vectors were taken
	NoText    int `json:"no_text"`    // items without the content field
	BadVector int `json:"bad_vector"` // vectors of another length, or that hold NaN
	Checked   int `json:"checked"`
}

// adoptSample is how many vectors are compared with the embedder's own, and adoptLikeness the cosine that they must reach.
const (
	adoptSample   = 4
	adoptLikeness = 0.98
)

// adoptedNote is the ledger's note on a document that was adopted and that no sync has looked at yet.
const adoptedNote = "adopted"

// Adopt brings in the texts and vectors of a collection that kbsync did not write. The vectors go to the store, under the configured
// model, so that nobody embeds these texts again; the chunks go to the pipeline's own collection, as documents of a source, where the
// next sync replaces them by its own cut of the same documents. The foreign collection is only read. It may be run again.
func (p *Pipeline) Adopt(ctx context.Context, opts AdoptOptions) (r AdoptReport, err error) {
	from := p.sink
	if opts.From != nil {
		if opts.From.Sink == nil {
			return r, UsageErrorf("the file of --from names no sink")
		}
		other := *p.file
		other.Sink = opts.From.Sink
		q := &Pipeline{file: &other, reg: p.reg, opts: p.opts, log: p.log}
		q.opts.WrapSink = nil
		if err := q.openSink(ctx); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, q.sink.Close()) }()
		from = q.sink
	}
	importer, ok := from.(connector.Importer)
	if !ok {
		return r, UsageErrorf("the sink %s cannot read collections that kbsync did not write", from.Target().Kind)
	}
	if p.model.Contextual {
		return r, UsageErrorf("the model %s gives a text a vector that depends on its neighbours, which a collection that kbsync did not write does not tell: "+
			"its vectors cannot be taken over. Sync the documents instead", p.model.Identity())
	}
	if opts.Content == "" {
		return r, UsageErrorf("name the field that holds the text: --field content=NAME")
	}
	if opts.Source == "" && !opts.VectorsOnly {
		return r, UsageErrorf("name the source that the documents belong to, or take the vectors only")
	}
	err = p.locked(ctx, "", "kbsync adopt", func(l *ledger.Ledger) error {
		a := &adopter{p: p, l: l, opts: opts, r: &r}
		return a.run(ctx, importer)
	})
	return r, err
}

type adopter struct {
	p    *Pipeline
	l    *ledger.Ledger
	o    *opened
	w    *writer
	opts AdoptOptions
	r    *AdoptReport
	page []adoptItem
}

type adoptItem struct {
	path, text string
	vector     []float32
}

func (a *adopter) run(ctx context.Context, importer connector.Importer) error {
	if !a.opts.VectorsOnly {
		var err error
		if a.o, err = a.p.openTarget(ctx, a.l, false, false); err != nil {
			return err
		}
		a.w = &writer{p: a.p, l: a.l, t: a.o.target, coll: a.o.coll, caps: a.p.sink.Capabilities(), identity: a.p.model.Identity(), stamp: a.o.stamp}
	}
	a.p.opts.Progress.Stage("reading " + a.opts.Collection)
	for f, err := range importer.Foreign(ctx, a.opts.Collection) {
		if err != nil {
			return fmt.Errorf("read %s: %w", a.opts.Collection, err)
		}
		a.r.Items++
		if it, ok := a.item(&f); ok {
			a.page = append(a.page, it)
		}
		if len(a.page) >= batchPieces {
			if err := a.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := a.flush(ctx); err != nil || a.opts.VectorsOnly {
		return err
	}
	a.p.opts.Progress.Stage("writing the chunks")
	return a.write(ctx)
}

// item reads the mapped fields.
func (a *adopter) item(f *connector.Foreign) (it adoptItem, ok bool) {
	content, _ := dig(f.Fields, a.opts.Content).(string)
	if strings.TrimSpace(content) == "" || !utf8.ValidString(content) {
		a.r.NoText++
		return it, false
	}
	it.text, it.path = content, f.ID
	if a.opts.Path != "" {
		if s, ok := dig(f.Fields, a.opts.Path).(string); ok && strings.Trim(s, "/") != "" {
			it.path = s
		}
	}
	it.path = strings.TrimLeft(it.path, "/")
	switch {
	case f.Vector == nil:
	case checkVector(f.Vector, a.p.model.Dimensions) != nil:
		a.r.BadVector++
	default:
		it.vector = f.Vector
	}
	return it, true
}

// dig finds a value by a path with dots; a field whose own name has dots is found first.
func dig(m map[string]any, at string) any {
	if v, ok := m[at]; ok {
		return v
	}
	head, rest, more := strings.Cut(at, ".")
	inner, ok := m[head].(map[string]any)
	if !more || !ok {
		return nil
	}
	return dig(inner, rest)
}

// flush stores a page of texts and vectors, and notes their chunks as about to be written.
func (a *adopter) flush(ctx context.Context) error {
	if len(a.page) == 0 {
		return nil
	}
	if err := a.check(ctx); err != nil {
		return err
	}
	entries := make([]ledger.Entry, len(a.page))
	for i := range a.page {
		entries[i] = ledger.Entry{Hash: textHash(a.page[i].text), Text: a.page[i].text, Vector: a.page[i].vector}
		if a.page[i].vector != nil {
			a.r.Vectors++
		}
	}
	numbers, err := a.l.Put(ctx, a.p.model.Identity(), entries)
	if err != nil {
		return err
	}
	if !a.opts.VectorsOnly {
		if err := a.note(ctx, entries, numbers); err != nil {
			return err
		}
	}
	a.page = a.page[:0]
	return nil
}

// note commits which chunks are about to be written.
func (a *adopter) note(ctx context.Context, entries []ledger.Entry, numbers []int64) error {
	var adopted []ledger.Adopted
	fresh := map[string]ledger.Doc{} // documents of this page that the ledger does not have yet
	seen := map[connector.UUID]bool{}
	for i := range a.page {
		it := &a.page[i]
		d, known := fresh[it.path]
		isNew := false
		if !known {
			var err error
			if d, known, err = a.o.target.Doc(ctx, a.opts.Source, it.path); err != nil {
				return err
			}
			if !known {
				d = ledger.Doc{N: a.l.NextDoc(), Source: a.opts.Source, Path: it.path, Note: adoptedNote, ID: connector.DocID(a.p.file.Name, a.opts.Source, it.path)}
				fresh[it.path], isNew = d, true
				a.r.Documents++
			}
		}
		if d.Note != adoptedNote {
			a.r.Held++
			continue
		}
		id := connector.ChunkIDByContent(a.p.file.Name, d.ID, fmt.Sprintf("%x", entries[i].Hash), 0)
		have, exists, err := a.o.target.Chunk(ctx, ledger.Ref{Doc: d.N, ID: id})
		if err != nil {
			return err
		}
		switch {
		case seen[id]:
			a.r.Repeated++
			continue
		case exists && have.State == ledger.ChunkLive:
			a.r.Chunks++
			continue
		}
		seen[id] = true
		adopted = append(adopted, ledger.Adopted{Doc: d, New: isNew, Chunk: ledger.Chunk{ID: id, Index: a.r.Items - len(a.page) + i, Text: numbers[i], State: ledger.ChunkWriting}})
	}
	return a.o.target.Adopt(ctx, adopted)
}

// check compares some vectors with those that the embedder makes of the same texts: vectors of another model are never taken for its own.
func (a *adopter) check(ctx context.Context) error {
	if a.opts.NoCheck || a.r.Checked > 0 {
		return nil
	}
	var texts []string
	var vectors [][]float32
	for i := range a.page {
		if a.page[i].vector != nil && len(texts) < adoptSample {
			texts, vectors = append(texts, a.page[i].text), append(vectors, a.page[i].vector)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	var made [][]float32
	err := a.p.retry(ctx, "embed a sample", func() (err error) {
		made, err = a.p.embedder.Embed(ctx, texts)
		return err
	})
	if err != nil {
		return err
	}
	for i := range texts {
		if like := cosine(made[i], vectors[i]); like < adoptLikeness {
			return &GuardError{fmt.Sprintf("the vectors of %s were not made by %s: its own vector of %.60q has a cosine of %.3f with the stored one. "+
				"Configure the embedder that made them, or use --no-check if you know better", a.opts.Collection, a.p.model.Identity(), texts[i], like)}
		}
	}
	a.r.Checked = len(texts)
	return nil
}

func cosine(a, b []float32) float64 {
	var dot, na, nb float64
	for i := range a {
		if i < len(b) {
			dot, na, nb = dot+float64(a[i])*float64(b[i]), na+float64(a[i])*float64(a[i]), nb+float64(b[i])*float64(b[i])
		}
	}
	return dot / math.Sqrt(na*nb)
}

// write brings the noted chunks into the sink, document by document.
func (a *adopter) write(ctx context.Context) error {
	for d, err := range a.o.target.Docs(ctx, a.opts.Source) {
		if err != nil {
			return err
		}
		if d.State != ledger.DocDirty || d.Note != adoptedNote {
			continue
		}
		chunks, err := a.o.target.Chunks(ctx, d.N)
		if err != nil {
			return err
		}
		slices.SortFunc(chunks, func(x, y ledger.Chunk) int { return x.Index - y.Index })
		if err := a.document(ctx, &d, chunks); err != nil {
			return err
		}
	}
	return a.p.retry(ctx, "flush the sink", func() error { return a.o.coll.Flush(ctx) })
}

func (a *adopter) document(ctx context.Context, d *ledger.Doc, chunks []ledger.Chunk) error {
	b := &base{pipeline: a.p.file.Name, source: d.Source, path: d.Path, docID: d.ID.String(), total: len(chunks), metadata: map[string]any{
		"source": d.Source, "path": d.Path, "uri": "", "title": strings.TrimSuffix(path.Base(d.Path), path.Ext(d.Path)), "media_type": "", "language": "",
		"strategy": "adopted", "doc_id": d.ID.String(), "pipeline": a.p.file.Name, "modified_at": time.Unix(0, 0).UTC().Format(time.RFC3339Nano), "adopted": true,
	}}
	var items []item
	flush := func() error {
		if err := a.w.upsert(ctx, items); err != nil {
			return err
		}
		var stored []ledger.Adopted
		for i := range items {
			if err := items[i].doc.failure(); err != nil {
				return fmt.Errorf("%s: %w", d.Path, err)
			}
			c := items[i].write.chunk(ledger.ChunkLive)
			stored = append(stored, ledger.Adopted{Doc: *d, Chunk: c})
		}
		items = items[:0]
		a.r.Chunks += len(stored)
		return a.o.target.Adopt(ctx, stored)
	}
	for i := range chunks {
		c := &chunks[i]
		if c.State == ledger.ChunkLive {
			continue
		}
		entries, err := a.l.Entries(ctx, a.p.model.Identity(), []int64{c.Text})
		if err != nil {
			return err
		}
		e := &entries[0]
		pc := &piece{ID: c.ID, Content: e.Text, Spans: []connector.Span{}, Hash: e.Hash[:], Chars: utf8.RuneCountInString(e.Text)}
		rec := b.record(pc, place{i, neighbour(chunks, i-1), neighbour(chunks, i+1)})
		x := &write{record: rec, id: c.ID, index: i, payload: payloadHash(&rec), want: &want{number: c.Text}}
		items = append(items, item{connector.Point{Record: rec, Vector: e.Vector}, x, &docWrite{doc: *d}})
		if len(items) >= batchPieces {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(items) == 0 {
		return nil
	}
	return flush()
}

func neighbour(chunks []ledger.Chunk, i int) string {
	if i < 0 || i >= len(chunks) {
		return ""
	}
	return chunks[i].ID.String()
}
