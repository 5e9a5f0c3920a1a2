package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// State says how far a document got.
type State int

// The states of a document.
const (
	// DocOK: the sink holds exactly the chunks that the ledger lists.
	DocOK State = iota
	// DocDirty: a write was begun and its end is not known; the document is done again.
	DocDirty
	// DocSkipped: no parser claims it; Note says why. It has no chunks.
	DocSkipped
	// DocFailed: the last attempt failed; Note says why. Its chunks are those of the version before.
	DocFailed
)

// Doc is what is known of a document on a target.
type Doc struct {
	N           int64 // number in this ledger; 0 for a document that is not stored yet
	Source      string
	Path        string
	ID          connector.UUID
	Version     string
	Epoch       int64 // the configuration under which Fingerprint was last checked
	Fingerprint string
	State       State
	Raw         []byte // SHA-256 of the bytes; empty if unknown
	Chunks      int
	Modified    int64 // Unix nanoseconds of the last change of content
	Run         int64 // the run that added the document
	Facts       []byte
	Note        string
}

// ChunkState says whether a chunk's write is known to be complete.
type ChunkState int

// The states of a chunk.
const (
	ChunkLive    ChunkState = iota // stored by the sink
	ChunkWriting                   // may or may not be there, old or new
)

// Chunk is a point that exists or may exist.
type Chunk struct {
	ID      connector.UUID
	Index   int
	Text    int64 // number in the text store
	Payload [16]byte
	State   ChunkState
	// Vector is the address of its vector in the store where the model is contextual; zero where it is that of the text.
	Vector Hash
}

// address is how Vector is stored: nothing, for the zero value.
func (c *Chunk) address() []byte {
	if c.Vector == (Hash{}) {
		return []byte{}
	}
	return c.Vector[:]
}

// Target is the part of a ledger that describes one generation of one target.
type Target struct {
	l  *Ledger
	id int64
}

const (
	sqlPutDoc = `INSERT INTO docs(target, source, key, version, epoch, state, n, doc, raw, fingerprint, chunks, modified, run, facts, note)
		VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET version=excluded.version, epoch=excluded.epoch, state=excluded.state,
		raw=excluded.raw, fingerprint=excluded.fingerprint, chunks=excluded.chunks, modified=excluded.modified, facts=excluded.facts, note=excluded.note`
	sqlDirtyDoc = `UPDATE docs SET state=1, version='' WHERE target=? AND source=? AND key=?`
	sqlPutChunk = `INSERT INTO chunks(doc, id, idx, text, payload, state, vec) VALUES(?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET idx=excluded.idx, text=excluded.text, payload=excluded.payload,
		state=excluded.state, vec=excluded.vec`
	sqlWriting     = `INSERT INTO chunks(doc, id, idx, text, payload, state, vec) VALUES(?,?,?,?,?,1,?) ON CONFLICT DO UPDATE SET state=1`
	sqlUnsure      = `UPDATE chunks SET state=1 WHERE doc=? AND id=?`
	sqlDeleteChunk = `DELETE FROM chunks WHERE doc=? AND id=?`
	sqlDeleteDoc   = `DELETE FROM docs WHERE target=? AND source=? AND key=?`
	sqlDropChunks  = `DELETE FROM chunks WHERE doc=?`
	sqlPutText     = `INSERT INTO texts(hash, text) VALUES(?,?) ON CONFLICT DO UPDATE SET hash=excluded.hash RETURNING n`
	sqlPutVector   = `INSERT INTO vectors(model, text, v) VALUES(?,?,?) ON CONFLICT DO NOTHING`
	sqlSpool       = `INSERT INTO spool(stream, item) VALUES(?,?)`
	sqlTouch       = `UPDATE docs SET version=?, epoch=?, fingerprint=?, facts=? WHERE target=? AND source=? AND key=?`
)

var hotStatements = []string{sqlPutDoc, sqlDirtyDoc, sqlPutChunk, sqlWriting, sqlUnsure, sqlDeleteChunk, sqlDeleteDoc, sqlDropChunks, sqlPutText, sqlPutVector, sqlSpool, sqlTouch}

