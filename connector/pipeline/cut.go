package pipeline

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"runtime/debug"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/detect"
)

// headBytes is how much of a document detection looks at.
const headBytes = detect.HeadSize

// A document with more chunks, or more text in them, than this is spooled to disk between cutting and writing.
const (
	spoolPieces = 1024
	spoolBytes  = 4 << 20
)

// staged is a document that was read and cut, or was found to need neither.
type staged struct {
	job    job
	facts  *facts
	route  *route
	raw    [sha256.Size]byte
	read   int64
	base   *base
	title  string
	props  map[string]any // what the document says about itself
	pieces []piece
	spool  *ledger.Spool
	dedup  *deduper  // nil: every chunk stays
	words  *docWords // nil: no keywords are asked for
	count  int
	stored int // of count, those that are only stored
	bytes  int
	tokens int
	same   bool   // the content is what the ledger has: nothing to write
	skip   string // no parser claims it
	finger string
}

// stageError says in which stage a document failed.
type stageError struct {
	stage string
	err   error
}

func (e *stageError) Error() string { return e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

func stageOf(err error, fallback string) string {
	var se *stageError
	if errors.As(err, &se) {
		return se.stage
	}
	return fallback
}

// cutter reads, parses and cuts documents.
type cutter struct {
	p      *Pipeline
	tokens connector.Counter
	ledger *ledger.Ledger // for spools; nil: everything in memory
}

// stage reads and cuts one document. A panic in a parser or strategy is that document's error; a reading that broke by a passing
// fault, and could not go on where it broke, starts again.
func (c *cutter) stage(ctx context.Context, j job) (*staged, error) {
	if d := c.p.file.Sync.DocumentTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withClock(ctx, d, fmt.Errorf("took longer than sync.document_timeout (%s)", d))
		defer cancel()
	}
	if j.fault != nil {
		if passing(j.fault) && j.src.read(j.fault) {
			return &staged{job: j}, &stageError{"open", &sourceError{j.fault}}
		}
		return &staged{job: j}, j.fault
	}
	for tries := 0; ; tries++ {
		if dead := j.src.gone(); dead != nil {
			return &staged{job: j}, &stageError{"open", &sourceError{dead}}
		}
		s, fault, err := c.attempt(ctx, j)
		if fault == nil {
			if err == nil {
				j.src.read(nil)
			}
			again, verdict := c.converted(ctx, s, err, tries)
			if !again {
				return s, verdict
			}
			if perr := c.p.pauseAfter(ctx, tries, err); perr != nil {
				return s, &stageError{"parse", perr}
			}
			continue
		}
		if !passing(fault) || tries >= c.p.file.Sync.Retries || ctx.Err() != nil {
			if ctx.Err() == nil && j.src.read(fault) {
				err = &stageError{stageOf(err, "read"), &sourceError{fault}}
			}
			return s, err
		}
		c.p.log.Warn("trying again", "what", "read", "source", j.src.name, "path", j.doc.Path, "error", fault)
		if perr := c.p.pauseAfter(ctx, tries, fault); perr != nil {
			return s, &stageError{stageOf(err, "read"), perr}
		}
	}
}

// converted judges how a parser that a rule names ended: it may be a service. A passing fault is waited out; what would end every document
// alike ends the run: refused credentials, an address where nothing is, a service that failed at several documents one after another.
func (c *cutter) converted(ctx context.Context, s *staged, err error, tries int) (again bool, verdict error) {
	if s.route == nil || s.route.parser == nil || stageOf(err, "parse") != "parse" {
		return false, err
	}
	named := s.route.parser
	if err == nil {
		named.lost.Store(0)
		return false, nil
	}
	switch class := connector.ClassOf(err); {
	case ctx.Err() != nil:
	case class == connector.ClassCredentials:
		return false, &stageError{"parse", &runError{err: &UnreachableError{fmt.Errorf("parser %s: %w", named.kind, err)}}}
	case class == connector.ClassNotFound:
		return false, &stageError{"parse", &runError{err: &UsageError{fmt.Errorf("parser %s: %w", named.kind, err)}}}
	case !passing(err):
	case tries < c.p.file.Sync.Retries:
		c.p.log.Warn("trying again", "what", "parse", "parser", named.kind, "path", s.job.doc.Path, "error", err)
		return true, nil
	case named.lost.Add(1) >= lostDocuments:
		return false, &stageError{"parse", &runError{err: &UnreachableError{fmt.Errorf("parser %s failed at %d documents one after another: %w", named.kind, lostDocuments, err)}}}
	}
	return false, err
}

