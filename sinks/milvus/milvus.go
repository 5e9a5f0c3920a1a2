// Package milvus is the sink for Milvus, Zilliz Cloud and Milvus Lite, over gRPC.
//
// A generation is a collection of its own with a declared schema; the configured collection is an alias that queries use.
//
// # Config
//
//	sink: { milvus: { address: "localhost:19530", token: "${MILVUS_TOKEN}", database: default, collection: handbook } }
//
// # Limits
//
// Lexical and hybrid queries need sparse vectors, that is Milvus 2.4 or Milvus Lite 3; older servers take `sparse: none`. A chunk's
// text, its context and its embedded text hold at most 2 MiB each: what does not fit into a VARCHAR (65,535 bytes) lies in a
// field beside it. The server answers with at most 16,384 hits. Milvus Lite has neither users nor TLS, and its writes to one
// collection are sent one after the other.
package milvus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Config is the sink's part of the configuration.
type Config struct {
	remote.Common  `yaml:",inline"`
	Address        string           `yaml:"address" doc:"host:port of the server, or the URL that a cloud service gives"`
	Token          connector.Secret `yaml:"token" doc:"an API key, or user:password"`
	User           string           `yaml:"user" doc:"user, where there is no token"`
	Password       connector.Secret `yaml:"password" doc:"password of user"`
	Database       string           `yaml:"database" doc:"database of the server; it must exist"`
	TLS            bool             `yaml:"tls" doc:"encrypt the connection; implied by an address that starts with https://"`
	Index          string           `yaml:"index" enum:"hnsw,flat,autoindex" doc:"index of the vectors: hnsw is fast, flat compares with every vector, autoindex leaves it to the server"`
	M              int              `yaml:"m" doc:"hnsw: links of a vector, 2 to 2,048"`
	EfConstruction int              `yaml:"ef_construction" doc:"hnsw: candidates looked at while building"`
	Ef             int              `yaml:"ef" doc:"hnsw: candidates looked at in a search; at least the number of hits is taken"`
	Consistency    string           `yaml:"consistency" enum:"strong,bounded,session,eventually" doc:"which writes a query must see; everything but queries is always strong"`
}

func defaults() Config {
	return Config{Common: remote.Defaults(), Address: "localhost:19530", Database: "default", Index: "hnsw", M: 16, EfConstruction: 200, Ef: 128, Consistency: "strong"}
}

// Validate checks what needs no server, and fills empty keys with their defaults.
func (c *Config) Validate() error {
	if err := c.Common.Validate(); err != nil {
		return fmt.Errorf("milvus: %w", err)
	}
	fresh := defaults()
	for _, f := range [][2]*string{{&c.Address, &fresh.Address}, {&c.Database, &fresh.Database}, {&c.Index, &fresh.Index}, {&c.Consistency, &fresh.Consistency}} {
		if *f[0] == "" {
			*f[0] = *f[1]
		}
	}
	for _, f := range [][2]*int{{&c.M, &fresh.M}, {&c.EfConstruction, &fresh.EfConstruction}, {&c.Ef, &fresh.Ef}} {
		if *f[0] == 0 {
			*f[0] = *f[1]
		}
	}
	_, level := levels()[c.Consistency]
	switch {
	case !slices.Contains([]string{"hnsw", "flat", "autoindex"}, c.Index):
		return fmt.Errorf("milvus: index %q: want hnsw, flat or autoindex", c.Index)
	case !level:
		return fmt.Errorf("milvus: consistency %q: want strong, bounded, session or eventually", c.Consistency)
	case c.M < 2 || c.M > 2048 || c.EfConstruction < 1 || c.Ef < 1 || c.Ef > maxEf:
		return fmt.Errorf("milvus: want m from 2 to 2048, ef_construction from 1, ef from 1 to %d", maxEf)
	case c.Token != "" && (c.User != "" || c.Password != ""):
		return errors.New("milvus: token and user exclude each other: a token may be user:password")
	case c.User == "" && c.Password != "":
		return errors.New("milvus: password without user")
	}
	_, err := fieldNames(&c.Common)
	return err
}

