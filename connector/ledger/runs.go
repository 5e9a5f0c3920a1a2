package ledger

import (
	"context"
	"database/sql"
	"time"
)

// Run is one sync as the ledger remembers it. Ended is zero while it runs, or if it was killed.
type Run struct {
	ID      int64     `json:"id"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Outcome string    `json:"outcome"`
	Result  string    `json:"-"` // the run's report as JSON
}

// keepRuns bounds the history.
const keepRuns = 100

// BeginRun notes that a run starts and gives it a number.
func (l *Ledger) BeginRun(ctx context.Context) (id int64, err error) {
	err = l.tx(ctx, "begin-run", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE id <= (SELECT max(id) FROM runs) - ?", keepRuns); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "INSERT INTO runs(started, ended, outcome, result) VALUES(?, 0, 'interrupted', '') RETURNING id", time.Now().UnixNano()).Scan(&id)
	})
	return id, err
}

// EndRun notes how it ended.
func (l *Ledger) EndRun(ctx context.Context, id int64, outcome, result string) error {
	return l.tx(ctx, "end-run", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE runs SET ended=?, outcome=?, result=? WHERE id=?", time.Now().UnixNano(), outcome, result, id)
		return err
	})
}

// Runs lists the last runs, newest first.
func (l *Ledger) Runs(ctx context.Context, limit int) ([]Run, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT id, started, ended, outcome, result FROM runs ORDER BY id DESC LIMIT ?", limit)
	if err != nil {
		return nil, wrap(l.path, "runs", err)
	}
	defer func() { _ = rows.Close() }()
	var runs []Run
	for rows.Next() {
		var r Run
		var started, ended int64
		if err := rows.Scan(&r.ID, &started, &ended, &r.Outcome, &r.Result); err != nil {
			return nil, wrap(l.path, "runs", err)
		}
		r.Started = time.Unix(0, started).UTC()
		if ended != 0 {
			r.Ended = time.Unix(0, ended).UTC()
		}
		runs = append(runs, r)
	}
	return runs, wrap(l.path, "runs", rows.Err())
}
