package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/fusion"
)

// searchWorkers is how many connections share the scan of the vectors.
func searchWorkers() int { return min(4, runtime.GOMAXPROCS(0)) }

// Search implements [connector.Collection]. Dense scores are the cosine, the dot product, or minus the Euclidean
// distance; lexical ones BM25; hybrid ones those of the fusion.
func (c *Collection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if err := c.checkQuery(&q); err != nil {
		return nil, err
	}
	if q.K <= 0 {
		return nil, ctx.Err()
	}
	select {
	case c.files.searches <- struct{}{}:
		defer func() { <-c.files.searches }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := c.snapshot(ctx)
	if err != nil {
		return nil, c.wrap("search", err)
	}
	hits, err := c.answer(ctx, s, q)
	return hits, c.wrap("search", errors.Join(err, s.close()))
}

func (c *Collection) checkQuery(q *connector.Query) error {
	switch q.Mode {
	case connector.ModeDense, connector.ModeHybrid:
		if len(q.Vector) != c.layout.dims {
			return connector.Errorf(connector.ClassInvalid, "sqlite: search: the query has %d dimensions, the collection %d", len(q.Vector), c.layout.dims)
		}
		if err := c.layout.check(q.Vector); err != nil {
			return fmt.Errorf("sqlite: search: %w", err)
		}
	case connector.ModeLexical:
	default:
		return fmt.Errorf("sqlite: mode %q: %w", q.Mode, connector.ErrUnsupported)
	}
	switch q.Fusion {
	case "", connector.FusionRelative, connector.FusionRRF:
		return nil
	}
	return connector.Errorf(connector.ClassInvalid, "sqlite: search: fusion %q: want relative or rrf", q.Fusion)
}

// snapshot is a set of read transactions that see the same state.
type snapshot struct {
	txs []*sql.Tx
}

func (s *snapshot) close() (err error) {
	for _, tx := range s.txs {
		if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			err = errors.Join(err, e)
		}
	}
	s.txs = nil
	return err
}

// snapshot begins a transaction for each worker. Should a write have come in between, so that they see different versions, it
// tries again, and in the end does with one.
func (c *Collection) snapshot(ctx context.Context) (*snapshot, error) {
	for workers := searchWorkers(); ; workers /= 2 {
		s, same, err := c.begin(ctx, workers)
		if err == nil && same {
			return s, nil
		}
		if err := errors.Join(err, s.close()); err != nil {
			return nil, err
		}
	}
}

func (c *Collection) begin(ctx context.Context, workers int) (*snapshot, bool, error) {
	s := &snapshot{}
	var first int64
	for i := range max(1, workers) {
		tx, err := c.files.search.BeginTx(ctx, nil)
		if err != nil {
			return s, false, err
		}
		s.txs = append(s.txs, tx)
		var version int64
		err = tx.QueryRowContext(ctx, `SELECT version FROM kbsync_collections WHERE number = ?`, c.registration.number).Scan(&version)
		if errors.Is(err, sql.ErrNoRows) {
			err = connector.Errorf(connector.ClassNotFound, "generation %q was dropped", c.registration.schema.Generation)
		}
		if err != nil {
			return s, false, err
		}
		if i == 0 {
			first = version
		}
		if version != first {
			return s, false, nil
		}
	}
	return s, true, nil
}

func (c *Collection) answer(ctx context.Context, s *snapshot, q connector.Query) ([]connector.Hit, error) {
	allowed, err := c.allowed(ctx, s.txs[0], q.Filter)
	if err != nil || allowed != nil && allowed.len() == 0 {
		return nil, err
	}
	k := q.K
	if q.Mode == connector.ModeHybrid {
		k = fusion.Depth(q.K)
	}
	var dense, lexical []scored
	if q.Mode != connector.ModeLexical {
		if dense, err = c.dense(ctx, s, q.Vector, k, allowed); err != nil {
			return nil, err
		}
	}
	if q.Mode != connector.ModeDense {
		if lexical, err = c.lexical(ctx, s.txs[0], q.Text, k, allowed); err != nil {
			return nil, err
		}
	}
	points, err := c.identify(ctx, s.txs[0], dense, lexical)
	if err != nil {
		return nil, err
	}
	near, said := points.rank(dense, k), points.rank(lexical, k)
	var ranked []fusion.Ranked
	switch q.Mode {
	case connector.ModeDense:
		ranked = near
	case connector.ModeLexical:
		ranked = said
	default:
		ranked = fusion.Hybrid(q, near, said)
	}
	return c.hits(ctx, s.txs[0], ranked[:min(q.K, len(ranked))], points)
}

