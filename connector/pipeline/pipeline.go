// Package pipeline is the engine: it opens what a configuration names, finds out what changed, cuts and embeds it,
// and makes the sink hold exactly the chunks of the live documents. It alone retries, batches, limits and reports; no
// plugin does.
//
// A document's way: listed → unchanged? (nothing is opened) → read, parsed, cut → vectors looked up by text and model → the missing ones
// embedded → ids noted in the ledger → points written → results checked → stale ids deleted → ledger committed. After a
// clean listing, documents that vanished are swept, unless a guard refuses.
package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/internal/counters"
)

// payloadVersion is raised when the shape of what is stored in a sink changes: a new generation then.
const payloadVersion = 1

// DefaultSink is the kind used where the configuration names none.
const DefaultSink = "sqlite"

// Options of [Open].
type Options struct {
	Log *slog.Logger
	// Progress is told what happens; nil means nobody is.
	Progress Progress
	// LedgerHook and CacheBytes are handed to the ledger; the hook is for fault tests.
	LedgerHook func(op string) error
	// WrapSource, WrapSink and WrapEmbedder, if set, stand between the engine and its plugins: for fault tests.
	WrapSource   func(connector.Source) connector.Source
	WrapSink     func(connector.Sink) connector.Sink
	WrapEmbedder func(connector.Embedder) connector.Embedder
	// RetryWait is the wait before the first retry, 0 means 200 ms; it grows from there.
	RetryWait time.Duration
	// MaxLedgerPages and MaxSharedPages bound the files of the ledger and of the shared store, for tests of a full disk.
	MaxLedgerPages, MaxSharedPages int
}

// Pipeline is an opened configuration. It is used by one operation at a time.
type Pipeline struct {
	file *config.File
	reg  *connector.Registry
	opts Options
	log  *slog.Logger

	embedder connector.Embedder
	sink     connector.Sink
	model    connector.Model
	router   *router
	shared   *shared // while an operation runs; nil: none is configured
	vectors  lazyVectors
	llm      lazyLLM
}

