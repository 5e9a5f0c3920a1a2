package pipeline

import (
	"context"
	"maps"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// A document may take in others of its source ([connector.Document.Sibling]): then it is unchanged only while they are. What was taken in is
// remembered in the document's facts, by path and version, and its version in the ledger bears a mark, so that a listing looks at the facts of
// these documents alone.

const (
	// takesIn marks the version of a document that takes in others: no listed version starts so.
	takesIn = "&"
	// absent is the version of what was asked for and is not there: it may come.
	absent = "-"
)

// inputs notes what a document takes in.
type inputs struct {
	mu    sync.Mutex
	facts *facts
}

// watchInputs puts itself between a document and its siblings.
func watchInputs(doc *connector.Document, f *facts) {
	find := doc.Sibling
	if find == nil {
		return
	}
	in := &inputs{facts: f}
	doc.Sibling = func(ctx context.Context, path string) (*connector.Document, error) {
		d, version, err := inputOf(ctx, find, path)
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.facts.Inputs == nil {
			in.facts.Inputs = map[string]string{}
		}
		if before, asked := in.facts.Inputs[path]; asked && before != version {
			version = "" // it changed while the document was read
		}
		in.facts.Inputs[path] = version
		return d, err
	}
}

// inputOf finds a sibling and says under which version it counts. One that cannot be trusted yet, or whose finding failed, never counts as unchanged.
func inputOf(ctx context.Context, find func(context.Context, string) (*connector.Document, error), path string) (*connector.Document, string, error) {
	d, err := find(ctx, path)
	switch class := connector.ClassOf(err); {
	case class == connector.ClassNotFound, class == connector.ClassInvalid:
		return nil, absent, err
	case err != nil:
		return nil, "", err
	case d.Version == "" || d.Unsettled:
		return d, "", nil
	}
	return d, d.Version, nil
}

// sameVersion says whether a listed document is the one that the ledger knows, with all that it takes in.
func (m *merge) sameVersion(ctx context.Context, doc *connector.Document, known ledger.Listed) (bool, error) {
	if doc.Version == "" || known.Version == doc.Version {
		return doc.Version != "", nil
	}
	if known.Version != takesIn+doc.Version || doc.Sibling == nil {
		return false, nil
	}
	d, ok, err := m.ls.t.Doc(ctx, m.src.name, doc.Path)
	if err != nil || !ok {
		return false, err
	}
	f, ok := decodeFacts(d.Facts)
	if !ok {
		return false, nil
	}
	for path, version := range f.Inputs {
		if _, now, _ := inputOf(ctx, doc.Sibling, path); now != version || now == "" {
			return false, ctx.Err()
		}
	}
	return true, nil
}

// sameInputs says whether a document that was read took in what it took in before. What could not be trusted is never the same.
func sameInputs(a, b *facts) bool {
	for _, version := range b.Inputs {
		if version == "" {
			return false
		}
	}
	return maps.Equal(a.Inputs, b.Inputs)
}
