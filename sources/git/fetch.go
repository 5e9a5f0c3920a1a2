package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/kbsync/kbsync/connector"
)

// session is one connection to git-upload-pack. go-git's own Remote is not used: its transports are global, wait forever and send
// credentials wherever they are redirected to.
type session interface {
	AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error)
	UploadPack(ctx context.Context, request *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	Close() error
}

// helloError is a failure before the server said anything that git understands.
type helloError struct{ err error }

func (e *helloError) Error() string { return e.err.Error() }

func (e *helloError) Unwrap() error { return e.err }

var errSilent = errors.New("the server is silent")

// fetch brings the ref into a store and gives its commit.
func (s *Source) fetch(parent context.Context, st *store) (plumbing.Hash, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	alive := func() {}
	if s.config.Timeout > 0 {
		timer := time.AfterFunc(s.config.Timeout, func() { cancel(errSilent) })
		defer timer.Stop()
		alive = func() { timer.Reset(s.config.Timeout) }
	}
	commit, err := s.fetchThrough(ctx, st, alive)
	switch {
	case err == nil:
		return commit, nil
	case parent.Err() != nil:
		return commit, parent.Err()
	case errors.Is(context.Cause(ctx), errSilent):
		return commit, connector.Errorf(connector.ClassTransient, "git: %s: nothing came for %v (timeout)", s.address.display, s.config.Timeout)
	}
	return commit, s.fetchError(err)
}

func (s *Source) fetchThrough(ctx context.Context, st *store, alive func()) (commit plumbing.Hash, err error) {
	conn, err := s.dial(ctx, alive)
	if err != nil {
		return commit, err
	}
	defer func() {
		if closed := conn.Close(); err == nil {
			err = closed
		}
	}()
	adv, err := conn.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return commit, s.refMissing(nil)
	}
	if err != nil {
		return commit, &helloError{err}
	}
	want, depth, wants, err := s.choose(adv)
	if err != nil {
		return commit, err
	}
	tips, err := st.tips()
	if err != nil {
		return commit, err
	}
	if !tips[want] {
		if err := download(ctx, conn, st, adv, request{wants: wants, depth: depth, haves: tips}); err != nil {
			return commit, err
		}
	}
	commit, err = st.treeAt(want)
	if errors.Is(err, errMissing) && !tips[want] {
		return commit, connector.Errorf(connector.ClassNotFound, "git: there is no commit %s in %s", want, s.address.display)
	}
	if err != nil {
		return commit, fmt.Errorf("%w: %w", errDamaged, err)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return commit, st.storages[0].SetReference(plumbing.NewHashReference(tipName(s.refName()), want))
}

// choose finds what the ref is on the server, and what to ask for to get it.
func (s *Source) choose(adv *packp.AdvRefs) (want plumbing.Hash, depth int, wants []plumbing.Hash, err error) {
	depth = s.config.Depth
	if !adv.Capabilities.Supports(capability.Shallow) {
		depth = 0
	}
	if plumbing.IsHash(s.config.Ref) {
		want = plumbing.NewHash(s.config.Ref)
		for _, h := range adv.References {
			if h == want {
				return want, depth, []plumbing.Hash{want}, nil
			}
		}
		if adv.Capabilities.Supports(capability.AllowReachableSHA1InWant) || adv.Capabilities.Supports(capability.AllowTipSHA1InWant) {
			return want, depth, []plumbing.Hash{want}, nil
		}
		// The server does not hand out single commits: everything is fetched, and the commit is in it or is not there.
		for name, h := range adv.References {
			if strings.HasPrefix(name, branchPrefix) || strings.HasPrefix(name, tagPrefix) {
				wants = append(wants, h)
			}
		}
		return want, 0, wants, nil
	}
	for _, name := range refNames(s.config.Ref) {
		h, ok := adv.References[name]
		if name == "HEAD" && adv.Head != nil {
			h, ok = *adv.Head, true
		}
		if ok {
			return h, depth, []plumbing.Hash{h}, nil
		}
	}
	known := make([]string, 0, len(adv.References))
	for name := range adv.References {
		known = append(known, name)
	}
	return want, 0, nil, s.refMissing(known)
}
