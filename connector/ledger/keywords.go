package ledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/kbsync/kbsync/connector"
)

// The keyword index says which chunks of a target have which keyword. Its tables exist only where a pipeline asks for keywords. A chunk's
// rows are written in the transaction that says it is stored, and a trigger removes them with the chunk, whoever removes that.
const keywordTables = `
CREATE TABLE terms(n INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE TABLE keywords(target INTEGER NOT NULL, doc INTEGER NOT NULL, id BLOB NOT NULL, term INTEGER NOT NULL, PRIMARY KEY(doc, id, term)) WITHOUT ROWID;
CREATE INDEX keywords_by_term ON keywords(term, target);
CREATE TABLE keyword_targets(target INTEGER PRIMARY KEY);
CREATE TRIGGER keywords_of_chunk AFTER DELETE ON chunks BEGIN DELETE FROM keywords WHERE doc=OLD.doc AND id=OLD.id; END;
CREATE TRIGGER keywords_of_target AFTER DELETE ON targets BEGIN DELETE FROM keyword_targets WHERE target=OLD.id; END;
`

const dropKeywordTables = `
DROP TRIGGER IF EXISTS keywords_of_chunk; DROP TRIGGER IF EXISTS keywords_of_target;
DROP TABLE IF EXISTS keywords; DROP TABLE IF EXISTS terms; DROP TABLE IF EXISTS keyword_targets;
`

const (
	sqlPutTerm      = "INSERT INTO terms(term) VALUES(?) ON CONFLICT DO UPDATE SET term=excluded.term RETURNING n"
	sqlPutKeyword   = "INSERT INTO keywords(target, doc, id, term) VALUES(?,?,?,?) ON CONFLICT DO NOTHING"
	sqlClearKeyword = "DELETE FROM keywords WHERE doc=? AND id=?"
)

// findKeywords notes whether the file has the index.
func (l *Ledger) findKeywords(ctx context.Context) error {
	err := l.write.QueryRowContext(ctx, "SELECT count(*)>0 FROM sqlite_master WHERE type='table' AND name='keywords'").Scan(&l.keywords)
	return wrap(l.path, "open", err)
}

// KeepKeywords makes the index where it is missing, or removes it where it is not wanted. It is called before any write of the run.
func (l *Ledger) KeepKeywords(ctx context.Context, keep bool) error {
	if keep == l.keywords {
		return nil
	}
	op, statements := "add-keywords", keywordTables
	if !keep {
		op, statements = "drop-keywords", dropKeywordTables
	}
	err := l.tx(ctx, op, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statements)
		return err
	})
	if err == nil {
		l.keywords = keep
	}
	return err
}

// HasKeywords says whether the index is there, and complete for this target.
func (t *Target) HasKeywords(ctx context.Context) (ok bool, err error) {
	if !t.l.keywords {
		return false, nil
	}
	err = t.l.read.QueryRowContext(ctx, "SELECT count(*)>0 FROM keyword_targets WHERE target=?", t.id).Scan(&ok)
	return ok, wrap(t.l.path, "keywords", err)
}

// KeywordsComplete records that the index has the keywords of every chunk that the target holds.
func (t *Target) KeywordsComplete(ctx context.Context) error {
	return t.l.tx(ctx, "complete-keywords", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO keyword_targets VALUES(?) ON CONFLICT DO NOTHING", t.id)
		return err
	})
}

// Keyworded is a chunk with its keywords, as an index keeps them.
type Keyworded struct {
	Ref
	Keywords []string
}

// SetKeywords replaces the keywords of chunks that the ledger knows; of others nothing is kept.
func (t *Target) SetKeywords(ctx context.Context, list []Keyworded) error {
	return t.l.tx(ctx, "set-keywords", func(tx *sql.Tx) error {
		for i := range list {
			var known bool
			if err := tx.QueryRowContext(ctx, "SELECT count(*)>0 FROM chunks WHERE doc=? AND id=?", list[i].Doc, list[i].ID[:]).Scan(&known); err != nil {
				return err
			}
			if !known {
				continue
			}
			if err := t.putKeywords(ctx, tx, list[i].Doc, list[i].ID, list[i].Keywords); err != nil {
				return err
			}
		}
		return nil
	})
}

// putKeywords replaces a chunk's keywords inside tx, where there is an index.
func (t *Target) putKeywords(ctx context.Context, tx *sql.Tx, doc int64, id connector.UUID, keywords []string) error {
	if !t.l.keywords {
		return nil
	}
	if _, err := tx.ExecContext(ctx, sqlClearKeyword, doc, id[:]); err != nil {
		return err
	}
	for _, k := range keywords {
		var term int64
		if err := tx.QueryRowContext(ctx, sqlPutTerm, k).Scan(&term); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, sqlPutKeyword, t.id, doc, id[:], term); err != nil {
			return err
		}
	}
	return nil
}

