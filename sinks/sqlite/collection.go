package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/ngrams"
)

// Collection is one generation of a collection. Safe for concurrent use.
type Collection struct {
	sink         *Sink
	files        *handles
	registration registration
	tables       tables
	layout       layout
}

var _ connector.Collection = (*Collection)(nil)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.registration.schema }

// Marker implements [connector.Collection].
func (c *Collection) Marker(ctx context.Context) (string, error) {
	var marker string
	err := c.files.read.QueryRowContext(ctx, `SELECT marker FROM kbsync_collections WHERE number = ?`, c.registration.number).Scan(&marker)
	if errors.Is(err, sql.ErrNoRows) {
		return "", connector.Errorf(connector.ClassNotFound, "sqlite: generation %q was dropped", c.registration.schema.Generation)
	}
	return marker, c.wrap("marker", err)
}

// Upsert implements [connector.Collection]. The batch is one transaction.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	failed := map[int]error{}
	rows := make([]row, 0, len(points))
	last := map[string]int{} // the last of several points of one id wins
	for i := range points {
		r, err := c.encode(&points[i])
		if err != nil {
			failed[i] = err
			continue
		}
		if at, ok := last[points[i].ChunkID]; ok {
			rows[at] = r
			continue
		}
		last[points[i].ChunkID] = len(rows)
		rows = append(rows, r)
	}
	if len(rows) > 0 {
		if err := c.wrap("upsert", c.write(ctx, func(w *writer) error { return w.upsert(rows) })); err != nil {
			return err
		}
	}
	return batchError(failed)
}

// UpdatePayload implements [connector.Collection].
func (c *Collection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	failed := map[int]error{}
	rows := make([]row, 0, len(records))
	index := make([]int, 0, len(records))
	for i := range records {
		r, err := encodeRecord(&records[i])
		if err != nil {
			failed[i] = err
			continue
		}
		rows, index = append(rows, r), append(index, i)
	}
	var missing []int
	err := c.write(ctx, func(w *writer) (err error) {
		missing, err = w.updatePayload(rows)
		return err
	})
	if err != nil {
		return c.wrap("update payload", err)
	}
	for _, m := range missing {
		failed[index[m]] = connector.Errorf(connector.ClassNotFound, "sqlite: no point %s", records[index[m]].ChunkID)
	}
	return batchError(failed)
}

// Delete implements [connector.Collection]. The batch is one transaction.
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	keys := make([][]byte, 0, len(ids))
	for _, s := range ids {
		if id, err := parseID(s); err == nil { // what is no UUID is not stored
			keys = append(keys, id)
		}
	}
	if len(keys) == 0 {
		return ctx.Err()
	}
	return c.wrap("delete", c.write(ctx, func(w *writer) error { return w.delete(keys) }))
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	var n int
	err := c.files.read.QueryRowContext(ctx, c.tables.sql(`SELECT count(*) FROM @points`)).Scan(&n)
	return n, c.wrap("count", err)
}

// Flush implements [connector.Collection]: what is committed is visible.
func (c *Collection) Flush(ctx context.Context) error { return ctx.Err() }

func (c *Collection) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: %s: %w", op, classify(c.sink.path, err))
}

func batchError(failed map[int]error) error {
	if len(failed) == 0 {
		return nil
	}
	return &connector.BatchError{Items: failed}
}

// row is a point ready to be bound.
type row struct {
	id       []byte
	record   *connector.Record
	spans    any
	context  any // context spans
	metadata any
	embed    any // NULL where it is context + content
	vector   []float32
	terms    string
	length   uint32 // number of terms
}

func (c *Collection) encode(p *connector.Point) (row, error) {
	r, err := encodeRecord(&p.Record)
	if err != nil || p.Vector == nil {
		return r, err
	}
	if err := c.layout.check(p.Vector); err != nil {
		return r, fmt.Errorf("sqlite: %s: %w", p.ChunkID, err)
	}
	r.vector = p.Vector
	r.terms = string(ngrams.Append(make([]byte, 0, len(p.EmbedText)*3/2), p.EmbedText))
	r.length = uint32(strings.Count(r.terms, " ")) //nolint:gosec // bounded by the text
	return r, nil
}

