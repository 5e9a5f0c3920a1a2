package sqlite

import (
	"database/sql"
	"errors"
	"maps"
	"slices"
)

// allocate gives each row a slot: the old one if it fits, else a free one, else the next. The rows that leave a slot
// behind (a point that lost or gained its vector) give it back.
func (w *writer) allocate(rows []row, old map[string]int64) ([]int64, error) {
	slots := make([]int64, len(rows))
	var pending []int // rows with a vector that need a slot
	left := map[string]int64{}
	nextStored := int64(-1)
	for i := range rows {
		slot, had := old[string(rows[i].id)]
		stored := rows[i].vector == nil
		if had && stored == (slot >= storeOnly) {
			slots[i] = slot
			continue
		}
		if had {
			left[string(rows[i].id)] = slot
		}
		if !stored {
			pending = append(pending, i)
			continue
		}
		if nextStored < 0 {
			var err error
			if nextStored, err = w.number(`SELECT coalesce(max(slot) + 1, ?1) FROM @points WHERE slot >= ?1`, storeOnly); err != nil {
				return nil, err
			}
			nextStored = max(nextStored, maxSlot(old)+1)
		}
		slots[i] = nextStored
		nextStored++
	}
	free, err := w.takeFree(len(pending))
	if err != nil {
		return nil, err
	}
	next := int64(0)
	if len(pending) > len(free) {
		// Rows in old were removed a moment ago; their slots may be about to be used again.
		if next, err = w.number(`SELECT coalesce(max(slot) + 1, 0) FROM @points WHERE slot < ?1`, storeOnly); err != nil {
			return nil, err
		}
		freeEnd, err := w.number(`SELECT coalesce(max(slot) + 1, 0) FROM @free`)
		if err != nil {
			return nil, err
		}
		next = max(next, freeEnd)
		for _, slot := range old {
			if slot < storeOnly {
				next = max(next, slot+1)
			}
		}
		for _, slot := range free {
			next = max(next, slot+1)
		}
	}
	for n, i := range pending {
		if n < len(free) {
			slots[i] = free[n]
			continue
		}
		slots[i] = next
		next++
	}
	return slots, w.release(left)
}

func maxSlot(slots map[string]int64) int64 {
	highest := int64(-1)
	for _, s := range slots {
		highest = max(highest, s)
	}
	return highest
}

func (w *writer) number(query string, args ...any) (n int64, err error) {
	err = w.tx.QueryRowContext(w.ctx, w.c.tables.sql(query), args...).Scan(&n)
	return n, err
}

// takeFree takes up to n free slots, lowest first.
func (w *writer) takeFree(n int) (slots []int64, err error) {
	if n == 0 {
		return nil, nil
	}
	rows, err := w.tx.QueryContext(w.ctx, w.c.tables.sql(`SELECT slot FROM @free ORDER BY slot LIMIT ?`), n)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows, &err)
	for rows.Next() {
		var slot int64
		if err := rows.Scan(&slot); err != nil {
			return nil, err
		}
		slots = append(slots, slot)
	}
	if err := rows.Err(); err != nil || len(slots) == 0 {
		return nil, err
	}
	return slots, w.exec(`DELETE FROM @free WHERE slot <= ?`, slots[len(slots)-1])
}

func (w *writer) putVector(slot int64, v []float32) error {
	n, place := slot/w.c.layout.perBlock, slot%w.c.layout.perBlock
	block, err := w.block(n)
	if err == nil {
		w.blocks[n] = w.c.layout.put(block, place, v)
	}
	return err
}

func (w *writer) clearVector(slot int64) error {
	n, place := slot/w.c.layout.perBlock, slot%w.c.layout.perBlock
	block, err := w.block(n)
	if err == nil {
		w.blocks[n] = w.c.layout.clear(block, place)
	}
	return err
}

// block is the block as this transaction has it; empty if there is none.
func (w *writer) block(n int64) ([]byte, error) {
	if b, ok := w.blocks[n]; ok {
		return b, nil
	}
	var b []byte
	err := w.tx.QueryRowContext(w.ctx, w.c.tables.sql(`SELECT data FROM @vectors WHERE block = ?`), n).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return make([]byte, 0, int(w.c.layout.perBlock)*w.c.layout.place()), nil
	}
	return b, err
}

// flush writes the changed blocks.
func (w *writer) flush() error {
	if len(w.blocks) == 0 {
		return nil
	}
	put, err := w.tx.PrepareContext(w.ctx, w.c.tables.sql(`REPLACE INTO @vectors(block, data) VALUES(?, ?)`))
	if err != nil {
		return err
	}
	defer put.Close()                                      //nolint:errcheck // its errors were those of Exec
	for _, n := range slices.Sorted(maps.Keys(w.blocks)) { // in order, so that new blocks are appended
		if b := w.blocks[n]; len(b) == 0 {
			err = w.exec(`DELETE FROM @vectors WHERE block = ?`, n)
		} else {
			_, err = put.ExecContext(w.ctx, n, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