// copyKeywords gives the chunks of t that from has too the keywords that they have there, inside tx.
func (t *Target) copyKeywords(ctx context.Context, tx *sql.Tx, from *Target) error {
	if !t.l.keywords {
		return nil
	}
	for _, q := range []string{
		`DELETE FROM keywords WHERE target=?1 AND doc IN (SELECT b.n FROM docs b JOIN docs a ON a.target=?2 AND a.source=b.source AND a.key=b.key WHERE b.target=?1)`,
		`INSERT INTO keywords(target, doc, id, term) SELECT ?1, b.n, k.id, k.term FROM docs a JOIN keywords k ON k.doc=a.n
			JOIN docs b ON b.target=?1 AND b.source=a.source AND b.key=a.key WHERE a.target=?2 ON CONFLICT DO NOTHING`,
	} {
		if _, err := tx.ExecContext(ctx, q, t.id, from.id); err != nil {
			return err
		}
	}
	return nil
}

// KeywordCounts says how many chunks have each of these keywords; those that no chunk has are left out.
func (t *Target) KeywordCounts(ctx context.Context, keywords []string) (map[string]int, error) {
	counts := map[string]int{}
	if !t.l.keywords {
		return counts, nil
	}
	for part := range slices.Chunk(keywords, 512) {
		args := []any{t.id}
		for _, k := range part {
			args = append(args, k)
		}
		rows, err := t.l.read.QueryContext(ctx, `SELECT t.term, (SELECT count(*) FROM keywords k WHERE k.term=t.n AND k.target=?)
			FROM terms t WHERE t.term IN (`+marks(len(part))+`)`, args...)
		if err != nil {
			return nil, wrap(t.l.path, "keywords", err)
		}
		for rows.Next() {
			var term string
			var n int
			if err = rows.Scan(&term, &n); err != nil {
				break
			}
			if n > 0 {
				counts[term] = n
			}
		}
		if err == nil {
			err = rows.Err()
		}
		_ = rows.Close()
		if err != nil {
			return nil, wrap(t.l.path, "keywords", err)
		}
	}
	return counts, nil
}

// Related is a chunk that shares keywords with a question.
type Related struct {
	ID connector.UUID
	// Weight is the sum of the weights of the keywords that it shares.
	Weight int64
}

// Related are the k chunks with the greatest sum of weights of the keywords that they have, ties by id; none of the document without.
func (t *Target) Related(ctx context.Context, weights map[string]int64, without int64, k int) ([]Related, error) {
	if len(weights) == 0 || !t.l.keywords {
		return nil, nil
	}
	values := make([]byte, 0, 16*len(weights))
	args := make([]any, 0, 2*len(weights)+3)
	for _, term := range sortedKeys(weights) {
		if len(values) > 0 {
			values = append(values, ',')
		}
		values = append(values, "(?,?)"...)
		args = append(args, term, weights[term])
	}
	args = append(args, t.id, without, k)
	rows, err := t.l.read.QueryContext(ctx, `WITH q(term, weight) AS (VALUES `+string(values)+`)
		SELECT k.id, sum(q.weight) w FROM q JOIN terms t ON t.term=q.term JOIN keywords k ON k.term=t.n AND k.target=? WHERE k.doc<>?
		GROUP BY k.id ORDER BY w DESC, k.id LIMIT ?`, args...)
	if err != nil {
		return nil, wrap(t.l.path, "related", err)
	}
	defer func() { _ = rows.Close() }()
	var out []Related
	for rows.Next() {
		var r Related
		var id sql.RawBytes
		if err := rows.Scan(&id, &r.Weight); err != nil {
			return nil, wrap(t.l.path, "related", err)
		}
		copy(r.ID[:], id)
		out = append(out, r)
	}
	return out, wrap(t.l.path, "related", rows.Err())
}

func sortedKeys(m map[string]int64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// KeywordIndex is the whole index of the target: the chunks' ids by keyword, ascending.
func (t *Target) KeywordIndex(ctx context.Context) (map[string][]connector.UUID, error) {
	index := map[string][]connector.UUID{}
	if !t.l.keywords {
		return index, nil
	}
	rows, err := t.l.read.QueryContext(ctx, "SELECT t.term, k.id FROM keywords k JOIN terms t ON t.n=k.term WHERE k.target=? ORDER BY t.term, k.id", t.id)
	if err != nil {
		return nil, wrap(t.l.path, "keywords", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var term string
		var raw sql.RawBytes
		if err := rows.Scan(&term, &raw); err != nil {
			return nil, wrap(t.l.path, "keywords", err)
		}
		var id connector.UUID
		copy(id[:], raw)
		index[term] = append(index[term], id)
	}
	return index, wrap(t.l.path, "keywords", rows.Err())
}
