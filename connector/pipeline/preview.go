package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// Preview parses and cuts documents with no network and no state: what `kbsync parse`, `chunk`, `sources` and
// `validate` do. It opens no sink, and an embedder only for its limits.
type Preview struct{ p *Pipeline }

// OpenPreview opens strategies and parsers of a configuration. Without embedder (nil configuration of one, and bare) only
// the rules' own caps count.
func OpenPreview(ctx context.Context, file *config.File, reg *connector.Registry, bare bool) (*Preview, error) {
	p := &Pipeline{file: file, reg: reg, log: slog.New(slog.DiscardHandler), opts: Options{Progress: silent{}}}
	if !bare {
		var err error
		if p.embedder, err = OpenEmbedder(ctx, file, reg, p.log); err != nil {
			return nil, err
		}
		p.model = p.embedder.Model()
	}
	var err error
	if p.router, err = newRouter(ctx, p); err != nil {
		_ = p.Close()
		return nil, err
	}
	return &Preview{p}, nil
}

// Close closes what OpenPreview opened.
func (v *Preview) Close() error { return v.p.Close() }

// Model is the embedder's model; the zero Model without one.
func (v *Preview) Model() connector.Model { return v.p.model }

// Backends names what does the work of parsers that differ between builds, by parser.
func (v *Preview) Backends() map[string]string { return v.p.router.backends() }

// Explanation says what a document gets and why.
type Explanation struct {
	MediaType string   `json:"media_type"`
	KnownBy   string   `json:"known_by,omitempty"` // what told the type: content, name, hint of the source
	Language  string   `json:"language,omitempty"`
	Parser    string   `json:"parser,omitempty"`
	ParserBy  string   `json:"parser_by,omitempty"` // why it is not the one of the type
	Backend   string   `json:"backend,omitempty"`
	Rule      string   `json:"rule,omitempty"`
	Preset    string   `json:"preset,omitempty"`
	Strategy  string   `json:"strategy,omitempty"`
	Config    any      `json:"config,omitempty"`
	Caps      []string `json:"caps,omitempty"`
	Skip      string   `json:"skip,omitempty"`
	Degraded  string   `json:"degraded,omitempty"`
	// LeftOut is how many chunks others stand for, by the configured dedup.
	LeftOut int `json:"left_out,omitempty"`
	// Measures are filled by [Preview.Measure].
	Measures *Measures `json:"measures,omitempty"`

	route *route
}

func (v *Preview) explain(s *staged) *Explanation {
	f := s.facts
	x := &Explanation{MediaType: f.MediaType, KnownBy: f.by, Language: f.Language, Degraded: f.Degraded}
	if s.route == nil {
		x.Skip = f.Skip
		return x
	}
	info := v.p.router.parserFor(s.route, f).Info()
	x.Parser, x.Backend, x.Rule, x.Strategy, x.Config = info.Name, info.Backend, s.route.rule, s.route.kind, s.route.config
	switch want := s.route.strategy.Info().Parser; {
	case f.Degraded != "":
	case s.route.parser != nil:
		x.ParserBy = "named by a rule"
	case want != "" && want == info.Name && want != f.Parser:
		x.ParserBy = "the strategy's own"
	}
	if x.route = s.route; x.route.ruleIndex >= 0 {
		x.Preset = v.p.file.Rules[x.route.ruleIndex].Preset
	}
	x.Caps, x.LeftOut = spelled(s.route.strategy.Info().Caps), s.dedup.leftOut()
	return x
}

// Chunks cuts one document as a sync would and calls yield for each record. A document that no parser claims gives none, and an explanation
// that says why.
func (v *Preview) Chunks(ctx context.Context, source string, caps connector.SourceCapabilities, doc connector.Document,
	yield func(connector.Record) error,
) (*Explanation, error) {
	tokens, err := v.p.counter("model")
	if err != nil {
		return nil, err
	}
	c := &cutter{p: v.p, tokens: tokens}
	s, err := c.stage(ctx, job{src: &openSource{name: source, caps: caps}, doc: doc, unpacked: true})
	if err != nil {
		return nil, err
	}
	if s.skip != "" {
		return v.explain(s), nil
	}
	for x, err := range placed(s.each(ctx)) {
		if err == nil {
			err = yield(s.base.record(x.piece, x.place))
		}
		if err != nil {
			return v.explain(s), err
		}
	}
	return v.explain(s), nil
}