// Sink is a connection to one database of a server; it is made by the first call that needs it.
type Sink struct {
	conf   Config
	fields fields
	link   link
}

var (
	_ connector.Sink     = (*Sink)(nil)
	_ connector.Importer = (*Sink)(nil)
)

// Plugin registers the sink under "milvus".
func Plugin() connector.SinkPlugin {
	return connector.Define("milvus", "Milvus, Zilliz Cloud or Milvus Lite", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Sink, error) { return Open(*c, env) })
}

// Open prepares the sink; no server is asked.
func Open(c Config, env connector.Env) (*Sink, error) {
	if c.Collection == "" {
		c.Collection = env.Name
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Collection == "" {
		return nil, errors.New("milvus: collection is missing and there is no pipeline name to take")
	}
	c.Collection = collectionName(c.Collection)
	names, err := fieldNames(&c.Common)
	if err != nil {
		return nil, err
	}
	return &Sink{conf: c, fields: names, link: link{conf: &c}}, nil
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	items := s.conf.Batch
	if items == 0 {
		items = batchItems
	}
	return connector.SinkCapabilities{
		MaxBatchItems: items,
		MaxBatchBytes: batchBytes,
		MaxDimensions: maxDimensions,
		Modes:         s.conf.Modes(),
		Distance:      s.conf.Distance,
		Layout:        s.conf.Layout("milvus1", s.fields.names),
		Mapping:       mapping(),
		Policy:        s.conf.Policy(),
		Scan:          true,
		Concurrency:   4,
	}
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	address := strings.TrimRight(strings.ToLower(s.conf.Address), "/")
	for _, scheme := range []string{"https://", "http://", "tcp://"} {
		address = strings.TrimPrefix(address, scheme)
	}
	return connector.Target{Kind: "milvus", Address: address, Collection: s.conf.Collection, Tenant: s.conf.Database}
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	found, live, err := s.inventory(ctx)
	if err != nil {
		return nil, fmt.Errorf("milvus: generations: %w", err)
	}
	var out []connector.Schema
	for _, f := range found {
		if f.name == live {
			out = append([]connector.Schema{f.meta.Schema}, out...)
		} else {
			out = append(out, f.meta.Schema)
		}
	}
	return out, nil
}

// Create implements [connector.Sink]. A call that was cut short is finished by the next one.
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.conf.Distance
	}
	if schema.Dimensions < 1 || schema.Dimensions > maxDimensions {
		return nil, connector.Errorf(connector.ClassInvalid, "milvus: %d dimensions: want 1 to %d", schema.Dimensions, maxDimensions)
	}
	c, err := s.create(ctx, schema)
	if err != nil {
		return nil, fmt.Errorf("milvus: create %s: %w", s.conf.Physical(schema.Generation), err)
	}
	return c, nil
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	c, err := s.live(ctx)
	if err != nil {
		return nil, fmt.Errorf("milvus: collection %s: %w", s.conf.Collection, err)
	}
	return c, nil
}

// Promote implements [connector.Sink].
func (s *Sink) Promote(ctx context.Context, generation string) error {
	name := s.conf.Physical(generation)
	if err := s.promote(ctx, name, generation); err != nil {
		return fmt.Errorf("milvus: promote %s: %w", name, err)
	}
	return nil
}

// Drop implements [connector.Sink].
func (s *Sink) Drop(ctx context.Context, generation string) error {
	name := s.conf.Physical(generation)
	if err := s.drop(ctx, name, generation); err != nil {
		return fmt.Errorf("milvus: drop %s: %w", name, err)
	}
	return nil
}

// Close ends the connection.
func (s *Sink) Close() error { return s.link.close() }
