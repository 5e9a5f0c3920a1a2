package ledger

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// answersTable is made by the first answer that is kept: ledgers without one are not changed, older versions of kbsync pass it over, and a
// ledger that is only read need not have it.
const answersTable = `CREATE TABLE IF NOT EXISTS answers(n INTEGER PRIMARY KEY, content BLOB NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
	text BLOB NOT NULL, finish INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, at INTEGER NOT NULL, UNIQUE(content, model, prompt))`

// AnswerKey is what an answer of a language model is kept under.
type AnswerKey struct {
	// Content is the SHA-256, in hexadecimal, of all that was sent.
	Content string
	// Model is the model's identity.
	Model string
	// Prompt is the prompt's name and version.
	Prompt string
}

func (k AnswerKey) content() ([]byte, error) {
	b, err := hex.DecodeString(k.Content)
	if err == nil && len(b) != 32 {
		err = fmt.Errorf("%d bytes", len(b))
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: an answer's content is no SHA-256 in hexadecimal: %w", err)
	}
	return b, nil
}

// hasAnswers tells whether any answer was ever kept.
func (l *Ledger) hasAnswers(ctx context.Context) (bool, error) {
	var one int
	err := l.read.QueryRowContext(ctx, "SELECT 1 FROM sqlite_master WHERE type='table' AND name='answers'").Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrap(l.path, "answers", err)
}

// Answer gives the answer that is kept under a key; ok is false where there is none.
func (l *Ledger) Answer(ctx context.Context, key AnswerKey) (a connector.LLMAnswer, ok bool, err error) {
	content, err := key.content()
	if err != nil {
		return a, false, err
	}
	if some, err := l.hasAnswers(ctx); !some {
		return a, false, err
	}
	var text []byte
	err = l.read.QueryRowContext(ctx, "SELECT text, finish, tokens_in, tokens_out FROM answers WHERE content=? AND model=? AND prompt=?", content, key.Model, key.Prompt).
		Scan(&text, &a.Finish, &a.TokensIn, &a.TokensOut)
	if errors.Is(err, sql.ErrNoRows) {
		return a, false, nil
	}
	a.Text = string(text)
	return a, err == nil, wrap(l.path, "answer", err)
}

// KeptAnswer is an answer with its key.
type KeptAnswer struct {
	Key    AnswerKey
	Answer connector.LLMAnswer
}

// KeepAnswers keeps answers: once it returns without an error no crash loses them. An answer that is kept already is replaced.
func (l *Ledger) KeepAnswers(ctx context.Context, kept ...KeptAnswer) error {
	return l.putAnswers(ctx, kept, "REPLACE")
}

// AddAnswers keeps the answers under whose keys there is none yet.
func (l *Ledger) AddAnswers(ctx context.Context, kept ...KeptAnswer) error {
	return l.putAnswers(ctx, kept, "IGNORE")
}

func (l *Ledger) putAnswers(ctx context.Context, kept []KeptAnswer, or string) error {
	contents := make([][]byte, len(kept))
	for i := range kept {
		var err error
		if contents[i], err = kept[i].Key.content(); err != nil {
			return err
		}
	}
	return l.tx(ctx, "keep-answers", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, answersTable); err != nil {
			return err
		}
		for i := range kept {
			k, a := &kept[i].Key, &kept[i].Answer
			_, err := tx.ExecContext(ctx, "INSERT OR "+or+" INTO answers(content, model, prompt, text, finish, tokens_in, tokens_out, at) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
				contents[i], k.Model, k.Prompt, []byte(a.Text), a.Finish, a.TokensIn, a.TokensOut, time.Now().Unix())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Answers yields every answer that is kept, in the order in which they came.
func (l *Ledger) Answers(ctx context.Context) iter.Seq2[KeptAnswer, error] {
	return func(yield func(KeptAnswer, error) bool) {
		some, err := l.hasAnswers(ctx)
		if err != nil {
			yield(KeptAnswer{}, err)
		}
		if !some {
			return
		}
		rows, err := l.read.QueryContext(ctx, "SELECT content, model, prompt, text, finish, tokens_in, tokens_out FROM answers ORDER BY n")
		if err != nil {
			yield(KeptAnswer{}, wrap(l.path, "answers", err))
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var k KeptAnswer
			var content, text []byte
			if err := rows.Scan(&content, &k.Key.Model, &k.Key.Prompt, &text, &k.Answer.Finish, &k.Answer.TokensIn, &k.Answer.TokensOut); err != nil {
				yield(KeptAnswer{}, wrap(l.path, "answers", err))
				return
			}
			k.Key.Content, k.Answer.Text = hex.EncodeToString(content), string(text)
			if !yield(k, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(KeptAnswer{}, wrap(l.path, "answers", err))
		}
	}
}

// CountAnswers counts the answers that are kept, by model identity.
func (l *Ledger) CountAnswers(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	some, err := l.hasAnswers(ctx)
	if !some {
		return counts, err
	}
	rows, err := l.read.QueryContext(ctx, "SELECT model, count(*) FROM answers GROUP BY model")
	if err != nil {
		return nil, wrap(l.path, "answers", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var model string
		var n int
		if err := rows.Scan(&model, &n); err != nil {
			return nil, wrap(l.path, "answers", err)
		}
		counts[model] = n
	}
	return counts, wrap(l.path, "answers", rows.Err())
}

// PruneAnswers removes the answers of the model of that identity, and says how many. With dry it only counts.
func (l *Ledger) PruneAnswers(ctx context.Context, identity string, dry bool) (removed int, err error) {
	counts, err := l.CountAnswers(ctx)
	if err != nil || dry || counts[identity] == 0 {
		return counts[identity], err
	}
	return l.prune(ctx, "prune-answers", "DELETE FROM answers WHERE model=?", identity)
}