// exec runs a hot statement inside tx.
func (l *Ledger) exec(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := tx.StmtContext(ctx, l.hot[query]).ExecContext(ctx, args...)
	return err
}

// OpenTarget finds the part for a target and generation. known is false if the ledger holds nothing of it, or only what
// was true of an earlier collection with another marker (which is then forgotten): the caller rebuilds it
// and calls Complete.
func (l *Ledger) OpenTarget(ctx context.Context, target connector.Target, generation, marker string) (t *Target, known bool, err error) {
	var id int64
	var have string
	var complete bool
	err = l.read.QueryRowContext(ctx, "SELECT id, marker, complete FROM targets WHERE target=? AND generation=?", target.String(), generation).Scan(&id, &have, &complete)
	switch {
	case err == nil && have == marker && complete:
		return &Target{l, id}, true, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return nil, false, wrap(l.path, "target", err)
	}
	err = l.tx(ctx, "open-target", func(tx *sql.Tx) error {
		if id != 0 {
			if _, err := tx.ExecContext(ctx, "DELETE FROM chunks WHERE doc IN (SELECT n FROM docs WHERE target=?)", id); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "DELETE FROM docs WHERE target=?", id); err != nil {
				return err
			}
		}
		return tx.QueryRowContext(ctx, `INSERT INTO targets(target, generation, marker, complete) VALUES(?,?,?,0)
			ON CONFLICT DO UPDATE SET marker=excluded.marker, complete=0 RETURNING id`, target.String(), generation, marker).Scan(&id)
	})
	return &Target{l, id}, false, err
}

// FindTarget is OpenTarget for readers: it changes nothing, and ok is false if there is no complete part.
func (l *Ledger) FindTarget(ctx context.Context, target connector.Target, generation string) (t *Target, ok bool, err error) {
	var id int64
	err = l.read.QueryRowContext(ctx, "SELECT id FROM targets WHERE target=? AND generation=? AND complete=1", target.String(), generation).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return &Target{l, id}, err == nil, wrap(l.path, "target", err)
}

// Complete records that the part agrees with what the sink held when it was opened.
func (t *Target) Complete(ctx context.Context) error {
	return t.l.tx(ctx, "complete-target", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE targets SET complete=1 WHERE id=?", t.id)
		return err
	})
}

