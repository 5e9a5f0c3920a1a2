package vectorstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"
)

// overhead is what a vector takes beside its numbers: key, checksum, index, half-empty pages.
const overhead = 160

// ModelStats counts the vectors of one model.
type ModelStats struct {
	Model   string `json:"model"`
	Vectors int    `json:"vectors"`
	// Bytes is about what they take in the file.
	Bytes int64 `json:"bytes"`
	// LastUse is when one of them was last looked up or added, true to a day.
	LastUse time.Time `json:"last_use"`
}

// Stats counts the vectors of each model, by identity.
func (s *Store) Stats(ctx context.Context) ([]ModelStats, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT m.identity, count(*), sum(4*k.dims+?), max(k.used) FROM keys k JOIN models m ON m.id=k.model
		GROUP BY m.id ORDER BY 1`, overhead)
	if err != nil {
		return nil, wrap(s.path, "stats", err)
	}
	defer func() { _ = rows.Close() }()
	out := []ModelStats{}
	for rows.Next() {
		var m ModelStats
		var used int64
		if err := rows.Scan(&m.Model, &m.Vectors, &m.Bytes, &used); err != nil {
			return nil, wrap(s.path, "stats", err)
		}
		m.LastUse = time.Unix(used, 0).UTC()
		out = append(out, m)
	}
	return out, wrap(s.path, "stats", rows.Err())
}

// PruneOptions say what goes; each criterion that is set removes what it names. Model narrows the others; alone it removes all of that model.
type PruneOptions struct {
	Model     string        // identity
	OlderThan time.Duration // not used for so long; 0: whatever its age
	MaxBytes  int64         // those used longest ago go until the rest takes no more than this; 0: no bound
	DryRun    bool          // count, remove nothing
}

// Pruned is what Prune removed, or would remove.
type Pruned struct {
	Vectors int   `json:"vectors"`
	Bytes   int64 `json:"bytes"`
}

// pruneBatch is how many vectors go in one transaction: others wait no longer than for these.
const pruneBatch = 500

// Prune removes vectors, those used longest ago first, and gives their space back. What is used meanwhile stays.
func (s *Store) Prune(ctx context.Context, opts PruneOptions) (p Pruned, err error) {
	if opts.Model == "" && opts.OlderThan <= 0 && opts.MaxBytes <= 0 {
		return p, errors.New("vector store: prune: nothing says what is to go")
	}
	var model sql.NullInt64
	if opts.Model != "" {
		err := s.read.QueryRowContext(ctx, "SELECT id FROM models WHERE identity=?", opts.Model).Scan(&model)
		if errors.Is(err, sql.ErrNoRows) {
			return p, noModel(s.path, opts.Model)
		}
		if err != nil {
			return p, wrap(s.path, "prune", err)
		}
	}
	// A negative excess means that the size is no reason.
	r := &pruner{s: s, model: model, opts: opts, before: s.now().Add(-opts.OlderThan).Unix(), excess: -1}
	if opts.OlderThan <= 0 {
		r.before = -1
		if opts.MaxBytes <= 0 {
			r.all = true
		}
	}
	if opts.MaxBytes > 0 {
		var total int64
		if err := s.read.QueryRowContext(ctx, "SELECT coalesce(sum(4*dims+?), 0) FROM keys WHERE ?2 IS NULL OR model=?2", overhead, model).Scan(&total); err != nil {
			return p, wrap(s.path, "prune", err)
		}
		r.excess = total - opts.MaxBytes
	}
	for more := true; more; {
		if more, err = r.batch(ctx); err != nil {
			return r.done, err
		}
	}
	if opts.DryRun || r.done.Vectors == 0 {
		return r.done, nil
	}
	return r.done, s.shrink(ctx)
}

// pruner walks the keys by use.
type pruner struct {
	s      *Store
	model  sql.NullInt64
	opts   PruneOptions
	before int64 // used before this: goes; -1: age is no reason
	excess int64 // bytes that are too many
	all    bool
	done   Pruned

	used int64 // the key that was looked at last
	id   int64
	hash []byte
}

// batch removes the next few; more is false when it came to the end.
func (r *pruner) batch(ctx context.Context) (more bool, err error) {
	if r.opts.DryRun {
		return r.walk(ctx, r.s.read, nil)
	}
	err = r.s.tx(ctx, "prune", func(tx *sql.Tx) error {
		more, err = r.walk(ctx, tx, func(id, n int64, hash []byte) error {
			if _, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE n=?", n); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "DELETE FROM keys WHERE model=? AND hash=?", id, hash)
			return err
		})
		return err
	})
	return more, err
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type prunable struct {
	used, id, n, dims int64
	hash              []byte
}

func (r *pruner) walk(ctx context.Context, q queryer, remove func(id, n int64, hash []byte) error) (more bool, err error) {
	if r.hash == nil {
		r.used, r.id, r.hash = -1<<62, -1, []byte{}
	}
	page, err := r.page(ctx, q)
	if err != nil {
		return false, err
	}
	for i := range page {
		x := &page[i]
		size := 4*x.dims + overhead
		if !r.all && x.used >= r.before && r.excess <= 0 {
			return false, nil // so are all that follow
		}
		if remove != nil {
			if err := remove(x.id, x.n, x.hash); err != nil {
				return false, err
			}
		}
		r.used, r.id, r.hash = x.used, x.id, x.hash
		r.excess -= size
		r.done.Vectors++
		r.done.Bytes += size
	}
	return len(page) == pruneBatch, nil
}

func (r *pruner) page(ctx context.Context, q queryer) (page []prunable, err error) {
	rows, err := q.QueryContext(ctx, `SELECT used, model, hash, n, dims FROM keys WHERE (used, model, hash) > (?1, ?2, ?3) AND (?4 IS NULL OR model=?4)
		ORDER BY used, model, hash LIMIT ?5`, r.used, r.id, r.hash, r.model, pruneBatch)
	if err != nil {
		return nil, wrap(r.s.path, "prune", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var x prunable
		if err := rows.Scan(&x.used, &x.id, &x.hash, &x.n, &x.dims); err != nil {
			return nil, wrap(r.s.path, "prune", err)
		}
		page = append(page, x)
	}
	return page, wrap(r.s.path, "prune", rows.Err())
}

// shrink gives free pages back to the file system, a few at a time.
func (s *Store) shrink(ctx context.Context) error {
	for {
		var free int
		if err := s.write.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil {
			return wrap(s.path, "shrink", err)
		}
		if free == 0 {
			break
		}
		if _, err := s.write.ExecContext(ctx, "PRAGMA incremental_vacuum(1024)"); err != nil {
			return wrap(s.path, "shrink", err)
		}
		var now int
		if err := s.write.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&now); err != nil || now >= free {
			return wrap(s.path, "shrink", err)
		}
	}
	// Others may be reading: then the log is brought into the file later.
	_, _ = s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return nil
}

// Item is one vector of the store.
type Item struct {
	Model string
	Vector
}

// pageItems bounds one page of a listing: no read transaction stays open between pages.
const pageItems = 256

// Items yields every sound vector, by model and hash.
func (s *Store) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		id, hash := int64(-1), []byte{}
		for {
			n := 0
			rows, err := s.read.QueryContext(ctx, `SELECT k.model, k.hash, m.identity, v.sum, v.v FROM keys k JOIN models m ON m.id=k.model
				LEFT JOIN vectors v ON v.n=k.n WHERE (k.model, k.hash) > (?, ?) ORDER BY k.model, k.hash LIMIT ?`, id, hash, pageItems)
			var page []Item
			for err == nil && rows.Next() {
				var it Item
				var sum, v []byte
				if err = rows.Scan(&id, &hash, &it.Model, &sum, &v); err != nil {
					break
				}
				n++
				if len(hash) != len(it.Hash) {
					continue
				}
				it.Hash = Hash(hash)
				var ok bool
				if it.Values, ok = decode(it.Model, it.Hash, sum, v); ok {
					page = append(page, it)
				}
			}
			if rows != nil {
				err = errors.Join(err, rows.Err(), rows.Close())
			}
			if err != nil {
				yield(Item{}, wrap(s.path, "items", err))
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if n < pageItems {
				return
			}
		}
	}
}

// Dimensions is the number of dimensions that the store's vectors of a model have; 0 if it has none.
func (s *Store) Dimensions(ctx context.Context, model string) (dims int, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT dims FROM keys WHERE model=(SELECT id FROM models WHERE identity=?) LIMIT 1", model).Scan(&dims)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return dims, wrap(s.path, "dimensions", err)
}

// ErrNoModel says that the store holds no vector of a model.
var ErrNoModel = errors.New("no vectors of this model")

func noModel(path, model string) error {
	return fmt.Errorf("vector store: %s: %w: %s; kbsync cache stats --shared lists them", path, ErrNoModel, model)
}
