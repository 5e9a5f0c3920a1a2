package httpsource

import (
	"context"
	"net/url"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// listing is one listing with its place: at most max_pages URLs. What breaks leaves the place where it is.
type listing struct {
	source *Source
	ready  bool // starts and sitemaps are in the queue
	files  []sitemapFile
	fetchN int
	queue  []item
	at     int
	seen   map[key]uint8
	full   bool
	blind  int // pages that failed, so that what they link to is unknown
	rules  map[string]*robots
}

func newListing(s *Source) *listing {
	l := &listing{source: s, seen: map[key]uint8{}, rules: map[string]*robots{}}
	for _, u := range s.scope.urls {
		l.add(u, item{origin: explicit})
	}
	for _, u := range s.scope.sitemaps {
		l.files = append(l.files, sitemapFile{url: u})
	}
	return l
}

type yielder = func(connector.Change, error) bool

func (l *listing) run(ctx context.Context, yield yielder) {
	fail := func(err error) { yield(connector.Change{}, err) }
	if err := l.prepare(ctx); err != nil {
		fail(err)
		return
	}
	for l.at < len(l.queue) {
		window, err := l.window(ctx)
		if err != nil {
			fail(err)
			return
		}
		for i, out := range l.look(ctx, window) {
			if err := ctx.Err(); err != nil {
				fail(err)
				return
			}
			change, docErr, err := l.settle(ctx, window[i], out)
			if err != nil {
				fail(err)
				return
			}
			l.queue[l.at] = item{}
			l.at++
			if (change.Document.Path != "" || docErr != nil) && !yield(change, docErr) {
				return
			}
		}
	}
	if l.blind > 0 && !yield(connector.Change{}, l.unknown()) {
		return
	}
	l.blind = 0
	if l.full {
		fail(connector.Errorf(connector.ClassInvalid, "http: more than max_pages (%d) URLs: what was found is kept up to date, and nothing is deleted; raise max_pages, "+
			"or narrow include, exclude or max_depth", l.source.config.MaxPages))
		return
	}
	l.queue, l.at, l.seen, l.rules = nil, 0, nil, nil // whole: there is nothing to go on with
}

// unknown protects everything: which documents only the failed pages lead to, nobody knows.
func (l *listing) unknown() error {
	return &connector.DocError{Path: ".", Dir: true, Err: connector.Errorf(connector.ClassDenied,
		"http: the links of %d pages that failed are unknown, so nothing is deleted; exclude the pages if they are to stay so", l.blind)}
}

// prepare reads the sitemaps, file by file.
func (l *listing) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil || l.ready {
		return err
	}
	for len(l.files) > 0 {
		if err := l.sitemap(ctx, l.files[0]); err != nil {
			return err
		}
	}
	for _, u := range l.source.scope.crawls {
		l.add(u, item{origin: crawled})
	}
	l.ready = true
	return nil
}

// window takes the next few items; robots.txt has its say about each.
func (l *listing) window(ctx context.Context) ([]item, error) {
	var out []item
	for _, it := range l.queue[l.at:min(l.at+l.source.config.Concurrency, len(l.queue))] {
		if it.reason == "" && it.origin != explicit {
			allowed, err := l.allowed(ctx, it.url)
			switch {
			case err != nil && len(out) > 0:
				return out, nil // those before it first; then the error comes again
			case err != nil:
				return nil, err
			case !allowed:
				it.reason = "robots.txt disallows it"
			}
		}
		out = append(out, it)
	}
	return out, nil
}

func (l *listing) allowed(ctx context.Context, u *url.URL) (bool, error) {
	if !l.source.config.Robots {
		return true, nil
	}
	host := u.Scheme + "://" + u.Host
	r, ok := l.rules[host]
	if !ok {
		var err error
		if r, err = l.source.robotsOf(ctx, u); err != nil {
			return false, err
		}
		l.rules[host] = r
		l.source.limits.slow(u.Host, r.delay)
	}
	return r.allowed(u), nil
}

// look fetches the items of a window side by side.
func (l *listing) look(ctx context.Context, window []item) []outcome {
	out := make([]outcome, len(window))
	var wg sync.WaitGroup
	for i := range window {
		wg.Go(func() { out[i] = l.source.look(ctx, &window[i]) })
	}
	wg.Wait()
	return out
}

// settle turns an outcome into a change, or nothing, or the error of one document, or one that breaks the listing.
func (l *listing) settle(ctx context.Context, it item, out outcome) (change connector.Change, docErr, err error) {
	start := it.origin == crawled && it.depth == 0
	switch {
	case start && it.reason != "":
		return change, nil, connector.Errorf(connector.ClassDenied, "http: crawl: %s: %w", display(it.url), errRobots)
	case it.reason != "":
		return skipped(&it, it.reason), nil, nil
	case out.err != nil && (start || !spoils(out.err)):
		return change, nil, out.err
	case out.err != nil && connector.ClassOf(out.err) == connector.ClassNotFound:
		return change, nil, nil
	case out.err != nil:
		if it.origin == crawled && it.depth < l.source.config.MaxDepth && !looksLikeNoPage(it.url) {
			l.blind++
		}
		return change, &connector.DocError{Path: it.path, Err: out.err}, nil
	}
	if it.origin == crawled {
		here, err := l.arrive(ctx, &it, &out)
		if err != nil || !here {
			return change, nil, err
		}
	}
	if it.quiet {
		return change, nil, nil
	}
	if out.skip != "" {
		return skipped(&it, out.skip), nil, nil
	}
	p := &page{source: l.source, url: it.url, path: it.path, hosts: l.source.confines(it.origin), listed: out.facts, dated: out.dated}
	if out.data != nil {
		l.source.bodies.put(&kept{path: it.path, data: out.data, facts: out.facts})
	}
	return connector.Change{Document: p.document()}, nil, nil
}

// skipped reports what is no document, unless nobody asked for it.
func skipped(it *item, reason string) connector.Change {
	if it.quiet {
		return connector.Change{}
	}
	return connector.Change{Kind: connector.ChangeSkip, Reason: reason, Document: connector.Document{Path: it.path, URI: it.url.String()}}
}

// arrive follows a crawl to where redirects led, and takes up the page's links. false says that the page is another one's business.
func (l *listing) arrive(ctx context.Context, it *item, out *outcome) (bool, error) {
	s := l.source
	if out.final != nil && hostPath(out.final) != hostPath(it.url) {
		p, inside := s.scope.path(out.final)
		if !inside || !s.reach.Below(p) {
			return false, nil
		}
		allowed, err := l.allowed(ctx, out.final)
		if err != nil {
			return false, err
		}
		done := l.seen[keyOf(p)]
		if !allowed || done&wasCrawled != 0 {
			return false, nil
		}
		l.seen[keyOf(p)] |= wasCrawled
		it.url, it.path, it.quiet = out.final, p, done&wasListed != 0 || !s.filter.Below(p)
	}
	if out.canonical != nil && it.origin == crawled {
		p, inside := s.scope.path(out.canonical)
		if inside && p != it.path && s.scope.crawlHosts[out.canonical.Host] && s.filter.Below(p) {
			allowed, err := l.allowed(ctx, out.canonical)
			if err != nil {
				return false, err
			}
			if allowed {
				l.add(out.canonical, item{origin: crawled, depth: it.depth})
				out.skip = "its canonical page is " + p
			}
		}
	}
	if it.depth < s.config.MaxDepth {
		for _, u := range out.links {
			l.add(u, item{origin: crawled, depth: it.depth + 1})
		}
	}
	return true, nil
}
