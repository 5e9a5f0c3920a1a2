package vectorstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Hash is the SHA-256 of an embedded text.
type Hash = [sha256.Size]byte

const (
	lookupBatch = 256            // hashes of one query
	writeBatch  = 256            // vectors of one transaction
	useBatch    = 4096           // noted uses of one transaction
	useEvery    = 24 * time.Hour // how old a note of use gets before it is renewed
)

// sqlGet looks up one batch; with fewer hashes the last one is repeated, so that the statement stays the same.
var sqlGet = "SELECT k.hash, k.used, v.sum, v.v FROM keys k JOIN vectors v ON v.n=k.n WHERE k.model=(SELECT id FROM models WHERE identity=?) AND k.hash IN (?" +
	strings.Repeat(",?", lookupBatch-1) + ")"

// Get finds the vectors of texts by the model of that identity, in order; nil where there is none. One that is damaged or has not dims numbers
// counts as absent. What was found counts as used today.
func (s *Store) Get(ctx context.Context, model string, dims int, hashes []Hash) ([][]float32, error) {
	out := make([][]float32, len(hashes))
	if len(hashes) == 0 {
		return out, nil
	}
	st, err := s.read.PrepareContext(ctx, sqlGet)
	if err != nil {
		return nil, wrap(s.path, "get", err)
	}
	defer func() { _ = st.Close() }()
	at := make(map[Hash][]int, len(hashes))
	for i, h := range hashes {
		at[h] = append(at[h], i)
	}
	for batch := range slices.Chunk(hashes, lookupBatch) {
		if err := s.get(ctx, st, model, batch, func(h Hash, v []float32) {
			if len(v) == dims {
				for _, i := range at[h] {
					out[i] = v
				}
			}
		}); err != nil {
			return nil, err
		}
	}
	s.flushUsed(ctx, useBatch)
	return out, nil
}

func (s *Store) get(ctx context.Context, st *sql.Stmt, model string, hashes []Hash, yield func(Hash, []float32)) error {
	args := make([]any, 1, lookupBatch+1)
	args[0] = model
	for i := range lookupBatch {
		args = append(args, hashes[min(i, len(hashes)-1)][:])
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return wrap(s.path, "get", err)
	}
	defer func() { _ = rows.Close() }()
	stale := s.now().Add(-useEvery).Unix()
	for rows.Next() {
		var raw, sum, v sql.RawBytes
		var used int64
		if err := rows.Scan(&raw, &used, &sum, &v); err != nil {
			return wrap(s.path, "get", err)
		}
		if len(raw) != sha256.Size {
			continue
		}
		h := Hash(raw)
		vector, ok := decode(model, h, sum, v)
		if !ok {
			continue
		}
		yield(h, vector)
		if used < stale {
			s.mu.Lock()
			s.used[key{model, h}] = struct{}{}
			s.mu.Unlock()
		}
	}
	return wrap(s.path, "get", rows.Err())
}