// dense scans the vectors with every worker.
func (c *Collection) dense(ctx context.Context, s *snapshot, query []float32, k int, allowed *slotSet) ([]scored, error) {
	var first, last sql.NullInt64
	if err := s.txs[0].QueryRowContext(ctx, c.tables.sql(`SELECT min(block), max(block) FROM @vectors`)).Scan(&first, &last); err != nil || !last.Valid {
		return nil, err
	}
	var only []int64 // the blocks to read, where they are few
	if allowed != nil {
		only = allowed.blocks(c.layout.perBlock)
		if int64(len(only)) > (last.Int64-first.Int64)/3 {
			only = nil
		}
	}
	parts := make([]*topK, len(s.txs))
	n := int64(len(s.txs))
	group, ctx := errgroup.WithContext(ctx)
	for i, tx := range s.txs {
		parts[i] = newTopK(k)
		scan := &denseScan{layout: c.layout, query: query, factor: c.layout.factor(query), allowed: allowed, top: parts[i]}
		from := first.Int64 + (last.Int64-first.Int64+1)*int64(i)/n
		to := first.Int64 + (last.Int64-first.Int64+1)*int64(i+1)/n - 1
		where, args := "block BETWEEN ? AND ?", []any{from, to}
		if only != nil {
			where, args = "block IN (SELECT value FROM json_each(?))", []any{jsonInts(only[len(only)*i/len(s.txs) : len(only)*(i+1)/len(s.txs)])}
		}
		group.Go(func() error {
			handle, done := c.sink.scans.begin(scan)
			defer done()
			var count int
			return tx.QueryRowContext(ctx, c.tables.sql(`SELECT count(kbsync_row(?, block, data)) FROM @vectors WHERE `+where), append([]any{handle}, args...)...).Scan(&count)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return merge(parts), nil
}

// identities maps slots to ids and back.
type identities struct {
	id   map[int64]string
	slot map[string]int64
}

// identify reads the ids of candidates.
func (c *Collection) identify(ctx context.Context, tx querier, lists ...[]scored) (identities, error) {
	found := identities{id: map[int64]string{}, slot: map[string]int64{}}
	var slots []int64
	for _, list := range lists {
		for _, s := range list {
			slots = append(slots, s.slot)
		}
	}
	slices.Sort(slots)
	for chunk := range slices.Chunk(slices.Compact(slots), 5000) {
		if err := c.identifySlots(ctx, tx, chunk, found); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (c *Collection) identifySlots(ctx context.Context, tx querier, slots []int64, found identities) (err error) {
	rows, err := tx.QueryContext(ctx, c.tables.sql(`SELECT slot, id FROM @points WHERE slot IN (SELECT value FROM json_each(?))`), jsonInts(slots))
	if err != nil {
		return err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var slot int64
		var id sql.RawBytes
		if err := rows.Scan(&slot, &id); err != nil {
			return err
		}
		s := formatID(id)
		found.id[slot], found.slot[s] = s, slot
	}
	return rows.Err()
}

// rank orders candidates by score and id, and keeps k.
func (f identities) rank(list []scored, k int) []fusion.Ranked {
	out := make([]fusion.Ranked, 0, len(list))
	for _, s := range list {
		if id, ok := f.id[s.slot]; ok {
			out = append(out, fusion.Ranked{ID: id, Score: s.score})
		}
	}
	fusion.Sort(out)
	return out[:min(k, len(out))]
}

// hits reads the records of the answer.
func (c *Collection) hits(ctx context.Context, tx querier, ranked []fusion.Ranked, points identities) ([]connector.Hit, error) {
	order := make(map[string]int, len(ranked))
	slots := make([]int64, len(ranked))
	for i, r := range ranked {
		order[r.ID], slots[i] = i, points.slot[r.ID]
	}
	found, err := c.read(ctx, tx, false, `WHERE p.slot IN (SELECT value FROM json_each(?))`, jsonInts(slots))
	if err != nil {
		return nil, err
	}
	hits := make([]connector.Hit, 0, len(found))
	for _, p := range found {
		hits = append(hits, connector.Hit{Score: ranked[order[p.point.ChunkID]].Score, Point: p.point})
	}
	slices.SortFunc(hits, func(a, b connector.Hit) int { return cmp.Compare(order[a.ChunkID], order[b.ChunkID]) })
	return hits, nil
}

func jsonInts(list []int64) string {
	b := []byte{'['}
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

// sql fills in table names and the layout's numbers.
func (c *Collection) sql(query string) string {
	query = strings.ReplaceAll(query, "@per", strconv.FormatInt(c.layout.perBlock, 10))
	return c.tables.sql(strings.ReplaceAll(query, "@size", strconv.Itoa(c.layout.place())))
}