// sourceError is a fault of the whole source that shows at one of its documents.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// attempt stages a document once. fault is the source's part of the error, if it has one.
func (c *cutter) attempt(ctx context.Context, j job) (s *staged, fault, err error) {
	s = &staged{job: j}
	defer func() {
		if r := recover(); r != nil {
			err = &stageError{"cut", fmt.Errorf("internal error, please report it: %v\n%s", r, debug.Stack())}
		}
		if err != nil && s.spool != nil {
			err = errors.Join(err, s.spool.Drop(context.WithoutCancel(ctx)))
		}
	}()
	rc, err := c.p.open(ctx, &s.job.doc)
	if err != nil {
		return s, err, &stageError{"open", causeOf(ctx, err)}
	}
	if err = c.read(ctx, s, rc); err != nil {
		err = &stageError{stageOf(err, "cut"), causeOf(ctx, err)}
	}
	if rc.err != nil {
		fault, err = rc.err, &stageError{"read", causeOf(ctx, rc.err)}
	}
	// Close reports a document that changed while it was read.
	if cerr := rc.Close(); err == nil && cerr != nil {
		fault, err = cerr, &stageError{"read", cerr}
	}
	return s, fault, err
}

// causeOf names, in place of an error that only says that ctx ended, why it ended.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return cause
	}
	return err
}

// rawReader hashes and counts what is read, and stops when ctx ends.
type rawReader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no room for one; the reader lives within one call
	r   io.Reader
	sum hash.Hash
	n   int64
}

func (r *rawReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.r.Read(b)
	r.sum.Write(b[:n])
	r.n += int64(n)
	return n, err
}

func (c *cutter) read(ctx context.Context, s *staged, rc *docReader) error {
	raw := &rawReader{ctx: ctx, r: rc, sum: sha256.New()}
	packed := bufio.NewReaderSize(raw, 64<<10)
	unpacked, err := rc.unpacked(packed)
	if err != nil {
		return &stageError{"read", err}
	}
	buf := packed
	if unpacked != io.Reader(packed) {
		buf = bufio.NewReaderSize(unpacked, 64<<10)
	}
	head, err := buf.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return &stageError{"read", err}
	}
	doc := &s.job.doc
	maxTree := s.job.src.caps.MaxTreeSize
	var tree bool
	s.facts, tree = detectFacts(doc, head, maxTree)
	s.facts.Held = s.job.held
	if len(doc.Metadata) > 0 {
		s.facts.Metadata = metadataDigest(doc.Metadata)
	}
	if s.facts.Skip == "" && c.p.router.parsers[s.facts.Parser] == nil {
		s.facts.Skip = fmt.Sprintf("no parser for %s in this build", s.facts.MediaType)
	}
	if s.route, err = c.p.router.routeOf(s.job.src.name, doc.Path, s.facts); err != nil {
		return &stageError{"cut", err}
	}
	if s.route != nil && !s.job.unpacked {
		if _, ok := c.p.router.parserFor(s.route, s.facts).(connector.Container); ok {
			s.facts.Skip = fmt.Sprintf("its content is %s, which its name hides: rename it, or name its parser in a rule", s.facts.MediaType)
			s.route = nil
		}
	}
	if s.route == nil {
		s.skip, s.finger = s.facts.Skip, c.p.router.fingerprint(nil, s.facts)
		return nil
	}
	var in io.Reader = buf
	if tree && (doc.Size < 0 || rc.packed) && maxTree > 0 {
		in = &limited{r: buf, left: maxTree}
	}
	watchInputs(doc, s.facts)
	if err := c.cut(ctx, s, in); err != nil {
		return err
	}
	for _, rest := range []io.Reader{buf, packed} { // the hash is that of all bytes
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return &stageError{"read", err}
		}
	}
	s.read = raw.n
	raw.sum.Sum(s.raw[:0])
	return c.settle(s)
}