func encodeRecord(rec *connector.Record) (row, error) {
	r := row{record: rec, spans: encodeSpans(rec.Spans), context: encodeSpans(rec.ContextSpans)}
	var err error
	if r.id, err = parseID(rec.ChunkID); err != nil {
		return r, fmt.Errorf("sqlite: %w", err)
	}
	if r.metadata, err = encodeMetadata(rec.Metadata); err != nil {
		return r, fmt.Errorf("sqlite: %s: %w", rec.ChunkID, err)
	}
	if len(rec.EmbedText) != len(rec.Context)+len(rec.Content) || rec.EmbedText[:len(rec.Context)] != rec.Context || rec.EmbedText[len(rec.Context):] != rec.Content {
		r.embed = rec.EmbedText
	}
	return r, nil
}

// writer carries out one write transaction.
type writer struct {
	ctx    context.Context //nolint:containedctx // lives as long as the call that made it
	tx     *sql.Tx
	c      *Collection
	blocks map[int64][]byte // changed vector blocks; empty ones are to be deleted
	terms  map[int64]uint32 // changed numbers of terms, by slot
}

func (c *Collection) write(ctx context.Context, change func(*writer) error) error {
	return inTx(ctx, c.files.write, func(tx *sql.Tx) error {
		w := &writer{ctx: ctx, tx: tx, c: c, blocks: map[int64][]byte{}, terms: map[int64]uint32{}}
		res, err := tx.ExecContext(ctx, `UPDATE kbsync_collections SET version = version + 1 WHERE number = ?`, c.registration.number)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, connector.Errorf(connector.ClassNotFound, "generation %q was dropped", c.registration.schema.Generation))
		}
		if err := change(w); err != nil {
			return err
		}
		return errors.Join(w.flush(), w.flushLengths())
	})
}

func (w *writer) exec(query string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, w.c.tables.sql(query), args...)
	return err
}

// upsert removes what is there and inserts anew. A point that had a vector keeps its slot if it has one again.
func (w *writer) upsert(rows []row) error {
	ids := make([][]byte, len(rows))
	for i := range rows {
		ids[i] = rows[i].id
	}
	old, err := w.slots(ids)
	if err != nil {
		return err
	}
	if err := w.remove(old); err != nil {
		return err
	}
	slots, err := w.allocate(rows, old)
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].vector == nil {
			continue
		}
		if err := w.putVector(slots[i], rows[i].vector); err != nil {
			return err
		}
	}
	return w.insert(rows, slots)
}

// insert writes the rows of new points, table by table: each statement is prepared once and its table's pages stay hot.
func (w *writer) insert(rows []row, slots []int64) error {
	return errors.Join(
		w.bulk("@points(slot, id, doc_id, source, path, parent_id, content_hash)", 7, len(rows), func(i int, a []any) []any {
			r := rows[i].record
			return append(a, slots[i], rows[i].id, r.DocID, r.Source, r.Path, r.ParentID, r.ContentHash)
		}),
		w.bulk("@payload(slot, char_count, token_count, spans, context_spans, metadata)", 6, len(rows), func(i int, a []any) []any {
			r := &rows[i]
			return append(a, slots[i], r.record.CharCount, r.record.TokenCount, r.spans, r.context, r.metadata)
		}),
		w.bulk("@texts(slot, content, context, embed_text)", 4, len(rows), func(i int, a []any) []any {
			r := &rows[i]
			return append(a, slots[i], r.record.Content, r.record.Context, r.embed)
		}),
		w.index(rows, slots),
	)
}

// index writes the terms, one row a statement: a statement of several rows opens a savepoint, at which FTS5 writes out
// what it has gathered, and a batch then leaves dozens of small segments to merge. For the same reason it comes last,
// and in ascending order of slot: a lower one than before makes FTS5 write out, too.
func (w *writer) index(rows []row, slots []int64) error {
	insert, err := w.tx.PrepareContext(w.ctx, w.c.tables.sql(`INSERT INTO @fts(rowid, terms) VALUES(?, ?)`))
	if err != nil {
		return err
	}
	defer insert.Close() //nolint:errcheck // its errors were those of Exec
	order := make([]int, 0, len(rows))
	for i := range rows {
		if rows[i].vector != nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(slots[a], slots[b]) })
	for _, i := range order {
		if _, err := insert.ExecContext(w.ctx, slots[i], rows[i].terms); err != nil {
			return err
		}
		w.terms[slots[i]] = rows[i].length
	}
	return nil
}

