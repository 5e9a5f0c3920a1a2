package ledger

import (
	"context"
	"database/sql"

	"github.com/kbsync/kbsync/connector"
)

// Intent is a document whose chunks are about to be written. Doc.N must be set (NextDoc for a new one).
type Intent struct {
	Doc     Doc
	New     bool
	Writing []Chunk // the chunks whose points will be written
	// Unsure are chunks of the ledger that will be deleted, or whose payload will be written: until the end is known they may or may not be
	// there as the ledger has them.
	Unsure [][16]byte
}

// Outcome is how a document's write ended. Changed holds the chunks as they are now (live), Deleted the ids that
// the sink has deleted.
type Outcome struct {
	Doc     Doc
	Changed []Chunk
	Deleted [][16]byte
	// Keywords are those of the changed chunks, where there is a keyword index.
	Keywords map[connector.UUID][]string
}

// docKeys resolves the keys of documents before a transaction takes the one write connection.
func docKeys[T any](ctx context.Context, t *Target, items []T, doc func(*T) *Doc) ([][]any, error) {
	keys := make([][]any, len(items))
	for i := range items {
		d := doc(&items[i])
		key, err := t.docKey(ctx, d.Source, d.Path)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

// Intend commits, durably, which ids are about to be written and marks their documents dirty.
func (t *Target) Intend(ctx context.Context, intents []Intent) error {
	keys, err := docKeys(ctx, t, intents, func(i *Intent) *Doc { return &i.Doc })
	if err != nil {
		return err
	}
	return t.l.tx(ctx, "intend", func(tx *sql.Tx) error {
		for i := range intents {
			in := &intents[i]
			if in.New {
				d := in.Doc
				d.State, d.Version, d.Fingerprint, d.Chunks = DocDirty, "", "", 0
				if err := t.putDoc(ctx, tx, &d, keys[i]); err != nil {
					return err
				}
			} else if err := t.l.exec(ctx, tx, sqlDirtyDoc, keys[i]...); err != nil {
				return err
			}
			for _, id := range in.Unsure {
				if err := t.l.exec(ctx, tx, sqlUnsure, in.Doc.N, id[:]); err != nil {
					return err
				}
			}
			for _, c := range in.Writing {
				if err := t.l.exec(ctx, tx, sqlWriting, in.Doc.N, c.ID[:], c.Index, c.Text, c.Payload[:], c.address()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Finish commits how documents ended.
func (t *Target) Finish(ctx context.Context, outcomes []Outcome) error {
	keys, err := docKeys(ctx, t, outcomes, func(o *Outcome) *Doc { return &o.Doc })
	if err != nil {
		return err
	}
	return t.l.tx(ctx, "finish", func(tx *sql.Tx) error {
		for i := range outcomes {
			o := &outcomes[i]
			for _, c := range o.Changed {
				if err := t.l.exec(ctx, tx, sqlPutChunk, o.Doc.N, c.ID[:], c.Index, c.Text, c.Payload[:], c.State, c.address()); err != nil {
					return err
				}
				if err := t.putKeywords(ctx, tx, o.Doc.N, c.ID, o.Keywords[c.ID]); err != nil {
					return err
				}
			}
			for _, id := range o.Deleted {
				if err := t.l.exec(ctx, tx, sqlDeleteChunk, o.Doc.N, id[:]); err != nil {
					return err
				}
			}
			if err := t.putDoc(ctx, tx, &o.Doc, keys[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Remove forgets documents whose chunks the sink has deleted.
func (t *Target) Remove(ctx context.Context, docs []Doc) error {
	keys, err := docKeys(ctx, t, docs, func(d *Doc) *Doc { return d })
	if err != nil {
		return err
	}
	return t.l.tx(ctx, "remove", func(tx *sql.Tx) error {
		for i := range docs {
			if err := t.l.exec(ctx, tx, sqlDropChunks, docs[i].N); err != nil {
				return err
			}
			if err := t.l.exec(ctx, tx, sqlDeleteDoc, keys[i]...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Touch records new versions of documents whose chunks stay as they are.
func (t *Target) Touch(ctx context.Context, docs []Doc) error {
	keys, err := docKeys(ctx, t, docs, func(d *Doc) *Doc { return d })
	if err != nil {
		return err
	}
	return t.l.tx(ctx, "touch", func(tx *sql.Tx) error {
		for i := range docs {
			d := &docs[i]
			if d.Facts == nil {
				d.Facts = []byte{}
			}
			if err := t.l.exec(ctx, tx, sqlTouch, append([]any{d.Version, d.Epoch, d.Fingerprint, d.Facts}, keys[i]...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// MarkDirty makes the next run do these documents again, and write again the chunks given by id: for repairs, and before they are deleted.
func (t *Target) MarkDirty(ctx context.Context, docs map[int64][][16]byte) error {
	return t.l.tx(ctx, "mark-dirty", func(tx *sql.Tx) error {
		for n, ids := range docs {
			if _, err := tx.ExecContext(ctx, "UPDATE docs SET state=1, version='' WHERE target=? AND n=?", t.id, n); err != nil {
				return err
			}
			for _, id := range ids {
				if err := t.l.exec(ctx, tx, sqlUnsure, n, id[:]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Adopted is a point that a sink turned out to hold.
type Adopted struct {
	Doc   Doc
	New   bool // the document is not in the ledger yet
	Chunk Chunk
	// Keywords are the chunk's, where there is a keyword index.
	Keywords []string
}

// Adopt records points that a sink holds, when a lost ledger is rebuilt. Their documents are dirty: they are read again, and
// what agrees with these chunks is neither embedded nor written.
func (t *Target) Adopt(ctx context.Context, points []Adopted) error {
	keys, err := docKeys(ctx, t, points, func(a *Adopted) *Doc { return &a.Doc })
	if err != nil {
		return err
	}
	return t.l.tx(ctx, "adopt", func(tx *sql.Tx) error {
		for i := range points {
			a := &points[i]
			if a.New {
				d := a.Doc
				d.State, d.Version = DocDirty, ""
				if err := t.putDoc(ctx, tx, &d, keys[i]); err != nil {
					return err
				}
			}
			c := &a.Chunk
			if err := t.l.exec(ctx, tx, sqlPutChunk, a.Doc.N, c.ID[:], c.Index, c.Text, c.Payload[:], c.State, c.address()); err != nil {
				return err
			}
			if err := t.putKeywords(ctx, tx, a.Doc.N, c.ID, a.Keywords); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddedIn yields the content hashes of the documents that a run added.
func (t *Target) AddedIn(ctx context.Context, run int64, yield func(raw []byte)) error {
	rows, err := t.l.read.QueryContext(ctx, "SELECT raw FROM docs WHERE target=? AND run=? AND state=0", t.id, run)
	if err != nil {
		return wrap(t.l.path, "added", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return wrap(t.l.path, "added", err)
		}
		yield(raw)
	}
	return wrap(t.l.path, "added", rows.Err())
}