// Open opens embedder, sink and strategies and checks that they fit together; every shortfall is in the error. Sources
// are opened by the operations that read them. Nothing is read, embedded or written.
func Open(ctx context.Context, file *config.File, reg *connector.Registry, opts Options) (*Pipeline, error) {
	p := &Pipeline{file: file, reg: reg, opts: opts, log: opts.Log}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.opts.Progress == nil {
		p.opts.Progress = silent{}
	}
	if p.opts.RetryWait == 0 {
		p.opts.RetryWait = 200 * time.Millisecond
	}
	if err := errors.Join(p.openSink(ctx), p.openEmbedder(ctx)); err != nil {
		_ = p.Close()
		return nil, err
	}
	p.model = p.embedder.Model()
	var err error
	if p.router, err = newRouter(ctx, p); err == nil {
		err = p.checkFit()
	}
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// env is what plugins get.
func (p *Pipeline) env() connector.Env {
	return Env(p.file, p.log)
}

// parserEnv is what parsers get.
func (p *Pipeline) parserEnv() connector.Env {
	env := p.env()
	env.Parser = func(ctx context.Context, kind string) (connector.Parser, error) {
		plugin, ok := p.reg.Parsers.Get(kind)
		if !ok {
			return nil, absentError{fmt.Errorf("parser %q is not in this build", kind)}
		}
		return plugin.Open(ctx, plugin.Config(), env)
	}
	return env
}

// Env is what the plugins of a configuration get.
func Env(file *config.File, log *slog.Logger) connector.Env {
	return connector.Env{Name: file.Name, Dir: file.Dir, Cache: filepath.Join(filepath.Dir(LedgerPath(file)), "cache"), Log: log}
}

func (p *Pipeline) openSink(ctx context.Context) error {
	kind, conf := DefaultSink, any(nil)
	if p.file.Sink != nil {
		kind, conf = p.file.Sink.Kind, p.file.Sink.Config
	}
	plugin, ok := p.reg.Sinks.Get(kind)
	if !ok {
		return UsageErrorf("sink %q is not in this build: choose one of %s", kind, strings.Join(p.reg.Sinks.Kinds(), ", "))
	}
	if conf == nil {
		conf = plugin.Config()
	}
	sink, err := plugin.Open(ctx, conf, p.env())
	if err != nil {
		return fmt.Errorf("sink %s: %w", kind, err)
	}
	if p.opts.WrapSink != nil {
		sink = p.opts.WrapSink(sink)
	}
	p.sink = sink
	return nil
}

func (p *Pipeline) openEmbedder(ctx context.Context) error {
	if p.sink == nil {
		return nil // the sink's error is reported
	}
	var live []connector.Schema
	if p.file.Embedder == nil {
		var err error
		if live, err = p.generations(ctx); err != nil {
			return err
		}
	}
	e, err := openEmbedder(ctx, p.file, p.reg, p.env(), live)
	if err != nil {
		return err
	}
	if p.opts.WrapEmbedder != nil {
		e = p.opts.WrapEmbedder(e)
	}
	p.embedder = e
	return nil
}

// checkFit compares what the parts need and give.
func (p *Pipeline) checkFit() error {
	_, err := Compile(p.file, p.model, p.sink.Capabilities())
	return err
}

// Close closes embedder and sink.
func (p *Pipeline) Close() error {
	var errs []error
	if p.embedder != nil {
		errs = append(errs, p.embedder.Close())
	}
	if p.sink != nil {
		errs = append(errs, p.sink.Close())
	}
	if p.vectors.own != nil {
		errs = append(errs, p.vectors.own.Close())
	}
	if p.llm.caller != nil {
		errs = append(errs, p.llm.caller.Close())
	}
	return errors.Join(errs...)
}

// Model is the embedder's model.
func (p *Pipeline) Model() connector.Model { return p.model }

// Target is where the pipeline writes.
func (p *Pipeline) Target() connector.Target { return p.sink.Target() }

// LedgerPath is the pipeline's ledger file.
func LedgerPath(file *config.File) string {
	switch {
	case file.State == "":
		return filepath.Join(file.Dir, ".kbsync", file.Name+".db")
	case filepath.IsAbs(file.State):
		return file.State
	}
	return filepath.Join(file.Dir, file.State)
}

func (p *Pipeline) openLedger(ctx context.Context, readOnly bool) (*ledger.Ledger, error) {
	return ledger.Open(ctx, LedgerPath(p.file), ledger.Options{ReadOnly: readOnly, Hook: p.opts.LedgerHook,
		CacheBytes: int(p.file.Sync.Memory / 16), MaxPages: p.opts.MaxLedgerPages})
}

// counter resolves the name of a unit: "model" is the embedder's own tokenizer, cl100k where it has none.
func (p *Pipeline) counter(name string) (connector.Counter, error) {
	if name == "model" {
		if p.model.Counter != nil {
			return p.model.Counter, nil
		}
		name = "cl100k"
	}
	return counters.Named(name)
}

// schema is what the configuration wants the collection to be.
func (p *Pipeline) schema() connector.Schema {
	s := connector.Schema{Model: p.model.Identity(), Dimensions: p.model.Dimensions, Distance: "cosine"}
	if d := p.sink.Capabilities().Distance; d != "" {
		s.Distance = d
	}
	s.Layout = p.sink.Capabilities().Layout
	parts := []any{s.Model, s.Dimensions, s.Distance, payloadVersion}
	if s.Layout != "" {
		parts = append(parts, s.Layout)
	}
	s.Generation = "g" + digest(parts...)[:12]
	return s
}

func (p *Pipeline) concurrency() int {
	if n := p.file.Sync.Concurrency; n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// digest hashes the JSON of its arguments.
func digest(parts ...any) string {
	sum, err := jsonHash(parts)
	if err != nil {
		panic(fmt.Sprintf("pipeline: digest: %v", err)) // only plain data is hashed
	}
	return sum
}

// jsonHash is the SHA-256, in hexadecimal, of a value's JSON; an error where it has none.
func jsonHash(v any) (string, error) {
	b, err := json.Marshal(v)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}
