package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// stamp is how a ledger and a collection agree on which run wrote last. Before the first write of a run the ledger notes a
// new token, the collection gets it, and the ledger notes that it did: whatever kills the run in between, one of the two tokens
// that the ledger knows is the collection's. A ledger that knows neither is older than the collection, or of another machine.
type stamp struct {
	p *Pipeline
	l *ledger.Ledger
	o *opened

	mu   sync.Mutex
	done bool // this run has stamped
}

// tokens are what the ledger notes.
type tokens struct {
	Now  string `json:"now"`
	Next string `json:"next,omitempty"`
}

func (s *stamp) key() string {
	return "stamp:" + s.o.schema.Generation + "|" + s.p.sink.Target().String()
}

// read gives the tokens of all pipelines that write to the collection; ok is false where the sink keeps none.
func (s *stamp) read(ctx context.Context) (all map[string]string, ok bool, err error) {
	st, ok := s.o.coll.(connector.Stamper)
	if !ok {
		return nil, false, nil
	}
	var raw string
	err = s.p.retry(ctx, "read the collection's stamp", func() (err error) {
		raw, err = st.Stamp(ctx)
		return err
	})
	if err != nil {
		return nil, true, err
	}
	all = map[string]string{}
	if raw != "" {
		if err := json.Unmarshal([]byte(raw), &all); err != nil {
			all = map[string]string{} // not ours: as if there were none
		}
	}
	return all, true, nil
}

func (s *stamp) noted(ctx context.Context) (t tokens, err error) {
	raw, err := s.l.Meta(ctx, s.key())
	if err == nil && raw != "" {
		err = json.Unmarshal([]byte(raw), &t)
	}
	if err != nil {
		return t, fmt.Errorf("ledger: stamp: %w", err)
	}
	return t, nil
}

func (s *stamp) note(ctx context.Context, t tokens) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return s.l.SetMeta(ctx, s.key(), string(b))
}

// stale says whether somebody wrote to the collection whom the ledger knows nothing of.
func (s *stamp) stale(ctx context.Context) (bool, error) {
	all, ok, err := s.read(ctx)
	if err != nil || !ok {
		return false, err
	}
	t, err := s.noted(ctx)
	if err != nil {
		return false, err
	}
	have := all[s.p.file.Name]
	return have != t.Now && have != t.Next, nil
}

// adopt takes the collection's stamp for the ledger's own, when the ledger was rebuilt from it.
func (s *stamp) adopt(ctx context.Context) error {
	all, ok, err := s.read(ctx)
	if err != nil || !ok {
		return err
	}
	return s.note(ctx, tokens{Now: all[s.p.file.Name]})
}

// renew stamps the collection, once a run, before the run's first write.
func (s *stamp) renew(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil
	}
	all, ok, err := s.read(ctx)
	if err != nil || !ok {
		s.done = err == nil
		return err
	}
	t := tokens{Now: all[s.p.file.Name], Next: rand.Text()[:12]}
	if err := s.note(ctx, t); err != nil {
		return err
	}
	all[s.p.file.Name] = t.Next
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	st, _ := s.o.coll.(connector.Stamper)
	if err := s.p.retry(ctx, "stamp the collection", func() error { return st.SetStamp(ctx, string(b)) }); err != nil {
		return err
	}
	s.done = true
	return s.note(ctx, tokens{Now: t.Next})
}