// Forget drops all that is known of the target.
func (t *Target) Forget(ctx context.Context) error {
	return t.l.tx(ctx, "forget-target", func(tx *sql.Tx) error {
		for _, q := range []string{"DELETE FROM chunks WHERE doc IN (SELECT n FROM docs WHERE target=?)", "DELETE FROM docs WHERE target=?", "DELETE FROM targets WHERE id=?"} {
			if _, err := tx.ExecContext(ctx, q, t.id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Listed is the part of a document that deciding "unchanged" needs. Key is connector.TreeKey of its path.
type Listed struct {
	Key     string
	Version string
	Epoch   int64
	State   State
	Chunks  int
}

// pageRows bounds one page of a listing: no read transaction stays open between pages, so that the
// write-ahead log can be checkpointed meanwhile.
const pageRows = 4096

// List yields a source's documents in tree order (connector.TreeKey). The next page is read while the one before is looked at.
func (t *Target) List(ctx context.Context, source string) iter.Seq2[Listed, error] {
	type result struct {
		rows []Listed
		err  error
	}
	return func(yield func(Listed, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		pages := make(chan result)
		go func() {
			defer close(pages)
			last := []byte{}
			for more := true; more; {
				rows, err := t.listPage(ctx, source, last)
				if more = err == nil && len(rows) == pageRows; more {
					last = []byte(rows[len(rows)-1].Key)
				}
				select {
				case pages <- result{rows, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		defer func() {
			cancel()
			for range pages { // joins the reader
			}
		}()
		for page := range pages {
			for i := range page.rows {
				if !yield(page.rows[i], nil) {
					return
				}
			}
			if page.err != nil {
				yield(Listed{}, page.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Listed{}, context.Cause(ctx))
		}
	}
}

// Below yields the documents below a path, in tree order.
func (t *Target) Below(ctx context.Context, source, path string) iter.Seq2[Listed, error] {
	prefix := connector.TreeKey(path) + "\x01"
	return func(yield func(Listed, error) bool) {
		for last := []byte(prefix); ; {
			rows, err := t.listPage(ctx, source, last)
			if err != nil {
				yield(Listed{}, err)
				return
			}
			for i := range rows {
				if !strings.HasPrefix(rows[i].Key, prefix) || !yield(rows[i], nil) {
					return
				}
			}
			if len(rows) < pageRows {
				return
			}
			last = []byte(rows[len(rows)-1].Key)
		}
	}
}

// Lookup finds what is listed of some documents, at most some thousands, by path.
func (t *Target) Lookup(ctx context.Context, source string, paths []string) (map[string]Listed, error) {
	out := make(map[string]Listed, len(paths))
	src, err := t.l.sourceID(ctx, source)
	if err != nil || len(paths) == 0 {
		return out, wrap(t.l.path, "lookup", err)
	}
	args := make([]any, 0, len(paths)+2)
	args = append(args, t.id, src)
	for _, p := range paths {
		args = append(args, []byte(connector.TreeKey(p)))
	}
	rows, err := t.l.read.QueryContext(ctx, "SELECT key, version, epoch, state, chunks FROM docs WHERE target=? AND source=? AND key IN ("+marks(len(paths))+")", args...)
	if err != nil {
		return nil, wrap(t.l.path, "lookup", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key []byte
		var row Listed
		if err := rows.Scan(&key, &row.Version, &row.Epoch, &row.State, &row.Chunks); err != nil {
			return nil, wrap(t.l.path, "lookup", err)
		}
		row.Key = string(key)
		out[connector.TreePath(row.Key)] = row
	}
	return out, wrap(t.l.path, "lookup", rows.Err())
}

// listPage reads the rows behind a key.
func (t *Target) listPage(ctx context.Context, source string, after []byte) (page []Listed, err error) {
	src, err := t.l.sourceID(ctx, source)
	if err != nil {
		return nil, err
	}
	rows, err := t.l.read.QueryContext(ctx, "SELECT key, version, epoch, state, chunks FROM docs WHERE target=? AND source=? AND key>? ORDER BY key LIMIT ?", t.id, src, after, pageRows)
	if err != nil {
		return nil, wrap(t.l.path, "list", err)
	}
	defer func() { err = wrap(t.l.path, "list", errors.Join(err, rows.Close())) }()
	page = make([]Listed, 0, pageRows)
	var key sql.RawBytes
	var version string
	var epoch, state, chunks any // numbers scanned into any are taken as they are; into an int they go through their decimal form
	for rows.Next() {
		if err := rows.Scan(&key, &version, &epoch, &state, &chunks); err != nil {
			return nil, err
		}
		d := Listed{Key: string(key), Version: version}
		d.Epoch, _ = epoch.(int64)
		n, _ := state.(int64)
		d.State = State(n)
		n, _ = chunks.(int64)
		d.Chunks = int(n)
		page = append(page, d)
	}
	return page, rows.Err()
}

const docColumns = "s.name, d.key, d.version, d.epoch, d.state, d.n, d.doc, d.raw, d.fingerprint, d.chunks, d.modified, d.run, d.facts, d.note"

const sqlFindDoc = "SELECT " + docColumns + " FROM docs d JOIN sources s ON s.id=d.source WHERE d.target=? AND s.name=? AND d.key=?"

func scanDoc(row interface{ Scan(...any) error }) (Doc, error) {
	var d Doc
	var key, id []byte
	err := row.Scan(&d.Source, &key, &d.Version, &d.Epoch, &d.State, &d.N, &id, &d.Raw, &d.Fingerprint, &d.Chunks, &d.Modified, &d.Run, &d.Facts, &d.Note)
	d.Path = connector.TreePath(string(key))
	copy(d.ID[:], id)
	return d, err
}

// Doc finds one document.
func (t *Target) Doc(ctx context.Context, source, path string) (d Doc, ok bool, err error) {
	d, err = scanDoc(t.l.find.QueryRowContext(ctx, t.id, source, []byte(connector.TreeKey(path))))
	if errors.Is(err, sql.ErrNoRows) {
		return Doc{}, false, nil
	}
	return d, err == nil, wrap(t.l.path, "doc", err)
}

// Docs yields whole documents of the target, all sources or one, in order of source and path.
func (t *Target) Docs(ctx context.Context, source string) iter.Seq2[Doc, error] {
	return func(yield func(Doc, error) bool) {
		var lastSource int64
		var lastKey []byte
		for {
			page, src, key, err := t.docPage(ctx, source, lastSource, lastKey)
			if err != nil {
				yield(Doc{}, wrap(t.l.path, "docs", err))
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
			}
			if len(page) < pageRows/4 {
				return
			}
			lastSource, lastKey = src, key
		}
	}
}

func (t *Target) docPage(ctx context.Context, source string, lastSource int64, lastKey []byte) (page []Doc, src int64, key []byte, err error) {
	rows, err := t.l.read.QueryContext(ctx, "SELECT d.source, d.key, "+docColumns+` FROM docs d JOIN sources s ON s.id=d.source
		WHERE d.target=?1 AND (?2='' OR s.name=?2) AND (d.source, d.key) > (?3, ?4) ORDER BY d.source, d.key LIMIT ?5`, t.id, source, lastSource, lastKey, pageRows/4)
	if err != nil {
		return nil, 0, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		d, err := scanDoc(prefixed{rows, []any{&src, &key}})
		if err != nil {
			return nil, 0, nil, err
		}
		page = append(page, d)
	}
	return page, src, key, rows.Err()
}

// prefixed scans some leading columns elsewhere.
type prefixed struct {
	rows *sql.Rows
	lead []any
}

func (p prefixed) Scan(dst ...any) error { return p.rows.Scan(append(p.lead, dst...)...) }

// Sources counts the documents by source name, skipped ones left out.
func (t *Target) Sources(ctx context.Context) (map[string]int, error) {
	rows, err := t.l.read.QueryContext(ctx, "SELECT s.name, sum(d.state<>2) FROM docs d JOIN sources s ON s.id=d.source WHERE d.target=? GROUP BY s.name", t.id)
	if err != nil {
		return nil, wrap(t.l.path, "sources", err)
	}
	defer func() { _ = rows.Close() }()
	counts := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			return nil, wrap(t.l.path, "sources", err)
		}
		counts[name] = n
	}
	return counts, wrap(t.l.path, "sources", rows.Err())
}

// SourceNames are the sources that the target has documents of.
func (t *Target) SourceNames(ctx context.Context) ([]string, error) {
	rows, err := t.l.read.QueryContext(ctx, "SELECT name FROM sources s WHERE EXISTS(SELECT 1 FROM docs WHERE target=? AND source=s.id) ORDER BY name", t.id)
	if err != nil {
		return nil, wrap(t.l.path, "sources", err)
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, wrap(t.l.path, "sources", err)
		}
		names = append(names, name)
	}
	return names, wrap(t.l.path, "sources", rows.Err())
}

// Counts are the totals of a target.
type Counts struct{ Documents, Chunks, Failed, Skipped, Dirty int }

// Counts counts documents and chunks.
func (t *Target) Counts(ctx context.Context) (c Counts, err error) {
	err = t.l.read.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE state<>2), coalesce(sum(chunks),0), count(*) FILTER (WHERE state=3),
		count(*) FILTER (WHERE state=2), count(*) FILTER (WHERE state=1) FROM docs WHERE target=?`, t.id).Scan(&c.Documents, &c.Chunks, &c.Failed, &c.Skipped, &c.Dirty)
	return c, wrap(t.l.path, "counts", err)
}

// ChunkCount is the number of chunks that exist or may exist.
func (t *Target) ChunkCount(ctx context.Context) (n int, err error) {
	err = t.l.read.QueryRowContext(ctx, "SELECT count(*) FROM docs d JOIN chunks c ON c.doc=d.n WHERE d.target=?", t.id).Scan(&n)
	return n, wrap(t.l.path, "count", err)
}

// Sample is at most n live chunks, from documents spread over the target.
func (t *Target) Sample(ctx context.Context, n int) ([]Known, error) {
	rows, err := t.l.read.QueryContext(ctx, `SELECT c.id, c.doc, s.name, d.key, x.hash, c.payload, c.state FROM docs d JOIN chunks c ON c.doc=d.n
		JOIN sources s ON s.id=d.source JOIN texts x ON x.n=c.text WHERE d.target=?1 AND c.state=0
		AND d.n % (1 + (SELECT count(*) FROM docs WHERE target=?1) / ?2) = 0 LIMIT ?2`, t.id, n)
	if err != nil {
		return nil, wrap(t.l.path, "sample", err)
	}
	defer func() { _ = rows.Close() }()
	var out []Known
	for rows.Next() {
		k, err := scanKnown(rows)
		if err != nil {
			return nil, wrap(t.l.path, "sample", err)
		}
		out = append(out, k)
	}
	return out, wrap(t.l.path, "sample", rows.Err())
}

func scanKnown(rows *sql.Rows) (k Known, err error) {
	var id, payload, key []byte
	err = rows.Scan(&id, &k.Doc, &k.Source, &key, &k.Hash, &payload, &k.State)
	copy(k.ID[:], id)
	copy(k.Payload[:], payload)
	k.Path = connector.TreePath(string(key))
	return k, err
}

// Chunks lists the chunks of a document by index.
func (t *Target) Chunks(ctx context.Context, doc int64) ([]Chunk, error) {
	rows, err := t.l.read.QueryContext(ctx, "SELECT id, idx, text, payload, state, vec FROM chunks WHERE doc=?", doc)
	if err != nil {
		return nil, wrap(t.l.path, "chunks", err)
	}
	defer func() { _ = rows.Close() }()
	var chunks []Chunk
	for rows.Next() {
		var c Chunk
		var id, payload, vec sql.RawBytes
		if err := rows.Scan(&id, &c.Index, &c.Text, &payload, &c.State, &vec); err != nil {
			return nil, wrap(t.l.path, "chunks", err)
		}
		copy(c.ID[:], id)
		copy(c.Payload[:], payload)
		copy(c.Vector[:], vec)
		chunks = append(chunks, c)
	}
	return chunks, wrap(t.l.path, "chunks", rows.Err())
}

// Known is a chunk as verify compares it.
type Known struct {
	ID      connector.UUID
	Doc     int64
	Source  string
	Path    string
	Hash    []byte // SHA-256 of the embedded text
	Payload [16]byte
	State   ChunkState
}

// Known yields every chunk of the target in ascending order of id.
func (t *Target) Known(ctx context.Context) iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		rows, err := t.l.read.QueryContext(ctx, `SELECT c.id, c.doc, s.name, d.key, x.hash, c.payload, c.state FROM docs d JOIN chunks c ON c.doc=d.n
			JOIN sources s ON s.id=d.source JOIN texts x ON x.n=c.text WHERE d.target=? ORDER BY c.id`, t.id)
		if err != nil {
			yield(Known{}, wrap(t.l.path, "known", err))
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			k, err := scanKnown(rows)
			if err != nil {
				yield(Known{}, wrap(t.l.path, "known", err))
				return
			}
			if !yield(k, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Known{}, wrap(t.l.path, "known", err))
		}
	}
}

// NextDoc reserves the number of a new document.
func (l *Ledger) NextDoc() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextDoc++
	return l.nextDoc
}

func (t *Target) docKey(ctx context.Context, source, path string) ([]any, error) {
	src, err := t.l.sourceID(ctx, source)
	return []any{t.id, src, []byte(connector.TreeKey(path))}, err
}

func (t *Target) putDoc(ctx context.Context, tx *sql.Tx, d *Doc, key []any) error {
	if d.Raw == nil {
		d.Raw = []byte{}
	}
	if d.Facts == nil {
		d.Facts = []byte{}
	}
	args := append(append(make([]any, 0, 15), key...), d.Version, d.Epoch, d.State, d.N, d.ID[:], d.Raw, d.Fingerprint, d.Chunks, d.Modified, d.Run, d.Facts, d.Note)
	return t.l.exec(ctx, tx, sqlPutDoc, args...)
}

// String names the target for messages.
func (t *Target) String() string { return fmt.Sprintf("target %d of %s", t.id, t.l.path) }
