package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/detect"
)

// A container (an archive, a mail with attachments) is listed like any document, and what it holds right after it, below its path: "a.zip", then
// "a.zip/one.md". A container that is unchanged, and whose members the ledger has as they were found, is not opened. Of one that cannot be read
// or breaks a limit nothing below is deleted; the container's own row says what is wrong.

// listed is one item of a listing, containers unpacked.
type listed struct {
	connector.Change
	held     *held // of an outermost container: what it holds
	was      bool  // held is what the ledger remembers
	unpacked bool  // it is a container, and its members are listed
	// fault says that the container could not be read: its document fails, and nothing below it is deleted.
	fault error
}

// held is what the facts of a container remember of its members.
type held struct {
	// Digest is that of the paths and versions of the documents in it, at any depth.
	Digest string `json:"d"`
	// Skips are the members that are no documents.
	Skips []skippedMember `json:"s,omitempty"`
}

// skippedMember is a member that cannot be read.
type skippedMember struct {
	Path   string `json:"p"`
	Reason string `json:"r"`
}

func (h *held) equal(other *held) bool {
	return h == other || h != nil && other != nil && h.Digest == other.Digest && slices.Equal(h.Skips, other.Skips)
}

// maxSkips is how many unreadable members are remembered; a container with more is opened each time.
const maxSkips = 1000

// unpacker lists what containers hold.
type unpacker struct {
	p        *Pipeline
	src      *openSource
	target   *ledger.Target // nil: nothing is known
	checksum bool
	contents *contents
	opened   map[string]bool // containers of this listing, by path; only of sources that are in no tree order
}

// nest counts what one outermost container has given so far.
type nest struct {
	docs  []listed
	count int
	bytes int64
	paths map[string]bool
}

