// Package opensearch is the sink of OpenSearch with its k-NN plugin, over its HTTP API, without a client library.
//
// # Config
//
//	sink: { opensearch: { address: http://localhost:9200, collection: handbook } }
//
// # Limits
//
// The mapping is declared: nothing is guessed from values. Vectors use Lucene's HNSW (at most 16,000 dimensions). What was
// written is found by searches after the engine's flush, and read by id at once.
package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Config is the sink's part of the configuration.
type Config struct {
	remote.Common `yaml:",inline"`

	Address  string           `yaml:"address" doc:"the server's URL"`
	Username string           `yaml:"username" doc:"user of HTTP basic authentication"`
	Password connector.Secret `yaml:"password" doc:"its password"`
	Replicas int              `yaml:"replicas" doc:"copies of each shard beside the first, for new indexes"`
}

const maxDimensions = 16000

// nameRule leaves out what OpenSearch refuses; the generation and its length of 255 bytes are thought of.
var nameRule = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}][\p{Ll}\p{Lo}\p{N}._-]*$`)

func defaults() Config { return Config{Common: remote.Defaults(), Address: "http://localhost:9200"} }

// Validate checks what needs no server and fills what is empty.
func (c *Config) Validate() error {
	if c.Address == "" {
		c.Address = defaults().Address
	}
	if err := c.Common.Validate(); err != nil {
		return fmt.Errorf("opensearch: %w", err)
	}
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("opensearch: address %q: want a URL such as http://localhost:9200", c.Address)
	case u.User != nil || u.RawQuery != "":
		return errors.New("opensearch: address must hold no user, password or query; they belong into username and password")
	case c.Collection != "" && (len(c.Collection) > 200 || !nameRule.MatchString(c.Collection)):
		return fmt.Errorf("opensearch: collection %q: want lower case letters, digits, . _ -, a letter or digit first, at most 200 bytes; set collection", c.Collection)
	case c.Replicas < 0:
		return errors.New("opensearch: replicas must not be negative")
	}
	c.Address = strings.TrimRight(c.Address, "/")
	_, err = c.names()
	return err
}

// Sink is a connection to one cluster.
type Sink struct {
	config Config
	names  map[string]string
	client *remote.JSONClient
}

var (
	_ connector.Sink     = (*Sink)(nil)
	_ connector.Importer = (*Sink)(nil)
)

// Plugin registers the sink under "opensearch".
func Plugin() connector.SinkPlugin {
	return connector.Define("opensearch", "OpenSearch with its k-NN plugin", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Sink, error) { return Open(*c, env) })
}

// Open prepares the sink; the first call connects.
func Open(c Config, env connector.Env) (*Sink, error) {
	if c.Collection == "" {
		c.Collection = env.Name
	}
	if c.Collection == "" {
		return nil, errors.New("opensearch: collection is missing and there is no pipeline name to derive it from")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	return &Sink{config: c, names: names, client: newClient(&c)}, nil
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	items := s.config.Batch
	if items == 0 {
		items = 500
	}
	return connector.SinkCapabilities{
		MaxBatchItems: items,
		MaxBatchBytes: 8 << 20,
		MaxDimensions: maxDimensions,
		Modes:         s.config.Modes(),
		Distance:      s.config.Distance,
		Layout:        s.config.Layout("opensearch1", s.names),
		Mapping:       mapping(),
		Policy:        s.config.Policy(),
		Payload:       true,
		Scan:          true,
		Concurrency:   2,
	}
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	return connector.Target{Kind: "opensearch", Address: s.config.Address, Collection: s.config.Collection}
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("opensearch: generations: %w", err)
	}
	var out []connector.Schema
	for _, e := range all {
		out = append(out, e.meta.Schema)
	}
	return out, nil
}

// Create implements [connector.Sink]. One request makes an index with mapping, description and aliases, or nothing.
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.config.Distance
	}
	if schema.Dimensions < 1 || schema.Dimensions > maxDimensions {
		return nil, connector.Errorf(connector.ClassInvalid, "opensearch: %d dimensions: want 1 to %d", schema.Dimensions, maxDimensions)
	}
	e, err := s.create(ctx, schema)
	if err != nil {
		return nil, fmt.Errorf("opensearch: create %q: %w", schema.Generation, err)
	}
	return s.open(e), nil
}

func (s *Sink) create(ctx context.Context, schema connector.Schema) (entry, error) {
	all, err := s.list(ctx)
	if err != nil {
		return entry{}, err
	}
	name := s.config.Physical(schema.Generation)
	for _, e := range all {
		switch {
		case e.meta.Schema == schema:
			if len(all) == 1 && !e.live {
				return e, s.point(ctx, all, e)
			}
			return e, nil
		case e.meta.Schema.Generation == schema.Generation, e.name == name:
			return entry{}, remote.Conflict("index "+e.name, e.meta.Schema, schema)
		}
	}
	e := entry{name: name, meta: remote.NewMeta(schema)}
	aliases := map[string]any{e.alias(): map[string]any{}}
	if len(all) == 0 && !s.config.InPlace {
		aliases[s.config.Collection] = map[string]any{} // the only one is live
	}
	return e, s.client.Call(ctx, http.MethodPut, "/"+url.PathEscape(name), map[string]any{
		"settings": map[string]any{"index.knn": true, "index.number_of_shards": 1, "index.number_of_replicas": s.config.Replicas},
		"mappings": s.declare(e.meta), "aliases": aliases,
	}, nil)
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("opensearch: %w", err)
	}
	if len(all) == 0 || !all[0].live {
		return nil, fmt.Errorf("opensearch: %s: collection %q: %w", s.config.Address, s.config.Collection, connector.ErrNoCollection)
	}
	return s.open(all[0]), nil
}

// Promote implements [connector.Sink]: one request moves the alias.
func (s *Sink) Promote(ctx context.Context, generation string) error {
	all, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("opensearch: promote %q: %w", generation, err)
	}
	for _, e := range all {
		if e.meta.Schema.Generation != generation {
			continue
		}
		if e.live {
			return nil
		}
		if err := s.point(ctx, all, e); err != nil {
			return fmt.Errorf("opensearch: promote %q: %w", generation, err)
		}
		return nil
	}
	return connector.Errorf(connector.ClassNotFound, "opensearch: promote %q: there is no such generation", generation)
}

// Drop implements [connector.Sink]. Dropping what is not there is no error; dropping the live one is, unless it is the only one.
// An index takes its aliases with it.
func (s *Sink) Drop(ctx context.Context, generation string) error {
	all, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("opensearch: drop %q: %w", generation, err)
	}
	for _, e := range all {
		if e.meta.Schema.Generation != generation {
			continue
		}
		if e.live && len(all) > 1 {
			return connector.Errorf(connector.ClassConflict, "opensearch: drop %q: it is the live one; promote another one first", generation)
		}
		if err := s.client.Call(ctx, http.MethodDelete, "/"+url.PathEscape(e.name), nil, nil); err != nil && connector.ClassOf(err) != connector.ClassNotFound {
			return fmt.Errorf("opensearch: drop %q: %w", generation, err)
		}
	}
	return nil
}

// Close closes idle connections.
func (s *Sink) Close() error {
	s.client.Close()
	return nil
}
