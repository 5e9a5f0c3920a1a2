package pipeline

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// lostDocuments is how many documents of a source, one after another, may fail by passing faults, each after all its retries, before
// the source counts as gone.
const lostDocuments = 5

// openSource is a source that is being listed and read.
type openSource struct {
	name   string
	source connector.Source
	caps   connector.SourceCapabilities

	mu   sync.Mutex
	lost int   // documents that failed by passing faults since the last one that was read
	dead error // why nothing more of it can be read
}

// openSource opens a source; the error does not name it.
func (p *Pipeline) openSource(ctx context.Context, conf config.SourceConf) (*openSource, error) {
	plugin, ok := p.reg.Sources.Get(conf.Kind)
	if !ok {
		return nil, UsageErrorf("kind %q is not in this build", conf.Kind)
	}
	src, err := plugin.Open(ctx, conf.Config, p.env())
	if err != nil {
		return nil, err
	}
	if p.opts.WrapSource != nil {
		src = p.opts.WrapSource(src)
	}
	return &openSource{name: conf.Name, source: src, caps: src.Capabilities()}, nil
}

// gone is why nothing more of the source can be read, or nil.
func (s *openSource) gone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// read notes how the reading of a document ended. true says that the source itself is at fault: the document is not.
func (s *openSource) read(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.dead != nil:
		return err != nil
	case err == nil:
		s.lost = 0
	case connector.ClassOf(err) == connector.ClassCredentials:
		s.dead = err
	case passing(err):
		if s.lost++; s.lost >= lostDocuments {
			s.dead = fmt.Errorf("%d documents one after another could not be read: %w", s.lost, err)
		}
	}
	return s.dead != nil
}

// changes lists a source. A passing fault is waited out: the listing goes on where it broke, if the source can do that, or starts again
// if nothing came of it yet. What remains is the last item.
func (p *Pipeline) changes(ctx context.Context, s *openSource) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		resumer, resumes := s.source.(connector.Resumer)
		listing := s.source.Changes(ctx)
		for tries, begun := 0, false; ; tries++ {
			var broke error
			for ch, err := range listing {
				var doc *connector.DocError
				if err != nil && !errors.As(err, &doc) {
					broke = err
					break
				}
				begun, tries = true, 0
				if !yield(ch, err) {
					return
				}
			}
			if broke == nil {
				return
			}
			if ctx.Err() != nil || !passing(broke) || begun && !resumes || tries >= p.file.Sync.Retries {
				if tries > 0 && passing(broke) {
					broke = fmt.Errorf("gave up after %d tries: %w", tries+1, broke)
				}
				yield(connector.Change{}, broke)
				return
			}
			p.log.Warn("trying again", "what", "list source "+s.name, "error", broke)
			if err := p.pauseAfter(ctx, tries, broke); err != nil {
				yield(connector.Change{}, err)
				return
			}
			if begun {
				listing = resumer.Resume(ctx)
			} else {
				listing = s.source.Changes(ctx)
			}
		}
	}
}

// pauseAfter waits before another try, at least as long as the other side asked.
func (p *Pipeline) pauseAfter(ctx context.Context, tries int, err error) error {
	var ce *connector.Error
	if errors.As(err, &ce) && ce.RetryAfter > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(ce.RetryAfter):
		}
	}
	return p.pause(ctx, tries)
}

// open opens a document for one reading. What the reader knows of it is put in place of what the listing said.
func (p *Pipeline) open(ctx context.Context, doc *connector.Document) (*docReader, error) {
	rc, err := doc.Open(ctx)
	if err != nil {
		return nil, err
	}
	r := &docReader{p: p, ctx: ctx, doc: doc, rc: rc, size: doc.Size}
	o, ok := rc.(connector.Opened)
	if !ok {
		return r, nil
	}
	f := o.Facts()
	if f.Version != "" && f.Version != doc.Version {
		doc.Version, doc.Unsettled, r.size = f.Version, false, -1
	}
	if f.MediaType != "" {
		doc.MediaType = f.MediaType
	}
	if !f.ModifiedAt.IsZero() {
		doc.ModifiedAt = f.ModifiedAt
	}
	if len(f.Metadata) > 0 {
		m := maps.Clone(doc.Metadata)
		if m == nil {
			m = map[string]any{}
		}
		maps.Copy(m, f.Metadata)
		doc.Metadata = m
	}
	switch f.Encoding {
	case "", "identity":
	case "gzip":
		r.packed = true
	default:
		return nil, errors.Join(connector.Errorf(connector.ClassUnsupported, "the content is packed as %q: only gzip is unpacked", f.Encoding), rc.Close())
	}
	return r, nil
}

// docReader reads a document as the source stores it. A reading that breaks by a passing fault goes on where it broke, if the source can do
// that.
type docReader struct {
	p      *Pipeline
	ctx    context.Context //nolint:containedctx // io.Reader has no room for one; the reader lives within one call
	doc    *connector.Document
	rc     io.ReadCloser
	size   int64 // what must come; -1: unknown
	offset int64
	tries  int
	packed bool
	err    error // why the reading failed
}

// Read implements io.Reader.
func (r *docReader) Read(b []byte) (int, error) {
	for {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.rc.Read(b)
		if n > 0 {
			r.offset += int64(n)
			r.tries = 0
		}
		switch {
		case errors.Is(err, io.EOF) && r.offset < r.size:
			err = connector.Errorf(connector.ClassTransient, "the content ended after %d of %d bytes", r.offset, r.size)
		case errors.Is(err, io.EOF), err == nil:
			return n, err
		}
		if r.err = r.again(err); r.err != nil || n > 0 {
			return n, r.err
		}
	}
}

// again goes on after a fault, or returns what ends the reading.
func (r *docReader) again(fault error) error {
	if r.doc.OpenAt == nil || !passing(fault) {
		return fault
	}
	for r.tries < r.p.file.Sync.Retries {
		r.p.log.Warn("reading on", "path", r.doc.Path, "offset", r.offset, "error", fault)
		if err := r.p.pauseAfter(r.ctx, r.tries, fault); err != nil {
			return err
		}
		r.tries++
		rc, err := r.doc.OpenAt(r.ctx, r.offset, r.doc.Version)
		if err == nil {
			_ = r.rc.Close() // it broke
			r.rc = rc
			return nil
		}
		if !passing(err) {
			return err
		}
		fault = err
	}
	return fmt.Errorf("gave up after %d tries: %w", r.tries, fault)
}

// Close implements io.Closer.
func (r *docReader) Close() error { return r.rc.Close() }

// unpacked reads the content as people see it.
func (r *docReader) unpacked(in *bufio.Reader) (io.Reader, error) {
	if !r.packed {
		return in, nil
	}
	magic, err := in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return in, nil // labelled as packed, and is not
	}
	return gzip.NewReader(in)
}

// content opens a document for reading its content, unpacked; a passing fault of opening is not waited out.
func (p *Pipeline) content(ctx context.Context, doc *connector.Document) (io.Closer, io.Reader, error) {
	r, err := p.open(ctx, doc)
	if err != nil {
		return nil, nil, err
	}
	in, err := r.unpacked(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r, in, nil
}
