package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNoModel says that the store holds no vector of a model.
var ErrNoModel = errors.New("no vectors of this model")

// PruneModel removes the vectors of the model of that identity, and says how many; the texts stay. With dry it only counts.
func (l *Ledger) PruneModel(ctx context.Context, identity string, dry bool) (removed int, err error) {
	var id int64
	err = l.read.QueryRowContext(ctx, "SELECT m.id, count(v.text) FROM models m JOIN vectors v ON v.model=m.id WHERE m.identity=? GROUP BY m.id", identity).Scan(&id, &removed)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("ledger: %s: %w: %s; kbsync cache stats lists them", l.path, ErrNoModel, identity)
	}
	if err != nil || dry {
		return removed, wrap(l.path, "prune", err)
	}
	return l.prune(ctx, "prune", "DELETE FROM vectors WHERE model=?", id)
}

// prune deletes the rows of a model, says how many there were, and gives their room back.
func (l *Ledger) prune(ctx context.Context, op, query string, model any) (removed int, err error) {
	err = l.tx(ctx, op, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, query, model)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		removed = int(n)
		return err
	})
	if err == nil {
		_, err = l.write.ExecContext(ctx, "VACUUM")
		err = wrap(l.path, "prune", err)
	}
	return removed, err
}

// Dimensions is the number of dimensions that the stored vectors of a model have; 0 if there are none.
func (l *Ledger) Dimensions(ctx context.Context, identity string) (dims int, err error) {
	err = l.read.QueryRowContext(ctx, "SELECT length(v.v)/4 FROM vectors v JOIN models m ON m.id=v.model WHERE m.identity=? LIMIT 1", identity).Scan(&dims)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return dims, wrap(l.path, "dimensions", err)
}