// flushUsed writes the notes of use if there are at least so many. They are not worth an error: a store that cannot be written is still read.
func (s *Store) flushUsed(ctx context.Context, least int) {
	s.mu.Lock()
	if len(s.used) < max(least, 1) || s.readOnly || s.mute {
		s.mu.Unlock()
		return
	}
	used := s.used
	s.used = map[key]struct{}{}
	s.mu.Unlock()
	now := s.now().Unix()
	err := s.tx(ctx, "note use", func(tx *sql.Tx) error {
		st, err := tx.PrepareContext(ctx, "UPDATE keys SET used=? WHERE model=(SELECT id FROM models WHERE identity=?) AND hash=?")
		if err != nil {
			return err
		}
		defer func() { _ = st.Close() }()
		for k := range used {
			if _, err := st.ExecContext(ctx, now, k.model, k.hash[:]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.mu.Lock()
		s.mute = true
		s.mu.Unlock()
	}
}

// Vector is a vector with the hash of its text.
type Vector struct {
	Hash   Hash
	Values []float32
}

// Put keeps vectors of the model of that identity, all of the same number of dimensions. What is there already and sound stays. A vector that
// holds no numbers, NaN, infinity or zeros alone is an error. A few hundred vectors at a time are written in one transaction.
func (s *Store) Put(ctx context.Context, model string, vectors []Vector) error {
	for i := range vectors {
		if err := Check(vectors[i].Values); err != nil {
			return fmt.Errorf("vector store: text %x: %w", vectors[i].Hash, err)
		}
	}
	for batch := range slices.Chunk(vectors, writeBatch) {
		err := s.tx(ctx, "put", func(tx *sql.Tx) error {
			var id int64
			err := tx.QueryRowContext(ctx, "INSERT INTO models(identity) VALUES(?) ON CONFLICT DO UPDATE SET identity=excluded.identity RETURNING id", model).Scan(&id)
			if err != nil {
				return err
			}
			p, err := s.putter(ctx, tx, model, id)
			if err != nil {
				return err
			}
			defer p.close()
			for i := range batch {
				if err := p.put(ctx, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// putter writes the vectors of one model in one transaction.
type putter struct {
	model               string
	id, now             int64
	find, insert, point *sql.Stmt
	drop                *sql.Stmt
}

func (s *Store) putter(ctx context.Context, tx *sql.Tx, model string, id int64) (*putter, error) {
	p := &putter{model: model, id: id, now: s.now().Unix()}
	for _, x := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&p.find, "SELECT k.n, v.sum, v.v FROM keys k LEFT JOIN vectors v ON v.n=k.n WHERE k.model=? AND k.hash=?"},
		{&p.insert, "INSERT INTO vectors(sum, v) VALUES(?,?) RETURNING n"},
		{&p.point, "INSERT INTO keys(model, hash, n, dims, used) VALUES(?,?,?,?,?) ON CONFLICT DO UPDATE SET n=excluded.n, dims=excluded.dims, used=excluded.used"},
		// Of a damaged file: what another key points to as well may be that one's.
		{&p.drop, "DELETE FROM vectors WHERE n=?1 AND (SELECT count(*) FROM keys WHERE n=?1) < 2"},
	} {
		st, err := tx.PrepareContext(ctx, x.query)
		if err != nil {
			p.close()
			return nil, err
		}
		*x.to = st
	}
	return p, nil
}

func (p *putter) close() {
	for _, st := range []*sql.Stmt{p.find, p.insert, p.point, p.drop} {
		if st != nil {
			_ = st.Close()
		}
	}
}

func (p *putter) put(ctx context.Context, x *Vector) error {
	var old int64
	var sum, v []byte
	err := p.find.QueryRowContext(ctx, p.id, x.Hash[:]).Scan(&old, &sum, &v)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		if have, ok := decode(p.model, x.Hash, sum, v); ok && len(have) == len(x.Values) {
			return nil
		}
		if _, err := p.drop.ExecContext(ctx, old); err != nil {
			return err
		}
	}
	v = encode(x.Values)
	var n int64
	if err := p.insert.QueryRowContext(ctx, checksum(p.model, x.Hash, v), v).Scan(&n); err != nil {
		return err
	}
	_, err = p.point.ExecContext(ctx, p.id, x.Hash[:], n, len(x.Values), p.now)
	return err
}

// Check refuses what is no vector: no numbers, NaN, infinity, zeros alone.
func Check(v []float32) error {
	if len(v) == 0 {
		return errors.New("the vector is empty")
	}
	zero := true
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return errors.New("the vector is not finite")
		}
		zero = zero && x == 0
	}
	if zero {
		return errors.New("the vector is zero")
	}
	return nil
}

// checksum binds numbers to the model and the text that they belong to.
func checksum(model string, h Hash, v []byte) []byte {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %x ", model, h)
	_, _ = sum.Write(v)
	return sum.Sum(nil)[:16]
}

// decode gives a row's vector, if the row is sound.
func decode(model string, h Hash, sum, b []byte) ([]float32, bool) {
	if len(b)%4 != 0 || string(checksum(model, h, b)) != string(sum) {
		return nil, false
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, Check(v) == nil
}

// encode gives little-endian float32, bit for bit.
func encode(v []float32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}