// listing puts the members of containers behind them.
func (u *unpacker) listing(ctx context.Context, changes iter.Seq2[connector.Change, error]) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for ch, err := range changes {
			if err != nil || ch.Kind != connector.ChangeUpsert {
				if !yield(listed{Change: ch}, err) {
					return
				}
				continue
			}
			if at := u.inside(ch.Document.Path); at != "" {
				err := fmt.Errorf("the source has a document at the path of a member of %s: rename one of them", at)
				if !yield(listed{}, &connector.DocError{Path: ch.Document.Path, Err: err}) {
					return
				}
				continue
			}
			items, err := u.expand(ctx, ch)
			if err != nil {
				yield(listed{}, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// inside names the container that was unpacked to where path is; empty if there is none.
func (u *unpacker) inside(path string) string {
	if len(u.opened) == 0 {
		return ""
	}
	for i := range len(path) {
		if path[i] == '/' && u.opened[path[:i]] {
			return path[:i]
		}
	}
	return ""
}

// expand is a document with what it holds. An error is one of the run.
func (u *unpacker) expand(ctx context.Context, ch connector.Change) ([]listed, error) {
	alone := []listed{{Change: ch}}
	doc := &ch.Document
	kind := u.p.router.mayHold(u.src.name, doc)
	if kind == holdsNothing {
		return alone, nil
	}
	row, known, f, err := u.known(ctx, doc)
	if err != nil {
		return nil, err
	}
	same := known && !u.checksum && (row.State == ledger.DocOK || row.State == ledger.DocSkipped) && doc.Version != "" && row.Version == doc.Version
	if kind == holdsPerhaps && f.Held == nil {
		if same {
			return alone, nil
		}
		if is, err := u.peek(ctx, doc); err != nil || !is {
			return alone, nil //nolint:nilerr // reading the document will say what is wrong
		}
	}
	if same && f.Held != nil && row.Epoch == u.p.router.epoch {
		if items, ok, err := u.remembered(ctx, ch, f.Held); err != nil || ok {
			return u.note(doc.Path, items), err
		}
	}
	items, err := u.unpack(ctx, ch, f.Held)
	return u.note(doc.Path, items), err
}

// note remembers that a container was unpacked.
func (u *unpacker) note(path string, items []listed) []listed {
	if len(items) > 1 && u.src.caps.Order != connector.OrderTree {
		if u.opened == nil {
			u.opened = map[string]bool{}
		}
		u.opened[path] = true
	}
	return items
}

// known is what the ledger has of a document.
func (u *unpacker) known(ctx context.Context, doc *connector.Document) (row ledger.Doc, ok bool, f *facts, err error) {
	f = new(facts)
	if u.target == nil {
		return row, false, f, nil
	}
	if row, ok, err = u.target.Doc(ctx, u.src.name, doc.Path); err != nil || !ok {
		return row, false, f, err
	}
	if have, decoded := decodeFacts(row.Facts); decoded {
		f = have
	}
	return row, true, f, nil
}

// peek looks whether the content of a document of unknown type is a container.
func (u *unpacker) peek(ctx context.Context, doc *connector.Document) (bool, error) {
	d := *doc
	rc, in, err := u.p.content(ctx, &d)
	if err != nil {
		return false, err
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(in, head)
	_ = rc.Close() // it was read in part
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	c, _, err := u.p.router.containerOf(u.src, doc, head[:n])
	return c != nil, err
}

// remembered gives the members as the ledger has them; ok is false if it does not have all as they were found, or has one that failed.
func (u *unpacker) remembered(ctx context.Context, ch connector.Change, h *held) (items []listed, ok bool, err error) {
	if len(h.Skips) >= maxSkips {
		return nil, false, nil
	}
	items = []listed{{Change: ch, held: h, was: true, unpacked: true}}
	d := heldDigest{}
	for row, err := range u.target.Below(ctx, u.src.name, ch.Document.Path) {
		if err != nil {
			return nil, false, err
		}
		if row.State != ledger.DocOK && row.State != ledger.DocSkipped || row.Epoch != u.p.router.epoch {
			return nil, false, nil
		}
		path := connector.TreePath(row.Key)
		d.add(path, row.Version)
		items = append(items, listed{Change: connector.Change{Document: connector.Document{Path: path, Version: row.Version, Size: -1}}})
	}
	if d.sum() != h.Digest {
		return nil, false, nil
	}
	for _, s := range h.Skips {
		items = append(items, skipItem(s.Path, s.Reason))
	}
	sortListed(items[1:])
	return items, true, nil
}

// unpack reads a container and lists what it holds. A fault of the container is in its own item.
func (u *unpacker) unpack(ctx context.Context, ch connector.Change, before *held) (items []listed, err error) {
	whole := ctx
	if d := u.p.file.Sync.DocumentTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withClock(ctx, d, fmt.Errorf("listing what it holds took longer than sync.document_timeout (%s)", d))
		defer cancel()
	}
	n := &nest{paths: map[string]bool{}}
	source := ch.Document
	c := &content{of: u.contents, tries: u.p.file.Sync.Retries, fetch: func(ctx context.Context, w io.Writer) error { return u.fetch(ctx, &source, w) }}
	own := u.open(ctx, n, &source, c, 1)
	if whole.Err() != nil {
		return nil, context.Cause(whole)
	}
	if own.fault != nil || own.held == nil {
		return []listed{own}, nil
	}
	sortListed(n.docs)
	d := heldDigest{}
	for i := range n.docs {
		it := &n.docs[i]
		if it.Kind == connector.ChangeUpsert {
			d.add(it.Document.Path, it.Document.Version)
		} else if len(own.held.Skips) < maxSkips {
			own.held.Skips = append(own.held.Skips, skippedMember{it.Document.Path, it.Reason})
		}
	}
	own.held.Digest = d.sum()
	own.was = own.held.equal(before)
	return append([]listed{own}, n.docs...), nil
}

// open reads one container, of a source or nested, and adds its members to n. What it returns is the document itself: with held if it
// is a container and could be listed.
func (u *unpacker) open(ctx context.Context, n *nest, doc *connector.Document, c *content, depth int) listed {
	own := listed{Change: connector.Change{Document: *doc}}
	fail := func(stage string, err error) listed {
		own.fault = &stageError{stage, causeOf(ctx, err)}
		return own
	}
	release, err := c.pin(ctx)
	if err != nil {
		return fail("open", err)
	}
	defer release()
	own.Document = *doc // fetching may have learnt more of it
	own.Document.Open, own.Document.OpenAt = c.open, nil
	head := make([]byte, min(headBytes, c.size))
	if _, err := c.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fail("read", err)
	}
	container, maxDepth, err := u.p.router.containerOf(u.src, &own.Document, head)
	switch {
	case err != nil, container == nil:
		return own // reading the document will say what is wrong, if anything is
	case depth == 1:
		own.Document.Size = c.size
	}
	mark := len(n.docs)
	if err := u.members(ctx, n, container, &own.Document, c, depth, maxDepth); err != nil {
		n.docs = n.docs[:mark]
		return fail("unpack", err)
	}
	own.held, own.unpacked = &held{}, true
	return own
}

// members adds what a container holds to n. A panic of the parser is the container's fault.
func (u *unpacker) members(ctx context.Context, n *nest, container connector.Container, doc *connector.Document, c *content, depth, maxDepth int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error, please report it: %v", r)
		}
	}()
	limits := &u.p.file.Archives
	for m, err := range container.Members(ctx, doc, c, c.size) {
		if err != nil {
			return err
		}
		path := doc.Path + "/" + m.Path
		if !properMember(m.Path) || n.paths[path] || m.Version == "" {
			return fmt.Errorf("internal error, please report it: parser %s lists a member as %q", container.Info().Name, m.Path)
		}
		n.paths[path] = true
		if n.count++; n.count > limits.MaxMembers {
			return connector.Errorf(connector.ClassInvalid, "it holds more than archives.max_members (%d) files: raise that to have it read", limits.MaxMembers)
		}
		if n.bytes += max(m.Size, 0); n.bytes > limits.MaxSize {
			return connector.Errorf(connector.ClassInvalid, "what it holds is larger than archives.max_size (%d bytes): raise that to have it read", limits.MaxSize)
		}
		switch {
		case m.Reason != "":
			n.docs = append(n.docs, skipItem(path, m.Reason))
		case depth > maxDepth:
			n.docs = append(n.docs, skipItem(path, fmt.Sprintf("nested deeper than archives.max_depth (%d)", maxDepth)))
		default:
			u.member(ctx, n, u.document(doc, &m, c), depth)
		}
	}
	return ctx.Err()
}

