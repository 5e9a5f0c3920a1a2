package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// shelf is a source in memory.
type shelf struct {
	mu       sync.Mutex
	versions map[string]string
	broken   error
	lists    int
	open     int
	hear     chan struct{} // what a watcher hears; nil: it cannot watch
	deaf     chan error    // ends the watching
	slow     time.Duration // until it is ready
}

type shelfConfig struct{}

func (s *shelf) set(path, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions == nil {
		s.versions = map[string]string{}
	}
	s.versions[path] = version
}

func (s *shelf) Capabilities() connector.SourceCapabilities { return connector.SourceCapabilities{} }

func (s *shelf) Changes(context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lists++
		for path, version := range s.versions { // in no order
			if !yield(connector.Change{Document: connector.Document{Path: path, Version: version}}, nil) {
				return
			}
		}
		if s.broken != nil {
			yield(connector.Change{}, s.broken)
		}
	}
}

func (s *shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	return nil
}

// watcherShelf hears of changes.
type watcherShelf struct{ *shelf }

func (s watcherShelf) Watch(ctx context.Context, ready, changed func()) error {
	if s.hear == nil {
		return errors.New("the limit of watches is reached")
	}
	time.Sleep(s.slow)
	ready()
	for {
		select {
		case <-s.hear:
			changed()
		case err := <-s.deaf:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// shelves is a registry with a kind for each shelf, and the configuration that names them.
func shelves(t *testing.T, yaml string, all map[string]connector.Source) Options {
	t.Helper()
	reg := &connector.Registry{}
	yaml = "name: test\n" + yaml + "\nsources:\n"
	for kind, src := range all {
		yaml += fmt.Sprintf("  - %s: {}\n", kind)
		s, ok := src.(*shelf)
		if !ok {
			s = src.(watcherShelf).shelf
		}
		err := reg.Sources.Add(kind, connector.Define(kind, "test", shelfConfig{}, func(context.Context, *shelfConfig, connector.Env) (connector.Source, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.open++
			return src, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return Options{Registry: reg, Watch: true, Load: func() (*config.File, error) {
		return config.Parse("kbsync.yaml", []byte(yaml), reg, config.Options{})
	}}
}

func added(context.Context, int) (r pipeline.Result, err error) {
	r.Documents.Added = 1
	return r, nil
}

// TestPolling: a source that tells of nothing is listed now and then; a run follows where the listing differs.
func TestPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &shelf{}
		for i := range 20 {
			s.set(fmt.Sprint(i), "1")
		}
		e := &fakeEngine{do: added}
		r := start(t, e, shelves(t, "sync: { poll: 1m, debounce: 1s }", map[string]connector.Source{"shelf": s}))
		until(begin, 5*time.Minute+30*time.Second) // the first listing cannot be compared: 61
		s.set("3", "2")                            // seen at 360: 361
		until(begin, 8*time.Minute+30*time.Second)
		s.mu.Lock()
		s.broken = errors.New("503") // a broken listing tells nothing
		delete(s.versions, "4")
		s.mu.Unlock()
		until(begin, 10*time.Minute+30*time.Second)
		s.mu.Lock()
		s.broken = nil // seen at 660: 661
		s.mu.Unlock()
		until(begin, 15*time.Minute+30*time.Second)
		s.set("5", "") // no version: every listing may hide a change. 961, 1021, 1081
		until(begin, 18*time.Minute+30*time.Second)
		r.stop()
		if got := e.starts(begin); got != "0 61 361 661 961 1021 1081" {
			t.Errorf("runs at %s", got)
		}
		if s.lists != 18 || s.open != 0 {
			t.Errorf("%d listings, %d left open", s.lists, s.open)
		}
	})
}

// TestWatching: a source that tells of changes is not listed; the first run waits until it is watched.
func TestWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &shelf{hear: make(chan struct{}), deaf: make(chan error), slow: 5 * time.Second}
		e := &fakeEngine{do: added}
		r := start(t, e, shelves(t, "sync: { poll: 1m, debounce: 1s }", map[string]connector.Source{"shelf": watcherShelf{s}}))
		until(begin, time.Minute) // 5
		s.hear <- struct{}{}      // 61
		until(begin, 2*time.Minute)
		r.reload <- os.Interrupt // opens it anew
		until(begin, 3*time.Minute)
		s.hear <- struct{}{}                                    // 181
		until(begin, 4*time.Minute)                             // from now on it is polled: 241 for what was missed, and 301
		s.deaf <- errors.New("the limit of watches is reached") //
		until(begin, 10*time.Minute+30*time.Second)             //
		r.stop()
		if got := e.starts(begin); got != "5 61 181 241 301" {
			t.Errorf("runs at %s", got)
		}
		if s.lists != 6 || s.open != 0 {
			t.Errorf("%d listings, %d left open", s.lists, s.open)
		}
	})
}

// TestWatchBoth: a schedule and changes together; a watch that does not begin keeps nothing from stopping.
func TestWatchBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &shelf{hear: make(chan struct{}), deaf: make(chan error)}
		cannot := &shelf{}
		e := &fakeEngine{do: added}
		r := start(t, e, shelves(t, "sync: { poll: 1h, debounce: 1s, schedule: '@every 10m' }", map[string]connector.Source{"a": watcherShelf{s}, "b": watcherShelf{cannot}}))
		until(begin, 5*time.Minute) // 0, and 1 for what b missed
		s.hear <- struct{}{}
		until(begin, 20*time.Minute+30*time.Second)
		r.stop()
		if got := e.starts(begin); got != "0 301 600 1200" && got != "0 1 301 600 1200" {
			t.Errorf("runs at %s", got)
		}
		s = &shelf{hear: make(chan struct{}), slow: time.Hour}
		begin = time.Now()
		r = start(t, e, shelves(t, "", map[string]connector.Source{"a": watcherShelf{s}}))
		until(begin, time.Minute)
		close(r.drain)
		time.Sleep(time.Hour)
		if err := <-r.done; err != nil {
			t.Error(err)
		}
	})
}