// limited refuses a tree of unknown size that turns out too large.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return n, connector.Errorf(connector.ClassInvalid, "larger than max_tree_size, and the source does not say how large")
	}
	return n, err
}

// settle decides, once the bytes are known, whether anything changed, and fills what the records share.
func (c *cutter) settle(s *staged) error {
	old := s.job.old
	s.same = old != nil && old.State == ledger.DocOK && string(old.Raw) == string(s.raw[:]) && old.Fingerprint == s.finger && s.sameFacts()
	modified := s.job.doc.ModifiedAt
	if old != nil && old.Modified != 0 && string(old.Raw) == string(s.raw[:]) {
		modified = time.Unix(0, old.Modified) // touched, not changed
	}
	if modified.IsZero() {
		modified = time.Unix(0, 0)
	}
	s.job.modified = modified
	s.base = newBase(c.p.file, s.job.src.name, &s.job.doc, s.facts, s.route, s.title, s.props, modified)
	s.base.total, s.base.stored = s.count-s.stored, s.stored
	if _, err := json.Marshal(s.base.metadata); err != nil {
		return &stageError{"cut", fmt.Errorf("metadata cannot be stored: %w", err)}
	}
	return nil
}

// sameFacts says whether what the chunks say of their document, beside its content, is what is stored.
func (s *staged) sameFacts() bool {
	var f facts
	return json.Unmarshal(s.job.old.Facts, &f) == nil && f.URI == s.facts.URI && f.Metadata == s.facts.Metadata && sameInputs(&f, s.facts)
}

// metadataDigest names the metadata of a document; values that JSON has no form for are refused later.
func metadataDigest(m map[string]any) string {
	sum, err := jsonHash(m)
	if err != nil {
		return "?"
	}
	return sum[:16]
}

// cut runs parser and strategy.
func (c *cutter) cut(ctx context.Context, s *staged, in io.Reader) error {
	doc := &s.job.doc
	parser := c.p.router.parserFor(s.route, s.facts)
	watch := &watcher{staged: s}
	next, stop := iter.Pull2(parser.Parse(ctx, doc, in))
	defer stop()
	// The first elements are looked at before cutting begins: rules may ask for front matter.
	first, ferr, more := next()
	for more && ferr == nil && first.Kind == connector.KindDropped {
		first, ferr, more = next()
	}
	if more && ferr == nil && first.Kind == connector.KindFrontMatter {
		s.facts.Front = first.Front
		var err error
		if s.route, err = c.p.router.choose(s.job.src.name, doc.Path, s.facts); err != nil {
			return &stageError{"cut", err}
		}
	}
	s.finger = c.p.router.fingerprint(s.route, s.facts)
	elements := func(yield func(connector.Element, error) bool) {
		for e, err, ok := first, ferr, more; ok; e, err, ok = next() {
			if err != nil {
				yield(e, &stageError{"parse", err})
				return
			}
			watch.see(&e)
			if !yield(e, nil) {
				return
			}
		}
	}
	return c.collect(ctx, s, watch, s.route.strategy.Chunks(ctx, doc, elements))
}

// watcher notes what passes between parser and strategy: line ends and the title.
type watcher struct {
	staged *staged
	lines  lineIndex
}

func (w *watcher) see(e *connector.Element) {
	if e.Kind == connector.KindDropped {
		return
	}
	w.lines.add(e.Text)
	if e.Properties != nil && w.staged.props == nil {
		w.staged.props = e.Properties
	}
	if w.staged.title == "" && e.Kind == connector.KindHeading {
		w.staged.title = e.Title
	}
	if title, ok := e.Front["title"].(string); ok && title != "" {
		w.staged.title = title
	}
}