// Unpack yields a document and, if it is a container, the documents that it holds, in the order of a sync; of those that cannot be read, skip says
// why. The documents can be opened until yield returns. A container that cannot be unpacked is yielded too: reading it says what is wrong.
func (v *Preview) Unpack(ctx context.Context, source string, caps connector.SourceCapabilities, doc connector.Document,
	yield func(doc connector.Document, skip string) error,
) error {
	cs := &contents{p: v.p}
	defer cs.close()
	u := &unpacker{p: v.p, src: &openSource{name: source, caps: caps}, contents: cs}
	items, err := u.expand(ctx, connector.Change{Document: doc})
	if err != nil {
		return err
	}
	for _, it := range items {
		d, fault := it.Document, it.fault
		if fault != nil {
			d.Open = func(context.Context) (io.ReadCloser, error) { return nil, fault }
			d.OpenAt = nil
		}
		if err := yield(d, it.Reason); err != nil {
			return err
		}
	}
	return nil
}

// Elements parses one document and yields what the parser saw.
func (v *Preview) Elements(ctx context.Context, source string, caps connector.SourceCapabilities, doc connector.Document) (*Explanation, iter.Seq2[connector.Element, error], error) {
	x, parser, err := v.parserOf(ctx, source, caps, doc)
	if err != nil {
		return nil, nil, err
	}
	if parser == nil {
		return x, func(func(connector.Element, error) bool) {}, nil
	}
	return x, func(yield func(connector.Element, error) bool) {
		rc, in, err := v.p.content(ctx, &doc)
		if err != nil {
			yield(connector.Element{}, err)
			return
		}
		defer func() { _ = rc.Close() }()
		for e, err := range parser.Parse(ctx, &doc, in) {
			if !yield(e, err) {
				return
			}
		}
	}, nil
}

// Pictures yields the pages of one document as pictures of about width pixels in breadth; none where its format has no pages, or its parser
// does not draw them.
func (v *Preview) Pictures(ctx context.Context, source string, caps connector.SourceCapabilities, doc connector.Document, width int) iter.Seq2[connector.Picture, error] {
	return func(yield func(connector.Picture, error) bool) {
		_, parser, err := v.parserOf(ctx, source, caps, doc)
		if err != nil {
			yield(connector.Picture{}, err)
			return
		}
		drawer, ok := parser.(connector.PageDrawer)
		if !ok {
			return
		}
		rc, in, err := v.p.content(ctx, &doc)
		if err != nil {
			yield(connector.Picture{}, err)
			return
		}
		defer func() { _ = rc.Close() }()
		for p, err := range drawer.Draw(ctx, &doc, in, width) {
			if !yield(p, err) {
				return
			}
		}
	}
}

// parserOf finds the parser of a document; nil, and an explanation that says why, where there is none.
func (v *Preview) parserOf(ctx context.Context, source string, caps connector.SourceCapabilities, doc connector.Document) (*Explanation, connector.Parser, error) {
	rc, in, err := v.p.content(ctx, &doc)
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(in, head)
	if cerr := rc.Close(); cerr != nil && connector.ClassOf(cerr) != connector.ClassChanged {
		err = cerr
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	f, _ := detectFacts(&doc, head[:n], caps.MaxTreeSize)
	x := &Explanation{MediaType: f.MediaType, KnownBy: f.by, Language: f.Language, Degraded: f.Degraded}
	rt, err := v.p.router.routeOf(source, doc.Path, f)
	if err != nil {
		return nil, nil, err
	}
	var parser connector.Parser
	if x.Skip = f.Skip; rt != nil {
		if parser, x.Skip = v.p.router.parserFor(rt, f), ""; parser == nil {
			x.Skip = "no parser for " + f.MediaType + " in this build"
		}
	}
	if x.Skip != "" {
		return x, nil, nil
	}
	x.Parser, x.Backend = parser.Info().Name, parser.Info().Backend
	return x, parser, nil
}

// Source opens a configured source for listing; close it after use.
func (v *Preview) Source(ctx context.Context, conf config.SourceConf) (connector.Source, error) {
	src, err := v.p.openSource(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", conf.Name, err)
	}
	return src.source, nil
}

// Changes lists an opened source as a sync does: passing faults are waited out.
func (v *Preview) Changes(ctx context.Context, name string, src connector.Source) iter.Seq2[connector.Change, error] {
	return v.p.changes(ctx, &openSource{name: name, source: src})
}
