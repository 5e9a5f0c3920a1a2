package service

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// watchers are the goroutines that look after the sources, one each.
type watchers struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	ready  []chan struct{} // closed when a source is watched, or polled
}

// startWatching starts them; none where nothing is watched.
func (s *Service) startWatching(ctx context.Context) *watchers {
	ctx, cancel := context.WithCancel(ctx)
	w := &watchers{cancel: cancel}
	if !s.opts.Watch {
		return w
	}
	env := pipeline.Env(s.file, s.log)
	for _, conf := range s.file.Sources {
		ready := make(chan struct{})
		w.ready = append(w.ready, ready)
		one := &watched{s: s, conf: conf, env: env, poll: s.file.Sync.Poll, ready: sync.OnceFunc(func() { close(ready) })}
		w.wg.Go(func() {
			defer one.ready()
			one.run(ctx)
		})
	}
	return w
}

// stop ends them and waits for them.
func (w *watchers) stop() {
	w.cancel()
	w.wg.Wait()
}

// await waits until all of them watch. It is false when ctx ends first; draining ends it as well.
func (w *watchers) await(ctx context.Context, drain <-chan struct{}) bool {
	for _, ready := range w.ready {
		select {
		case <-ready:
		case <-drain:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// watched is one source that is looked after.
type watched struct {
	s     *Service
	conf  config.SourceConf
	env   connector.Env
	poll  time.Duration
	ready func()

	said   bool
	digest [sha256.Size]byte
	known  bool // digest is that of the last listing
}

// run watches the source as long as it can be watched, then polls it.
func (w *watched) run(ctx context.Context) {
	if err := guarded(func() error { return w.watch(ctx) }); err != nil && ctx.Err() == nil {
		w.s.log.Warn("the source cannot be watched: it is listed now and then instead", "source", w.conf.Name, "every", w.poll.String(), "error", err)
		w.s.Notify() // what happened since may have been missed
	}
	w.ready()
	tick := time.NewTicker(w.poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed := false
		err := guarded(func() (err error) {
			changed, err = w.list(ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !w.said:
			w.said = true // the runs tell of it as well
			w.s.log.Warn("the source cannot be listed", "source", w.conf.Name, "error", err)
		case err == nil:
			w.said = false
		}
		if changed {
			w.s.Notify()
		}
	}
}

// open opens the source.
func (w *watched) open(ctx context.Context) (connector.Source, error) {
	plugin, ok := w.s.opts.Registry.Sources.Get(w.conf.Kind)
	if !ok {
		return nil, fmt.Errorf("kind %q is not in this build", w.conf.Kind)
	}
	return plugin.Open(ctx, w.conf.Config, w.env)
}

// watch returns an error when the source cannot be watched any more, nil where it is none that tells of changes.
func (w *watched) watch(ctx context.Context) error {
	src, err := w.open(ctx)
	if err != nil {
		return err
	}
	if watcher, ok := src.(connector.Watcher); ok {
		if err = watcher.Watch(ctx, w.ready, w.s.Notify); err == nil {
			err = errors.New("it stopped watching")
		}
	}
	return errors.Join(err, src.Close())
}

// list lists the source and says whether the listing differs from the one before, as the first one does. A listing that breaks
// tells nothing. Documents without a version, and those that may still change within one tick of a clock, count as changed.
func (w *watched) list(ctx context.Context) (changed bool, err error) {
	src, err := w.open(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	var sum [sha256.Size]byte
	sure := true
	for ch, err := range src.Changes(ctx) {
		var failed *connector.DocError
		switch {
		case errors.As(err, &failed):
			add(&sum, "failed", failed.Path)
			continue
		case err != nil:
			return false, err
		}
		d := &ch.Document
		if ch.Kind == connector.ChangeSkip {
			add(&sum, "skipped", d.Path)
			continue
		}
		sure = sure && d.Version != "" && !d.Unsettled
		add(&sum, "document", d.Path, d.Version)
	}
	changed = !w.known || sum != w.digest
	w.digest, w.known = sum, sure
	return changed, nil
}

// add adds an item's hash to a sum that does not depend on the order of the items and needs no memory of them.
func add(sum *[sha256.Size]byte, parts ...string) {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var item [sha256.Size]byte
	h.Sum(item[:0])
	for i := 0; i < sha256.Size; i += 8 {
		v := binary.BigEndian.Uint64(sum[i:]) + binary.BigEndian.Uint64(item[i:])
		binary.BigEndian.PutUint64(sum[i:], v)
	}
}