// collect gives chunks their ids and keeps them, on disk where they are many.
func (c *cutter) collect(ctx context.Context, s *staged, w *watcher, chunks iter.Seq2[connector.Chunk, error]) error {
	docID := connector.DocID(c.p.file.Name, s.job.src.name, s.job.doc.Path)
	seen := map[[16]byte]int{} // occurrences by hash
	keys := map[string]connector.UUID{}
	var err error
	if s.dedup, err = newDeduper(c.p.file); err != nil {
		return err
	}
	if s.words, err = c.p.router.words.document(); err != nil {
		return err
	}
	for ch, err := range chunks {
		if err != nil {
			return &stageError{stageOf(err, "cut"), err}
		}
		pc := newPiece(&ch, c.tokens)
		if len(pc.Spans) > 0 {
			pc.LineStart, pc.LineEnd = w.lines.line(pc.Spans[0].Start), w.lines.line(max(pc.Spans[len(pc.Spans)-1].End-1, pc.Spans[0].Start))
		}
		short := [16]byte(pc.Hash[:16])
		if id, dup := s.dedup.repeats(&ch, &pc, s.count); dup {
			if ch.Key != "" {
				keys[ch.Key] = id
			}
			continue
		}
		if c.p.file.IDs == "position" {
			pc.ID = connector.ChunkIDByPosition(c.p.file.Name, docID, s.count)
		} else {
			pc.ID = connector.ChunkIDByContent(c.p.file.Name, docID, fmt.Sprintf("%x", pc.Hash), seen[short])
		}
		seen[short]++
		if ch.Key != "" {
			keys[ch.Key] = pc.ID
		}
		if ch.ParentKey != "" {
			parent, ok := keys[ch.ParentKey]
			if !ok {
				return &stageError{"cut", fmt.Errorf("strategy %s: a chunk names a parent %q that did not come before it", s.route.kind, ch.ParentKey)}
			}
			pc.Parent = parent
		}
		s.dedup.stays(pc.ID)
		s.words.add(&pc)
		if s.count++; pc.StoreOnly {
			s.stored++
		}
		s.tokens += pc.Tokens
		s.bytes += len(pc.Content) + len(pc.Context)
		s.pieces = append(s.pieces, pc)
		if c.ledger != nil && (len(s.pieces) >= spoolPieces || s.bytes >= spoolBytes) {
			if err := c.flush(ctx, s); err != nil {
				return err
			}
		}
	}
	if s.spool != nil {
		return c.flush(ctx, s)
	}
	for i := range s.pieces { // those of a spooled document are found as they come back
		s.words.find(&s.pieces[i])
	}
	return nil
}

// flush moves the pieces in memory to the spool.
func (c *cutter) flush(ctx context.Context, s *staged) error {
	if s.spool == nil {
		s.spool = c.ledger.NewSpool()
	}
	items := make([][]byte, len(s.pieces))
	for i := range s.pieces {
		b, err := json.Marshal(&s.pieces[i])
		if err != nil {
			return &stageError{"cut", err}
		}
		items[i] = b
	}
	s.pieces, s.bytes = s.pieces[:0], 0
	return s.spool.Append(ctx, items)
}

// each yields the pieces in order, wherever they are.
func (s *staged) each(ctx context.Context) iter.Seq2[*piece, error] {
	return func(yield func(*piece, error) bool) {
		index := 0
		give := func(pc *piece) bool {
			s.dedup.standFor(pc, index)
			index++
			return yield(pc, nil)
		}
		if s.spool == nil {
			for i := range s.pieces {
				pc := s.pieces[i]
				if !give(&pc) {
					return
				}
			}
			return
		}
		for item, err := range s.spool.Items(ctx) {
			var pc *piece
			if err == nil {
				pc, err = decodePiece(item)
			}
			if err == nil {
				s.words.find(pc)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !give(pc) {
				return
			}
		}
	}
}
