package httpsource

import (
	"crypto/sha256"
	"fmt"
	"net/url"
)

// origin says what named a URL.
type origin uint8

const (
	explicit origin = iota
	mapped
	crawled
)

// item is a URL that is to be looked at.
type item struct {
	url     *url.URL
	path    string
	origin  origin
	quiet   bool // fetched for its links alone: it is listed already, or not included
	depth   int
	lastmod string
	reason  string // why it is skipped without being fetched
}

// key stands for a path among those that a listing met.
type key [16]byte

func keyOf(path string) key {
	sum := sha256.Sum256([]byte(path))
	return key(sum[:16])
}

// What was done about a path.
const (
	wasListed  = 1 << iota // by urls or a sitemap
	wasCrawled             // fetched for its links
)

// add puts a URL that is in scope and new into the queue.
func (l *listing) add(u *url.URL, it item) {
	s := l.source
	var inside bool
	it.url = u
	it.path, inside = s.scope.path(u)
	switch {
	case !inside:
		return
	case it.origin == crawled:
		if !s.scope.crawlHosts[u.Host] || !s.reach.Below(it.path) {
			return
		}
		it.quiet = !s.filter.Below(it.path)
		if it.quiet && it.depth > 0 && (it.depth == s.config.MaxDepth || looksLikeNoPage(u)) {
			return
		}
	case !s.filter.Below(it.path):
		return
	case it.origin == mapped && !s.scope.sitemapHosts[u.Host]:
		it.reason = fmt.Sprintf("its host is not that of the sitemap; add %s to hosts if it should be listed", u.Host)
	}
	k := keyOf(it.path)
	done, known := l.seen[k]
	mark := uint8(wasListed)
	if it.origin == crawled {
		mark = wasCrawled
		it.quiet = it.quiet || done&wasListed != 0
	}
	switch {
	case done&mark != 0:
		return
	case !known && len(l.seen) >= s.config.MaxPages:
		l.full = true
		return
	case len(u.String()) > maxURL:
		it.reason = fmt.Sprintf("its URL is longer than %d bytes", maxURL)
	}
	l.seen[k] |= mark
	l.queue = append(l.queue, it)
}
