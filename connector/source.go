package connector

import (
	"context"
	"iter"
	"strings"
)

// Order is the order in which a source lists its documents.
type Order int

const (
	// OrderNone promises nothing.
	OrderNone Order = iota
	// OrderTree is the order of a walk that visits each folder's entries by name: paths compare
	// component by component, that is, as bytes with "/" below every other byte (see [TreeKey]).
	OrderTree
	// OrderBytes is the byte order of paths, as object stores list.
	OrderBytes
)

// SourceCapabilities are the facts about an opened source.
type SourceCapabilities struct {
	Order Order
	// Versions says that Document.Version is always set.
	Versions bool
	// MaxTreeSize bounds, in bytes, the documents that are parsed as a tree; larger ones are cut as plain text. 0 means no bound.
	MaxTreeSize int64
}

// ChangeKind says what a [Change] reports.
type ChangeKind int

const (
	// ChangeUpsert says that the document is there, new or changed or not.
	ChangeUpsert ChangeKind = iota
	// ChangeSkip says that something is there that is no document (device file, over max_size); Reason says why.
	ChangeSkip
)

// Change is one item of a listing.
type Change struct {
	Kind     ChangeKind
	Document Document // for ChangeSkip only Path and URI are set
	Reason   string
}

// Source lists documents. Implementations are safe for one listing at a time; the Documents that a listing
// yields may be opened concurrently, also after it ended, until Close.
type Source interface {
	Capabilities() SourceCapabilities
	// Changes lists everything that is there. The consumer pulls, so a slow consumer slows the listing. A
	// *DocError spoils one document or one folder and the listing goes on; any other error is the last item: the
	// listing broke, and nothing may be deleted on its strength. Cancelling ctx ends it with ctx's error.
	// A listing that ends without such an error is a complete snapshot, of which absence means deletion
	// except below the paths that a *DocError named.
	Changes(ctx context.Context) iter.Seq2[Change, error]
	// Close releases what Open took.
	Close() error
}

// Resumer is a Source whose broken listing can go on where it broke: object stores list page by page.
type Resumer interface {
	Source
	// Resume goes on with the last listing, which ended with an error, right after the last item that it yielded. Before any
	// listing it starts one. Together with what came before it is one listing.
	Resume(ctx context.Context) iter.Seq2[Change, error]
}

// Watcher is a Source that hears of changes.
type Watcher interface {
	Source
	// Watch calls changed, from one goroutine, whenever something below the source may have changed, until ctx ends; then it
	// returns ctx's error. Any other error says that it cannot watch (any more): the caller polls instead. A change that happened
	// before ready was called may be missed; ready is called once.
	Watch(ctx context.Context, ready, changed func()) error
}

// TreeKey maps a path to a string whose byte order is the tree order of paths: "/" sorts below
// every other byte. It is injective.
func TreeKey(path string) string {
	if strings.IndexByte(path, '\x01') < 0 && strings.IndexByte(path, '\x02') < 0 && strings.IndexByte(path, '\x00') < 0 {
		return strings.ReplaceAll(path, "/", "\x01")
	}
	b := make([]byte, 0, len(path)+8)
	for i := range len(path) {
		switch c := path[i]; c {
		case '/':
			b = append(b, 1)
		case 0, 1, 2:
			b = append(b, 2, c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// TreePath is the inverse of [TreeKey].
func TreePath(key string) string {
	if strings.IndexByte(key, '\x02') < 0 {
		return strings.ReplaceAll(key, "\x01", "/")
	}
	b := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c == 1:
			b = append(b, '/')
		case c == 2 && i+1 < len(key):
			i++
			b = append(b, key[i])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
