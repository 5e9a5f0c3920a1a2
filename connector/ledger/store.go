package ledger

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
)

// Hash is an address in the store: the SHA-256 of an embedded text, or the address of a vector of a contextual model, which is
// that of a text among its neighbours. What stands there has a vector and no text; the text has an entry of its own.
type Hash = [32]byte

// Stored is what the store holds of a text. N is 0 where it is unknown, Vector nil where it was never embedded by the model asked for.
type Stored struct {
	N      int64
	Vector []float32
}

// Lookup finds texts by hash, in order, with their vectors by the model of that identity.
func (l *Ledger) Lookup(ctx context.Context, model string, hashes []Hash) ([]Stored, error) {
	id, err := l.modelID(ctx, model)
	if err != nil {
		return nil, err
	}
	st, err := l.read.PrepareContext(ctx, "SELECT t.n, v.v FROM texts t LEFT JOIN vectors v ON v.model=? AND v.text=t.n WHERE t.hash=?")
	if err != nil {
		return nil, wrap(l.path, "lookup", err)
	}
	defer func() { _ = st.Close() }()
	found := make([]Stored, len(hashes))
	for i := range hashes {
		var v []byte
		err := st.QueryRowContext(ctx, id, hashes[i][:]).Scan(&found[i].N, &v)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, wrap(l.path, "lookup", err)
		case v != nil:
			found[i].Vector = decodeVector(v)
		}
	}
	return found, nil
}

// Entry is a text to be stored, with its vector if it has one, or a vector in context, without text.
type Entry struct {
	Hash   Hash
	Text   string
	Vector []float32
}

// Put stores texts and vectors and returns the texts' numbers, in order. What is there already stays.
func (l *Ledger) Put(ctx context.Context, model string, entries []Entry) ([]int64, error) {
	id, err := l.modelID(ctx, model)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(entries))
	err = l.tx(ctx, "put", func(tx *sql.Tx) error {
		text := tx.StmtContext(ctx, l.hot[sqlPutText])
		for i, e := range entries {
			if err := text.QueryRowContext(ctx, e.Hash[:], []byte(e.Text)).Scan(&numbers[i]); err != nil {
				return err
			}
			if e.Vector == nil {
				continue
			}
			if err := l.exec(ctx, tx, sqlPutVector, id, numbers[i], encodeVector(e.Vector)); err != nil {
				return err
			}
		}
		return nil
	})
	return numbers, err
}

// StoreStats counts the store's contents by model identity.
type StoreStats struct {
	Texts     int            `json:"texts"`
	TextBytes int64          `json:"text_bytes"`
	Contexts  int            `json:"contexts"`     // addresses of vectors in context
	Unused    int            `json:"unused_texts"` // of texts and contexts
	Vectors   map[string]int `json:"vectors"`
	Answers   map[string]int `json:"answers,omitempty"` // of language models, by their identity
}

// Stats reads the store's totals.
func (l *Ledger) Stats(ctx context.Context) (s StoreStats, err error) {
	s.Vectors = map[string]int{}
	query := `SELECT count(*) FILTER (WHERE text<>X''), coalesce(sum(length(text)),0), count(*) FILTER (WHERE text=X''), count(*) FILTER (WHERE ` + sqlUnused + `) FROM texts`
	if l.version == 1 {
		query = strings.ReplaceAll(query, sqlUnused, sqlUnusedOne)
	}
	err = l.read.QueryRowContext(ctx, query).Scan(&s.Texts, &s.TextBytes, &s.Contexts, &s.Unused)
	if err != nil {
		return s, wrap(l.path, "stats", err)
	}
	rows, err := l.read.QueryContext(ctx, "SELECT m.identity, count(*) FROM vectors v JOIN models m ON m.id=v.model GROUP BY 1")
	if err != nil {
		return s, wrap(l.path, "stats", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			return s, wrap(l.path, "stats", err)
		}
		s.Vectors[name] = n
	}
	if err := rows.Err(); err != nil {
		return s, wrap(l.path, "stats", err)
	}
	s.Answers, err = l.CountAnswers(ctx)
	return s, err
}

// What no chunk uses, of texts and contexts; the second one for files of version 1, which are only read.
const (
	sqlUnusedOne = "n NOT IN (SELECT text FROM chunks)"
	sqlUnused    = sqlUnusedOne + " AND hash NOT IN (SELECT vec FROM chunks)"
)

// Prune removes texts, and vectors in context, that no chunk of any target uses, and says how many.
func (l *Ledger) Prune(ctx context.Context) (removed int, err error) {
	err = l.tx(ctx, "prune", func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "DELETE FROM texts WHERE "+sqlUnused)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if err != nil {
			return err
		}
		removed = int(n)
		_, err = tx.ExecContext(ctx, "DELETE FROM vectors WHERE text NOT IN (SELECT n FROM texts)")
		return err
	})
	if err == nil {
		_, err = l.write.ExecContext(ctx, "VACUUM")
		err = wrap(l.path, "prune", err)
	}
	return removed, err
}

// StoreItem is one line of an exported store. Without a text it is a vector in context, and Hash its address.
type StoreItem struct {
	Hash   string    `json:"hash"`
	Text   string    `json:"text"`
	Model  string    `json:"model,omitempty"`
	Vector []float32 `json:"vector,omitempty"`
}

// Items yields every text with each of its vectors (once without, if it has none), by number.
func (l *Ledger) Items(ctx context.Context) iter.Seq2[StoreItem, error] {
	return func(yield func(StoreItem, error) bool) {
		rows, err := l.read.QueryContext(ctx, `SELECT t.hash, t.text, coalesce(m.identity,''), v.v FROM texts t LEFT JOIN vectors v ON v.text=t.n
			LEFT JOIN models m ON m.id=v.model ORDER BY t.n, m.identity`)
		if err != nil {
			yield(StoreItem{}, wrap(l.path, "items", err))
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var hash, text, v []byte
			var it StoreItem
			if err := rows.Scan(&hash, &text, &it.Model, &v); err != nil {
				yield(StoreItem{}, wrap(l.path, "items", err))
				return
			}
			it.Hash, it.Text = fmt.Sprintf("%x", hash), string(text)
			if v != nil {
				it.Vector = decodeVector(v)
			}
			if !yield(it, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(StoreItem{}, wrap(l.path, "items", err))
		}
	}
}

// Vectors are stored as little-endian float32, bit for bit.
func encodeVector(v []float32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

func decodeVector(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// Entries reads texts by number, in order, each with its vector by the model of that identity if it has one.
func (l *Ledger) Entries(ctx context.Context, model string, numbers []int64) ([]Entry, error) {
	id, err := l.modelID(ctx, model)
	if err != nil {
		return nil, err
	}
	st, err := l.read.PrepareContext(ctx, "SELECT t.hash, t.text, v.v FROM texts t LEFT JOIN vectors v ON v.model=? AND v.text=t.n WHERE t.n=?")
	if err != nil {
		return nil, wrap(l.path, "entries", err)
	}
	defer func() { _ = st.Close() }()
	out := make([]Entry, len(numbers))
	for i, n := range numbers {
		var hash, text, v []byte
		if err := st.QueryRowContext(ctx, id, n).Scan(&hash, &text, &v); err != nil {
			return nil, wrap(l.path, "entries", err)
		}
		copy(out[i].Hash[:], hash)
		if out[i].Text = string(text); v != nil {
			out[i].Vector = decodeVector(v)
		}
	}
	return out, nil
}
