package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/kbsync/kbsync/internal/ngrams"
)

// BM25's parameters, at the values that Lucene and SQLite use.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// lengthsPerBlock is how many slots' numbers of terms, four bytes each, a blob of lengths holds.
const lengthsPerBlock = 1024

// lexical ranks points by BM25 (Robertson and Zaragoza 2009) over the terms of the question. FTS5 keeps the postings;
// the ranking is computed here, since FTS5's own reads them twice and looks up every match's length in a table, and
// gives words that more than half of the points hold no weight at all.
func (c *Collection) lexical(ctx context.Context, tx querier, question string, k int, allowed *slotSet) ([]scored, error) {
	terms := ngrams.Query(question)
	if len(terms) == 0 {
		return nil, nil
	}
	lengths, err := c.lengths(ctx, tx)
	if err != nil {
		return nil, err
	}
	points, total := 0.0, 0.0
	for _, n := range lengths {
		if n > 0 {
			points++
			total += float64(n)
		}
	}
	scores := make([]float64, len(lengths))
	found := &postings{counts: make([]uint32, len(lengths))}
	for _, t := range terms {
		if err := c.postings(ctx, tx, t, found); err != nil {
			return nil, err
		}
		df := float64(len(found.slots))
		idf := math.Log(1 + (points-df+0.5)/(df+0.5))
		for _, slot := range found.slots {
			tf := float64(found.counts[slot])
			scores[slot] += idf * tf * (bm25K1 + 1) / (tf + bm25K1*(1-bm25B+bm25B*float64(lengths[slot])*points/total))
			found.counts[slot] = 0
		}
		found.slots = found.slots[:0]
	}
	top := newTopK(k)
	for slot, score := range scores {
		if score > 0 && allowed.has(int64(slot)) {
			top.add(int64(slot), score)
		}
	}
	return merge([]*topK{top}), nil
}

// lengths reads every slot's number of terms; 0 where there is no point.
func (c *Collection) lengths(ctx context.Context, tx querier) (out []uint32, err error) {
	rows, err := tx.QueryContext(ctx, c.tables.sql(`SELECT block, data FROM @lengths ORDER BY block`))
	if err != nil {
		return nil, err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var block int64
		var data sql.RawBytes
		if err := rows.Scan(&block, &data); err != nil {
			return nil, err
		}
		if gap := int(block)*lengthsPerBlock - len(out); gap > 0 {
			out = append(out, make([]uint32, gap)...)
		}
		for ; len(data) >= 4; data = data[4:] {
			out = append(out, binary.LittleEndian.Uint32(data))
		}
	}
	return out, rows.Err()
}

// postings collects one term's occurrences. Arguments of a row: slot, unused.
type postings struct {
	counts []uint32 // by slot
	slots  []int64  // those with a count
}

func (p *postings) row(args []driver.Value) (driver.Value, error) {
	slot, ok := args[0].(int64)
	if !ok || slot < 0 || slot >= int64(len(p.counts)) {
		return nil, fmt.Errorf("the full-text index names slot %v of %d: the file is damaged", args[0], len(p.counts))
	}
	if p.counts[slot]++; p.counts[slot] == 1 {
		p.slots = append(p.slots, slot)
	}
	return nil, nil
}

func (c *Collection) postings(ctx context.Context, tx querier, t ngrams.Term, into *postings) error {
	handle, done := c.sink.scans.begin(into)
	defer done()
	where, args := "term = ?", []any{t.Text}
	if t.Prefix {
		where, args = "term >= ? AND term < ?", []any{t.Text, t.Text + "\U0010FFFF"}
	}
	// The function stands in the WHERE clause and returns NULL: every posting is visited, and there are no rows.
	var none int
	err := tx.QueryRowContext(ctx, c.tables.sql(`SELECT 1 FROM @vocab WHERE `+where+` AND kbsync_row(?, doc, NULL)`), append(args, handle)...).Scan(&none)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// flushLengths writes the changed numbers of terms.
func (w *writer) flushLengths() error {
	blocks := map[int64][]byte{}
	for slot, n := range w.terms {
		block := slot / lengthsPerBlock
		data, ok := blocks[block]
		if !ok {
			err := w.tx.QueryRowContext(w.ctx, w.c.tables.sql(`SELECT data FROM @lengths WHERE block = ?`), block).Scan(&data)
			if errors.Is(err, sql.ErrNoRows) {
				data, err = make([]byte, 4*lengthsPerBlock), nil
			}
			if err != nil {
				return err
			}
			blocks[block] = data
		}
		at := 4 * (slot % lengthsPerBlock)
		if int(at)+4 > len(data) {
			return fmt.Errorf("a block of lengths holds %d bytes: the file is damaged", len(data))
		}
		binary.LittleEndian.PutUint32(data[at:], n)
	}
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		if err := w.exec(`REPLACE INTO @lengths(block, data) VALUES(?, ?)`, block, blocks[block]); err != nil {
			return err
		}
	}
	return nil
}
