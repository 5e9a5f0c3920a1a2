package pipeline

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

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

// Prune removes texts that no chunk uses, and their vectors.
func (s *Store) Prune(ctx context.Context) (removed int, err error) {
	err = s.alone(ctx, "kbsync cache prune", func(l *ledger.Ledger) (err error) {
		removed, err = l.Prune(ctx)
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
	return n, l.Close()
}

// Import reads what Export wrote. A line with a text whose hash is not that of it is refused, with its number.
func (s *Store) Import(ctx context.Context, r io.Reader) (n int, err error) {
	err = s.alone(ctx, "kbsync cache import", func(l *ledger.Ledger) error {
		d := json.NewDecoder(bufio.NewReader(r))
		for {
			var it ledger.StoreItem
			if err := d.Decode(&it); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return UsageErrorf("item %d: %w", n+1, err)
			}
			hash, err := itemHash(&it)
			if err != nil {
				return UsageErrorf("item %d: %w", n+1, err)
			}
			if _, err := l.Put(ctx, it.Model, []ledger.Entry{{Hash: hash, Text: it.Text, Vector: it.Vector}}); err != nil {
				return fmt.Errorf("item %d: %w", n+1, err)
			}
			n++
		}
	})
	return n, err
}

// itemHash is an item's address. That of a text is checked; a vector in context has one that cannot be.
func itemHash(it *ledger.StoreItem) (hash ledger.Hash, err error) {
	raw, err := hex.DecodeString(it.Hash)
	if err != nil || len(raw) != len(hash) {
		return hash, errors.New("the hash is not a SHA-256 in hexadecimal")
	}
	hash = ledger.Hash(raw)
	if it.Text != "" && hash != sha256.Sum256([]byte(it.Text)) {
		return hash, errors.New("the hash is not that of the text")
	}
	return hash, nil
}
