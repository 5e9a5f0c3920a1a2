package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/vectorstore"
)

// job is a document to be looked at: listed, and not known to be unchanged.
type job struct {
	src      *openSource
	doc      connector.Document
	held     *held       // of a container
	unpacked bool        // it is one, and its members are listed
	fault    error       // why the container cannot be read
	old      *ledger.Doc // what the ledger has; nil for a new document
	modified time.Time
}

// listing is what one source's listing came to.
type listing struct {
	source  string
	had     int   // documents of the ledger that are still there
	listed  int   // documents the source listed
	err     error // the listing broke
	gone    *ledger.Spool
	goneN   int             // rows of the ledger that were not listed
	lost    int             // those of them that are documents, not skipped files
	blocked map[string]bool // paths at and below which nothing may be deleted: unreadable documents and folders
	jobs    int
}

// lister merges a source's listing with the ledger's.
type lister struct {
	p        *Pipeline
	l        *ledger.Ledger
	t        *ledger.Target
	tally    *tally
	checksum bool // trust no version
	dry      bool // write nothing
	drain    <-chan struct{}
	contents *contents

	own map[string]bool // URIs of the files that kbsync itself keeps

	touched []ledger.Doc // unchanged documents whose row needs a new epoch
}

// ErrDrained ends a sync that was asked to drain: a clean end, though not all was done.
var ErrDrained = errors.New("stopped: what was begun was finished, the rest is left for the next run")

// ownFiles are the URIs of ledger and sink: they change at every run and are no documents.
func (p *Pipeline) ownFiles() map[string]bool {
	path := LedgerPath(p.file)
	files := []string{path, path + "-wal", path + "-shm", path + "-journal", path + ".lock", path + ".lock.json"}
	if s, ok := p.sink.(connector.LocalFiles); ok {
		files = append(files, s.Files()...)
	}
	if path := SharedPath(p.file); path != "" {
		files = append(files, vectorstore.Files(path)...)
	}
	own := map[string]bool{}
	for _, f := range files {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(f)); err == nil {
			own[(&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, filepath.Base(f)))}).String()] = true
		}
		own[(&url.URL{Scheme: "file", Path: filepath.ToSlash(f)}).String()] = true
	}
	return own
}

// list calls do for each document that may have changed and collects those that vanished.
func (ls *lister) list(ctx context.Context, src *openSource, do func(job) error) (*listing, error) {
	out := &listing{source: src.name, gone: ls.l.NewSpool()}
	m := &merge{ls: ls, src: src, out: out, do: do}
	var err error
	if src.caps.Order == connector.OrderTree {
		err = m.ordered(ctx)
	} else {
		err = m.unordered(ctx)
	}
	if err == nil {
		err = m.flushGone(ctx, 0)
	}
	if terr := ls.flushTouched(ctx, 0); err == nil {
		err = terr
	}
	return out, err
}

// merge is one merging of a listing with the ledger.
type merge struct {
	ls   *lister
	src  *openSource
	out  *listing
	do   func(job) error
	gone [][]byte
}

// listing lists the source, and after each container what it holds.
func (m *merge) listing(ctx context.Context) iter.Seq2[listed, error] {
	u := &unpacker{p: m.ls.p, src: m.src, target: m.ls.t, checksum: m.ls.checksum, contents: m.ls.contents}
	return u.listing(ctx, m.ls.p.changes(ctx, m.src))
}

// ordered walks both lists, which have the same order, side by side.
func (m *merge) ordered(ctx context.Context) error {
	next, stop := iter.Pull2(m.ls.t.List(ctx, m.src.name))
	defer stop()
	row, lerr, more := next()
	lastKey := ""
	for it, err := range m.listing(ctx) {
		if done, ferr := m.fault(ctx, err); done {
			return ferr
		} else if err != nil {
			continue
		}
		key := connector.TreeKey(it.Document.Path)
		if key <= lastKey && lastKey != "" {
			return fmt.Errorf("source %s: listed %q out of order, after %q: please report this fault of the source", m.src.name, it.Document.Path, connector.TreePath(lastKey))
		}
		lastKey = key
		for more && lerr == nil && row.Key < key {
			if err := m.vanished(ctx, row); err != nil {
				return err
			}
			row, lerr, more = next()
		}
		if lerr != nil {
			return lerr
		}
		known, isKnown := row, more && row.Key == key
		if isKnown {
			m.out.count(row)
			row, lerr, more = next()
		}
		if err := m.item(ctx, &it, known, isKnown); err != nil {
			return err
		}
	}
	for ; more && m.out.err == nil; row, lerr, more = next() {
		if lerr != nil {
			return lerr
		}
		if err := m.vanished(ctx, row); err != nil {
			return err
		}
	}
	return lerr
}

