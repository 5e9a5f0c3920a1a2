package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
)

// Store is the store of texts and vectors of a pipeline, as `kbsync cache` works on it. It needs neither sink nor embedder.
type Store struct{ file *config.File }

// OpenStore names the store of a configuration.
func OpenStore(file *config.File) *Store { return &Store{file} }

func (s *Store) open(ctx context.Context, readOnly bool) (*ledger.Ledger, error) {
	return ledger.Open(ctx, LedgerPath(s.file), ledger.Options{ReadOnly: readOnly})
}

// Stats counts what is stored.
func (s *Store) Stats(ctx context.Context) (ledger.StoreStats, error) {
	l, err := s.open(ctx, true)
	if err != nil {
		return ledger.StoreStats{Vectors: map[string]int{}}, missingLedger(err)
	}
	st, err := l.Stats(ctx)
	return st, errors.Join(err, l.Close())
}

// Prune removes texts that no chunk uses, and their vectors. With dryRun it only counts.
func (s *Store) Prune(ctx context.Context, dryRun bool) (removed int, err error) {
	if dryRun {
		st, err := s.Stats(ctx)
		return st.Unused, err
	}
	err = s.alone(ctx, "kbsync cache prune", func(l *ledger.Ledger) (err error) {
		removed, err = l.Prune(ctx)
		return err
	})
	return removed, err
}

// PruneModel removes the vectors of one embedding model, or the answers of one language model, by its identity; the texts stay. With dryRun it
// only counts.
func (s *Store) PruneModel(ctx context.Context, identity string, dryRun bool) (removed int, err error) {
	err = s.alone(ctx, "kbsync cache prune", func(l *ledger.Ledger) (err error) {
		if removed, err = l.PruneAnswers(ctx, identity, dryRun); removed > 0 || err != nil {
			return err
		}
		if removed, err = l.PruneModel(ctx, identity, dryRun); errors.Is(err, ledger.ErrNoModel) {
			err = &UsageError{err}
		}
		return err
	})
	return removed, err
}

func (s *Store) alone(ctx context.Context, command string, fn func(*ledger.Ledger) error) error {
	lock, err := ledger.Acquire(LedgerPath(s.file), command)
	if err != nil {
		return err
	}
	l, err := s.open(ctx, false)
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	return errors.Join(fn(l), l.Close(), lock.Release())
}

// Export writes the store as JSON Lines.
func (s *Store) Export(ctx context.Context, w io.Writer) (n int, err error) {
	l, err := s.open(ctx, true)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for it, err := range l.Items(ctx) {
		if err == nil {
			err = enc.Encode(it)
		}
		if err != nil {
			return n, errors.Join(err, l.Close())
		}
		n++
	}
	for k, err := range l.Answers(ctx) {
		if err == nil {
			err = enc.Encode(answerLine(k))
		}
		if err != nil {
			return n, errors.Join(err, l.Close())
		}
		n++
	}
	return n, l.Close()
}

// keptAnswer is an answer of a language model in a line of an exported store. Raw, in base64, stands for a text that JSON cannot hold.
type keptAnswer struct {
	Prompt    string `json:"prompt"`
	Text      string `json:"text,omitempty"`
	Raw       []byte `json:"raw,omitempty"`
	Finish    int    `json:"finish"`
	TokensIn  int    `json:"tokens_in"`
	TokensOut int    `json:"tokens_out"`
}

// answerLine is the line of an answer: its hash is that of the request.
func answerLine(k ledger.KeptAnswer) any {
	a := keptAnswer{Prompt: k.Key.Prompt, Text: k.Answer.Text, Finish: int(k.Answer.Finish), TokensIn: k.Answer.TokensIn, TokensOut: k.Answer.TokensOut}
	if !utf8.ValidString(a.Text) {
		a.Text, a.Raw = "", []byte(a.Text)
	}
	return struct {
		Hash   string     `json:"hash"`
		Model  string     `json:"model"`
		Answer keptAnswer `json:"answer"`
	}{k.Key.Content, k.Key.Model, a}
}

func (x *importLine) kept() ledger.KeptAnswer {
	a := x.Answer
	text := a.Text
	if a.Raw != nil {
		text = string(a.Raw)
	}
	return ledger.KeptAnswer{
		Key:    ledger.AnswerKey{Content: x.Hash, Model: x.Model, Prompt: a.Prompt},
		Answer: connector.LLMAnswer{Text: text, Finish: connector.Finish(a.Finish), TokensIn: a.TokensIn, TokensOut: a.TokensOut},
	}
}

// Import reads what Export wrote; name stands for the reader in messages. Lines that are not what Export writes are left out and named in the
// report: the others are taken over. What the store has already stays.
func (s *Store) Import(ctx context.Context, name string, r io.Reader) (report Imported, err error) {
	err = s.alone(ctx, "kbsync cache import", func(l *ledger.Ledger) error {
		im := &importer{report: &report, name: name, dims: map[string]int{}, known: l.Dimensions, pending: map[string][]importLine{}}
		im.take = func(x *importLine) (bool, error) {
			if x.Text == nil && x.Answer == nil {
				return false, errors.New("it has no text, as the lines of a shared store: import it with --shared")
			}
			return true, nil
		}
		im.put = func(ctx context.Context, model string, lines []importLine) error {
			var entries []ledger.Entry
			var answers []ledger.KeptAnswer
			for i := range lines {
				if lines[i].Answer != nil {
					answers = append(answers, lines[i].kept())
					continue
				}
				entries = append(entries, ledger.Entry{Hash: lines[i].sum, Text: *lines[i].Text, Vector: lines[i].Vector})
			}
			if len(answers) > 0 {
				if err := l.AddAnswers(ctx, answers...); err != nil || len(entries) == 0 {
					return err
				}
			}
			_, err := l.Put(ctx, model, entries)
			return err
		}
		return im.run(ctx, r)
	})
	return report, err
}
