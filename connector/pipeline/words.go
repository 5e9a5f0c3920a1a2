package pipeline

import (
	"context"
	"slices"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/keywords"
	"github.com/kbsync/kbsync/internal/neardup"
)

// keywordsMetadata is the metadata key of a chunk's keywords.
const keywordsMetadata = "keywords"

// words finds keywords, for all documents of a pipeline. A nil one finds none and costs nothing.
type words struct {
	top  int
	open func() (*keywords.Extractor, error) // once, by the first document
}

func newWords(file *config.File) (*words, error) {
	k := file.Keywords
	if k == nil {
		return nil, nil
	}
	if k.Segmenter == "jieba-like" {
		return nil, UsageErrorf("keywords.segmenter: this build has no dictionary of Chinese words: choose none, which finds them by statistics of the document")
	}
	return &words{top: k.Top, open: sync.OnceValues(func() (*keywords.Extractor, error) { return keywords.New(k.Top, k.Method) })}, nil
}

// crossGlobal extends the part of every fingerprint that no rule changes by what near copies and keywords are, where they are asked for.
func crossGlobal(global string, file *config.File) string {
	if file.Dedup == "near" {
		global = digest(global, "near", neardup.Version, nearThreshold(file))
	}
	if k := file.Keywords; k != nil {
		global = digest(global, "keywords", keywords.Version, k.Top, k.Method, k.Segmenter)
	}
	return global
}

// docWords finds the keywords of one document's chunks. A nil one finds none.
type docWords struct{ doc *keywords.Document }

func (w *words) document() (*docWords, error) {
	if w == nil {
		return nil, nil
	}
	e, err := w.open()
	if err != nil {
		return nil, err
	}
	return &docWords{e.Document()}, nil
}

// add learns from a chunk. Chunks that are only stored are parts of others, and nobody searches for them.
func (d *docWords) add(pc *piece) {
	if d != nil && !pc.StoreOnly {
		d.doc.Add(pc.Content)
	}
}

// find gives a chunk its keywords, once every chunk of the document was added.
func (d *docWords) find(pc *piece) {
	if d == nil || pc.StoreOnly {
		return
	}
	pc.Keywords = d.doc.Keywords(pc.Content, pc.Headings)
}

// of are the keywords that the index keeps of a window's chunks.
func (w *words) of(win *window) map[connector.UUID][]string {
	if w == nil {
		return nil
	}
	m := map[connector.UUID][]string{}
	for _, list := range [][]*write{win.writes, win.moves} {
		for _, x := range list {
			m[x.id] = indexed(&x.record)
		}
	}
	return m
}

// indexed are the keys under which the index keeps a record.
func indexed(r *connector.Record) []string {
	var keys []string
	add := func(word string) {
		if key := keywords.Key(word); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, word := range keywordsOf(r) {
		add(word)
	}
	return keys
}

// keywordsOf are the keywords of a record, from this program or read back from a sink.
func keywordsOf(r *connector.Record) []string {
	switch list := r.Metadata[keywordsMetadata].(type) {
	case []string:
		return list
	case []any:
		out := make([]string, 0, len(list))
		for _, v := range list {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// fillKeywords reads the keywords of the chunks that the sink holds back from their metadata, where the index lacks them: it was lost, or
// keywords were not asked for in between.
func (p *Pipeline) fillKeywords(ctx context.Context, o *opened) error {
	if p.router.words == nil {
		return nil
	}
	if ok, err := o.target.HasKeywords(ctx); ok || err != nil {
		return err
	}
	m := &mover{p: p, from: o}
	docs := map[[2]string]int64{}
	var page []ledger.Keyworded
	flush := func() error {
		err := o.target.SetKeywords(ctx, page)
		page = page[:0]
		return err
	}
	for pt, err := range m.scan(ctx) {
		if err != nil {
			return err
		}
		keys := indexed(&pt.Record)
		id, err := connector.ParseUUID(pt.ChunkID)
		if err != nil || len(keys) == 0 {
			continue // not written by kbsync, or nothing to keep
		}
		at := [2]string{pt.Source, pt.Path}
		n, ok := docs[at]
		if !ok {
			d, found, err := o.target.Doc(ctx, pt.Source, pt.Path)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if len(docs) >= rebuildCache {
				clear(docs)
			}
			n = d.N
			docs[at] = n
		}
		if page = append(page, ledger.Keyworded{Ref: ledger.Ref{Doc: n, ID: id}, Keywords: keys}); len(page) >= batchPieces {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return o.target.KeywordsComplete(ctx)
}