// What a source without order listed is looked up in the ledger together: so many documents, or those of this time.
const (
	lookupItems = 500
	lookupWait  = 50 * time.Millisecond
)

// unordered asks the ledger for the documents and remembers, on disk, which it saw.
func (m *merge) unordered(ctx context.Context) error {
	seen, err := m.ls.l.NewSeen(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = seen.Close() }()
	var batch []listed
	last := time.Now()
	for it, err := range m.listing(ctx) {
		if done, ferr := m.fault(ctx, err); done {
			if ferr == nil {
				ferr = m.lookup(ctx, seen, batch)
			}
			return ferr
		} else if err != nil {
			continue
		}
		batch = append(batch, it)
		if len(batch) < lookupItems && time.Since(last) < lookupWait {
			continue
		}
		if err := m.lookup(ctx, seen, batch); err != nil {
			return err
		}
		batch, last = batch[:0], time.Now()
	}
	if err := m.lookup(ctx, seen, batch); err != nil {
		return err
	}
	return m.unseen(ctx, seen)
}

// lookup decides about what was listed.
func (m *merge) lookup(ctx context.Context, seen *ledger.Seen, batch []listed) error {
	if len(batch) == 0 {
		return nil
	}
	paths := make([]string, len(batch))
	for i := range batch {
		paths[i] = batch[i].Document.Path
	}
	known, err := m.ls.t.Lookup(ctx, m.src.name, paths)
	if err == nil {
		err = seen.Add(ctx, paths)
	}
	if err != nil {
		return err
	}
	for i := range batch {
		row, ok := known[paths[i]]
		if err := m.item(ctx, &batch[i], row, ok); err != nil {
			return err
		}
	}
	return nil
}

// unseen collects what the ledger has and the source did not list.
func (m *merge) unseen(ctx context.Context, seen *ledger.Seen) error {
	var rows []ledger.Listed
	decide := func() error {
		if len(rows) == 0 {
			return nil
		}
		paths := make([]string, len(rows))
		for i := range rows {
			paths[i] = connector.TreePath(rows[i].Key)
		}
		has, err := seen.Has(ctx, paths)
		if err != nil {
			return err
		}
		for i := range rows {
			if has[paths[i]] {
				m.out.count(rows[i])
			} else if err := m.vanished(ctx, rows[i]); err != nil {
				return err
			}
		}
		rows = rows[:0]
		return nil
	}
	for row, err := range m.ls.t.List(ctx, m.src.name) {
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) == lookupItems {
			if err := decide(); err != nil {
				return err
			}
		}
	}
	return decide()
}

// fault deals with an error item of a listing. done says that the merge ends here, with err.
func (m *merge) fault(ctx context.Context, err error) (done bool, _ error) {
	select {
	case <-m.ls.drain:
		m.out.err = ErrDrained
		return true, nil
	default:
	}
	if m.out.err = m.src.gone(); m.out.err != nil {
		return true, nil //nolint:nilerr // the listing broke, the merge did not
	}
	if err == nil {
		return false, nil
	}
	var de *connector.DocError
	if errors.As(err, &de) {
		m.out.block(de.Path)
		m.ls.tally.fail(ErrorRow{m.src.name, de.Path, "list", de.Err.Error()})
		return false, nil
	}
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	m.out.err = err
	return true, nil
}