// member adds one member, and what it holds if it is a container itself.
func (u *unpacker) member(ctx context.Context, n *nest, child connector.Document, depth int) {
	own := listed{Change: connector.Change{Document: child}}
	nested := false
	switch u.p.router.mayHold(u.src.name, &child) {
	case holdsMembers:
		nested = true
	case holdsPerhaps:
		nested, _ = u.peek(ctx, &child) // reading the document will say what is wrong
	case holdsNothing:
	}
	if nested {
		inner := &content{of: u.contents, fetch: func(ctx context.Context, w io.Writer) error { return u.fetch(ctx, &child, w) }}
		own = u.open(ctx, n, &child, inner, depth+1)
		own.held = nil // the outermost remembers all
	}
	n.docs = append(n.docs, own)
}

// document is a member as a document.
func (u *unpacker) document(of *connector.Document, m *connector.Member, c *content) connector.Document {
	open := m.Open
	d := connector.Document{
		Path: of.Path + "/" + m.Path, URI: of.URI + "!/" + (&url.URL{Path: m.Path}).EscapedPath(), Version: m.Version, MediaType: m.MediaType, Size: m.Size,
		ModifiedAt: m.ModifiedAt, Metadata: of.Metadata,
		Open: func(ctx context.Context) (io.ReadCloser, error) { return c.member(ctx, open) },
	}
	if d.ModifiedAt.IsZero() {
		d.ModifiedAt = of.ModifiedAt
	}
	if len(m.Metadata) > 0 {
		d.Metadata = maps.Clone(of.Metadata)
		if d.Metadata == nil {
			d.Metadata = map[string]any{}
		}
		maps.Copy(d.Metadata, m.Metadata)
	}
	return d
}

// fetch copies the content of a document, of the source or a member; what the reader knows of it is put in place of what the listing said.
func (u *unpacker) fetch(ctx context.Context, doc *connector.Document, w io.Writer) error {
	rc, in, err := u.p.content(ctx, doc)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, contextReader{ctx, in})
	if cerr := rc.Close(); err == nil {
		err = cerr
	}
	return err
}

// contextReader stops when ctx ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no room for one; the reader lives within one call
	r   io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(b)
}

func skipItem(path, reason string) listed {
	return listed{Change: connector.Change{Kind: connector.ChangeSkip, Document: connector.Document{Path: path}, Reason: reason}}
}

func sortListed(items []listed) {
	keys := make(map[string]string, len(items))
	for i := range items {
		keys[items[i].Document.Path] = connector.TreeKey(items[i].Document.Path)
	}
	slices.SortStableFunc(items, func(a, b listed) int { return strings.Compare(keys[a.Document.Path], keys[b.Document.Path]) })
}

// properMember says whether a member's path is relative and leads nowhere else.
func properMember(path string) bool {
	if path == "" || strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// heldDigest sums up members in tree order.
type heldDigest [][2]string

func (d *heldDigest) add(path, version string) { *d = append(*d, [2]string{path, version}) }

func (d *heldDigest) sum() string { return digest(*d)[:16] }

// What a document may be, by its name.
type holding int

const (
	holdsNothing holding = iota
	holdsPerhaps         // its name says nothing: the content tells
	holdsMembers
)

// mayHold says whether a document may be a container, by its name, its media type and the rules.
func (r *router) mayHold(source string, doc *connector.Document) holding {
	kind, known := detect.ByName(doc.Path, doc.MediaType)
	if _, ok := r.parsers[kind].(connector.Container); ok {
		return holdsMembers
	}
	if r.claims && r.claimedContainer(source, doc) {
		return holdsMembers
	}
	if !known && r.contains {
		return holdsPerhaps
	}
	return holdsNothing
}

// containerOf is the parser of a container, and how deep it may nest; nil if the document is none.
func (r *router) containerOf(src *openSource, doc *connector.Document, head []byte) (connector.Container, int, error) {
	f, _ := detectFacts(doc, head, src.caps.MaxTreeSize)
	rt, err := r.routeOf(src.name, doc.Path, f)
	if err != nil || rt == nil {
		return nil, 0, err
	}
	c, _ := r.parserFor(rt, f).(connector.Container)
	return c, r.maxDepth, nil
}