// bulk inserts n rows of cols values, several to a statement.
func (w *writer) bulk(into string, cols, n int, bind func(i int, args []any) []any) error {
	const perStatement = 50
	tuple := "(?" + strings.Repeat(",?", cols-1) + ")"
	query := func(rows int) string {
		return w.c.tables.sql("INSERT INTO " + into + " VALUES" + tuple + strings.Repeat(","+tuple, rows-1))
	}
	var full *sql.Stmt
	args := make([]any, 0, perStatement*cols)
	for i := range n {
		if args = bind(i, args); len(args) < perStatement*cols {
			continue
		}
		if full == nil {
			var err error
			if full, err = w.tx.PrepareContext(w.ctx, query(perStatement)); err != nil {
				return err
			}
			defer full.Close() //nolint:errcheck // its errors were those of Exec
		}
		if _, err := full.ExecContext(w.ctx, args...); err != nil {
			return err
		}
		args = args[:0]
	}
	if len(args) == 0 {
		return nil
	}
	_, err := w.tx.ExecContext(w.ctx, query(len(args)/cols), args...)
	return err
}

// delete removes points and gives their slots back.
func (w *writer) delete(ids [][]byte) error {
	old, err := w.slots(ids)
	if err != nil {
		return err
	}
	if err := w.remove(old); err != nil {
		return err
	}
	return w.release(old)
}

// release marks slots as free and empties their vectors.
func (w *writer) release(slots map[string]int64) error {
	var freed []int64
	for _, slot := range slots {
		if slot < storeOnly {
			freed = append(freed, slot)
		}
	}
	slices.Sort(freed)
	for _, slot := range freed {
		if err := w.clearVector(slot); err != nil {
			return err
		}
		w.terms[slot] = 0
	}
	return w.bulk("@free(slot)", 1, len(freed), func(i int, a []any) []any { return append(a, freed[i]) })
}

// remove deletes the rows of points, but not their vectors.
func (w *writer) remove(slots map[string]int64) error {
	if len(slots) == 0 {
		return nil
	}
	list := make([]int64, 0, len(slots))
	for _, slot := range slots {
		list = append(list, slot)
	}
	slices.Sort(list)
	for chunk := range slices.Chunk(list, 500) {
		for _, table := range []string{"@points WHERE slot", "@payload WHERE slot", "@texts WHERE slot", "@fts WHERE rowid"} {
			if err := w.exec("DELETE FROM "+table+" IN ("+marks(len(chunk))+")", anys(chunk)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// slots finds the slots of the ids that exist.
func (w *writer) slots(ids [][]byte) (map[string]int64, error) {
	found := map[string]int64{}
	for chunk := range slices.Chunk(ids, 500) {
		if err := w.findSlots(chunk, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (w *writer) findSlots(ids [][]byte, found map[string]int64) (err error) {
	rows, err := w.tx.QueryContext(w.ctx, w.c.tables.sql(`SELECT id, slot FROM @points WHERE id IN (`+marks(len(ids))+`)`), anys(ids)...)
	if err != nil {
		return err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var id sql.RawBytes
		var slot int64
		if err := rows.Scan(&id, &slot); err != nil {
			return err
		}
		found[string(id)] = slot
	}
	return rows.Err()
}

// updatePayload returns the indexes of rows that do not exist.
func (w *writer) updatePayload(rows []row) (missing []int, err error) {
	ids := make([][]byte, len(rows))
	for i := range rows {
		ids[i] = rows[i].id
	}
	slots, err := w.slots(ids)
	if err != nil {
		return nil, err
	}
	var stmts [3]*sql.Stmt
	for i, query := range []string{
		`UPDATE @points SET doc_id = ?, source = ?, path = ?, parent_id = ?, content_hash = ? WHERE slot = ?`,
		`UPDATE @payload SET char_count = ?, token_count = ?, spans = ?, context_spans = ?, metadata = ? WHERE slot = ?`,
		`UPDATE @texts SET content = ?1, context = ?2, embed_text = ?3 WHERE slot = ?4 AND (content <> ?1 OR context <> ?2 OR embed_text IS NOT ?3)`,
	} {
		if stmts[i], err = w.tx.PrepareContext(w.ctx, w.c.tables.sql(query)); err != nil {
			return nil, err
		}
		defer stmts[i].Close() //nolint:errcheck // its errors were those of Exec
	}
	for i := range rows {
		slot, ok := slots[string(rows[i].id)]
		if !ok {
			missing = append(missing, i)
			continue
		}
		r := rows[i].record
		for s, args := range [][]any{
			{r.DocID, r.Source, r.Path, r.ParentID, r.ContentHash, slot},
			{r.CharCount, r.TokenCount, rows[i].spans, rows[i].context, rows[i].metadata, slot},
			{r.Content, r.Context, rows[i].embed, slot},
		} {
			if _, err := stmts[s].ExecContext(w.ctx, args...); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func anys[E any](list []E) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}
