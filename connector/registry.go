package connector

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
)

// Env is what every factory gets beside its own configuration.
type Env struct {
	// Name is the pipeline's name; Dir the folder that relative paths are resolved against.
	Name string
	Dir  string
	// Cache is a folder for what can be made again (a mirror of a repository), shared by the plugins of a pipeline: each makes
	// a folder of its own kind in it. Empty: nothing can be kept.
	Cache string
	Log   *slog.Logger
	// Parser opens another parser of this program with its defaults: for parsers of formats that hold other formats, and for converters.
	// Only parsers get it. A kind that this build lacks is [errors.ErrUnsupported].
	Parser func(ctx context.Context, kind string) (Parser, error)
}

// Plugin is one entry of a registry: a kind and how to open it.
//
// Config returns a pointer to a fresh struct that holds the default values. Its yaml and doc tags are the plugin's
// documentation and JSON Schema; unknown keys are errors. If it has a method Validate() error, that is called
// after decoding. Open gets the pointer back, filled.
type Plugin[E, T any] struct {
	Kind   string
	Doc    string // one sentence
	Config func() any
	Open   func(ctx context.Context, config any, env E) (T, error)
}

// Define makes a Plugin from a typed configuration and a typed opener.
func Define[C, E, T any](kind, doc string, defaults C, open func(ctx context.Context, config *C, env E) (T, error)) Plugin[E, T] {
	return Plugin[E, T]{
		Kind:   kind,
		Doc:    doc,
		Config: func() any { c := defaults; return &c },
		Open: func(ctx context.Context, config any, env E) (T, error) {
			c, ok := config.(*C)
			if !ok {
				var zero T
				return zero, fmt.Errorf("%s: configuration is a %T, want %T", kind, config, c)
			}
			return open(ctx, c, env)
		},
	}
}

type (
	// SourcePlugin opens a Source.
	SourcePlugin = Plugin[Env, Source]
	// ParserPlugin opens a Parser.
	ParserPlugin = Plugin[Env, Parser]
	// StrategyPlugin opens a Strategy.
	StrategyPlugin = Plugin[StrategyEnv, Strategy]
	// EmbedderPlugin opens an Embedder.
	EmbedderPlugin = Plugin[Env, Embedder]
	// SinkPlugin opens a Sink.
	SinkPlugin = Plugin[Env, Sink]
)

// Registry is the explicit list of the plugins of a program.
type Registry struct {
	Sources    Set[SourcePlugin]
	Parsers    Set[ParserPlugin]
	Strategies Set[StrategyPlugin]
	Embedders  Set[EmbedderPlugin]
	Sinks      Set[SinkPlugin]
	LLMs       Set[LLMPlugin]
	// DefaultEmbedders are the kinds that a pipeline may have without naming one: they open without a configuration, and their models'
	// Provider is the kind. The first is what a new pipeline gets; one that began with another of them keeps that.
	DefaultEmbedders []string
}

// DefaultEmbedder is the kind of embedder of a new pipeline that names none; empty if there is none.
func (r *Registry) DefaultEmbedder() string {
	if len(r.DefaultEmbedders) == 0 {
		return ""
	}
	return r.DefaultEmbedders[0]
}

// Set holds plugins by kind.
type Set[P any] struct{ byKind map[string]P }

// Add registers p under kind; a kind that is taken is an error.
func (s *Set[P]) Add(kind string, p P) error {
	if _, taken := s.byKind[kind]; taken {
		return fmt.Errorf("connector: kind %q is registered twice", kind)
	}
	if s.byKind == nil {
		s.byKind = map[string]P{}
	}
	s.byKind[kind] = p
	return nil
}

// Get finds a plugin by kind.
func (s *Set[P]) Get(kind string) (P, bool) {
	p, ok := s.byKind[kind]
	return p, ok
}

// Kinds are the registered kinds in alphabetical order.
func (s *Set[P]) Kinds() []string {
	kinds := make([]string, 0, len(s.byKind))
	for k := range s.byKind {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	return kinds
}