// item decides about one listed thing.
func (m *merge) item(ctx context.Context, it *listed, known ledger.Listed, isKnown bool) error {
	ls, doc := m.ls, &it.Document
	if ls.own[doc.URI] {
		return nil
	}
	if it.Kind == connector.ChangeSkip {
		ls.tally.skip(m.src.name, doc.Path, it.Reason)
		if isKnown { // it was a document before
			return m.vanished(ctx, known)
		}
		return nil
	}
	ls.tally.progress.Listed(m.src.name)
	m.out.listed++
	if it.fault != nil {
		m.out.block(doc.Path)
	}
	unchanged := isKnown && !ls.checksum && it.fault == nil && (it.held == nil || it.was) && (known.State == ledger.DocOK || known.State == ledger.DocSkipped)
	if unchanged {
		var err error
		if unchanged, err = m.sameVersion(ctx, doc, known); err != nil {
			return err
		}
	}
	if unchanged {
		if known.Epoch == ls.p.router.epoch {
			ls.keep(known, doc)
			return nil
		}
		same, err := m.reroute(ctx, doc)
		if err != nil || same {
			return err
		}
	}
	j := job{src: m.src, doc: *doc, held: it.held, unpacked: it.unpacked, fault: it.fault}
	if isKnown {
		d, ok, err := ls.t.Doc(ctx, m.src.name, doc.Path)
		if err != nil {
			return err
		}
		if ok {
			j.old = &d
		}
	}
	m.out.jobs++
	return m.do(j)
}

// keep counts an unchanged document.
func (ls *lister) keep(known ledger.Listed, doc *connector.Document) {
	if known.State == ledger.DocSkipped {
		ls.tally.settle(Skipped, doc.Path, 0)
		return
	}
	ls.tally.do(func(r *Result) { r.Chunks.Unchanged += known.Chunks })
	ls.tally.settle(Unchanged, doc.Path, known.Chunks)
}

// reroute checks an unchanged document against a changed configuration by what is remembered of it.
func (m *merge) reroute(ctx context.Context, doc *connector.Document) (same bool, err error) {
	ls := m.ls
	d, ok, err := ls.t.Doc(ctx, m.src.name, doc.Path)
	if err != nil || !ok {
		return false, err
	}
	f, ok := decodeFacts(d.Facts)
	if !ok || f.URI != doc.URI {
		return false, nil
	}
	rt, err := ls.p.router.routeOf(m.src.name, doc.Path, f)
	if err != nil {
		return false, nil //nolint:nilerr // cutting it will say what is wrong
	}
	if ls.p.router.fingerprint(rt, f) != d.Fingerprint || d.Fingerprint == "" {
		return false, nil
	}
	d.Epoch = ls.p.router.epoch
	ls.keep(ledger.Listed{State: d.State, Chunks: d.Chunks}, doc)
	ls.touched = append(ls.touched, d)
	return true, ls.flushTouched(ctx, 1000)
}

func (ls *lister) flushTouched(ctx context.Context, over int) error {
	if len(ls.touched) <= over || ls.dry {
		return nil
	}
	err := ls.t.Touch(ctx, ls.touched)
	ls.touched = ls.touched[:0]
	return err
}

// count counts a document that the ledger has.
func (o *listing) count(row ledger.Listed) {
	if row.State != ledger.DocSkipped {
		o.had++
	}
}

// vanished notes a row of the ledger that the source no longer lists.
func (m *merge) vanished(ctx context.Context, row ledger.Listed) error {
	path := connector.TreePath(row.Key)
	if m.out.isBlocked(path) {
		m.out.count(row)
		return nil
	}
	m.out.goneN++
	if row.State != ledger.DocSkipped {
		m.out.lost++
	}
	m.gone = append(m.gone, []byte(path))
	return m.flushGone(ctx, 1000)
}

func (m *merge) flushGone(ctx context.Context, over int) error {
	if len(m.gone) <= over {
		return nil
	}
	err := m.out.gone.Append(ctx, m.gone)
	m.gone = m.gone[:0]
	return err
}

// block protects what stands at path, and below it.
func (o *listing) block(path string) {
	if o.blocked == nil {
		o.blocked = map[string]bool{}
	}
	o.blocked[path] = true
}

// isBlocked says whether path is, or lies below, something that could not be read.
func (o *listing) isBlocked(path string) bool {
	if len(o.blocked) == 0 {
		return false
	}
	if o.blocked[path] || o.blocked["."] || o.blocked[""] {
		return true
	}
	for i := range len(path) {
		if path[i] == '/' && o.blocked[path[:i]] {
			return true
		}
	}
	return false
}
