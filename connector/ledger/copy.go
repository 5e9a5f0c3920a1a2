package ledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kbsync/kbsync/connector"
)

// CopyFrom makes t, the part of another target, expect what from holds: every document of from, with its live chunks, as if they were about
// to be written. What t knows already to be stored, with the same payload, stays so; t is dirty until [Target.SettleFrom].
func (t *Target) CopyFrom(ctx context.Context, from *Target) error {
	l := t.l
	err := l.tx(ctx, "copy-target", func(tx *sql.Tx) error {
		for _, q := range []string{
			// Documents that t lacks get numbers of their own.
			`INSERT INTO docs(target, source, key, version, epoch, state, n, doc, raw, fingerprint, chunks, modified, run, facts, note)
				SELECT ?1, a.source, a.key, '', 0, 1, a.n + (SELECT max(n) FROM docs), a.doc, a.raw, '', a.chunks, a.modified, 0, a.facts, a.note
				FROM docs a WHERE a.target=?2 AND NOT EXISTS (SELECT 1 FROM docs b WHERE b.target=?1 AND b.source=a.source AND b.key=a.key)`,
			`UPDATE docs SET state=1, version='' WHERE target=?1 AND EXISTS (SELECT 1 FROM docs a WHERE a.target=?2 AND a.source=docs.source AND a.key=docs.key)`,
			`INSERT INTO chunks(doc, id, idx, text, payload, state, vec)
				SELECT b.n, c.id, c.idx, c.text, c.payload, 1, c.vec FROM docs a JOIN chunks c ON c.doc=a.n
				JOIN docs b ON b.target=?1 AND b.source=a.source AND b.key=a.key WHERE a.target=?2 AND c.state=0
				ON CONFLICT DO UPDATE SET idx=excluded.idx, text=excluded.text, state=CASE WHEN chunks.payload=excluded.payload THEN chunks.state ELSE 1 END, payload=excluded.payload, vec=excluded.vec`,
		} {
			if _, err := tx.ExecContext(ctx, q, t.id, from.id); err != nil {
				return err
			}
		}
		return t.copyKeywords(ctx, tx, from)
	})
	if err != nil {
		return err
	}
	var last int64
	if err := l.write.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM docs").Scan(&last); err != nil {
		return wrap(l.path, "copy-target", err)
	}
	l.mu.Lock()
	l.nextDoc = max(l.nextDoc, last)
	l.mu.Unlock()
	return nil
}

// SettleFrom records that t holds what from does, for the documents of which every chunk is live: they get from's version and state, so
// that a sync to t finds them unchanged.
func (t *Target) SettleFrom(ctx context.Context, from *Target) error {
	return t.l.tx(ctx, "settle-target", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE docs SET (version, epoch, state, raw, fingerprint, chunks, modified, facts, note) =
			(SELECT a.version, a.epoch, a.state, a.raw, a.fingerprint, a.chunks, a.modified, a.facts, a.note FROM docs a
				WHERE a.target=?2 AND a.source=docs.source AND a.key=docs.key)
			WHERE target=?1 AND EXISTS (SELECT 1 FROM docs a WHERE a.target=?2 AND a.source=docs.source AND a.key=docs.key)
			AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.doc=docs.n AND c.state<>0)`, t.id, from.id)
		return err
	})
}

// Ref names a chunk by its document's number and its id.
type Ref struct {
	Doc int64
	ID  connector.UUID
}

// NotIn are the chunks of t, at most n of them, whose documents or ids from does not have.
func (t *Target) NotIn(ctx context.Context, from *Target, n int) (refs []Ref, err error) {
	rows, err := t.l.read.QueryContext(ctx, `SELECT c.doc, c.id FROM docs b JOIN chunks c ON c.doc=b.n WHERE b.target=?1 AND NOT EXISTS
		(SELECT 1 FROM docs a JOIN chunks o ON o.doc=a.n WHERE a.target=?2 AND a.source=b.source AND a.key=b.key AND o.id=c.id AND o.state=0) LIMIT ?3`, t.id, from.id, n)
	if err != nil {
		return nil, wrap(t.l.path, "not-in", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r Ref
		var raw sql.RawBytes
		if err := rows.Scan(&r.Doc, &raw); err != nil {
			return nil, wrap(t.l.path, "not-in", err)
		}
		copy(r.ID[:], raw)
		refs = append(refs, r)
	}
	return refs, wrap(t.l.path, "not-in", rows.Err())
}

// ForgetChunks forgets chunks that the sink has deleted, and the documents without chunks that from does not have.
func (t *Target) ForgetChunks(ctx context.Context, from *Target, refs []Ref) error {
	return t.l.tx(ctx, "forget-chunks", func(tx *sql.Tx) error {
		for _, r := range refs {
			if err := t.l.exec(ctx, tx, sqlDeleteChunk, r.Doc, r.ID[:]); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM docs WHERE target=?1 AND NOT EXISTS (SELECT 1 FROM docs a WHERE a.target=?2 AND a.source=docs.source AND a.key=docs.key)
			AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.doc=docs.n)`, t.id, from.id)
		return err
	})
}

// Chunk finds one chunk.
func (t *Target) Chunk(ctx context.Context, ref Ref) (c Chunk, ok bool, err error) {
	var payload, vec []byte
	err = t.l.read.QueryRowContext(ctx, "SELECT idx, text, payload, state, vec FROM chunks WHERE doc=? AND id=?", ref.Doc, ref.ID[:]).Scan(&c.Index, &c.Text, &payload, &c.State, &vec)
	if errors.Is(err, sql.ErrNoRows) {
		return Chunk{}, false, nil
	}
	c.ID = ref.ID
	copy(c.Payload[:], payload)
	copy(c.Vector[:], vec)
	return c, err == nil, wrap(t.l.path, "chunk", err)
}

// Stored records chunks that the sink holds now.
func (t *Target) Stored(ctx context.Context, refs []Ref) error {
	return t.l.tx(ctx, "stored", func(tx *sql.Tx) error {
		for _, r := range refs {
			if _, err := tx.ExecContext(ctx, "UPDATE chunks SET state=0 WHERE doc=? AND id=?", r.Doc, r.ID[:]); err != nil {
				return err
			}
		}
		return nil
	})
}
