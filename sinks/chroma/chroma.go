// Package chroma is the sink of Chroma, over its HTTP API (v2), without a client library.
//
// # Config
//
//	sink: { chroma: { address: http://localhost:8000, collection: handbook } }
//
// # Limits
//
// Chroma ranks by vectors alone: there are no lexical and no hybrid queries. It has no aliases: the live collection bears the
// configured name, the others `<name>_<generation>`, and a switch is two renames, between which no collection has the name
// for some milliseconds. It is read and written by its id, which outlives both.
package chroma

import (
	"context"
	"errors"
	"fmt"
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
	APIKey   connector.Secret `yaml:"api_key" doc:"token, sent as X-Chroma-Token"`
	Tenant   string           `yaml:"tenant" doc:"tenant"`
	Database string           `yaml:"database" doc:"database of the tenant; it must exist"`
}

// Chroma's own limits: what a collection may be called, records in a request, bytes of a request.
const (
	nameRule   = `^[a-zA-Z0-9][a-zA-Z0-9._-]{1,498}[a-zA-Z0-9]$` // room for the generation is left
	maxRecords = 5461
	maxRequest = 39 << 20
)

func defaults() Config {
	return Config{Common: remote.Defaults(), Address: "http://localhost:8000", Tenant: "default_tenant", Database: "default_database"}
}

// Validate checks what needs no server and fills what is empty.
func (c *Config) Validate() error {
	fresh := defaults()
	for _, f := range [...][2]*string{{&c.Address, &fresh.Address}, {&c.Tenant, &fresh.Tenant}, {&c.Database, &fresh.Database}} {
		if *f[0] == "" {
			*f[0] = *f[1]
		}
	}
	if err := c.Common.Validate(); err != nil {
		return fmt.Errorf("chroma: %w", err)
	}
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("chroma: address %q: want a URL such as http://localhost:8000", c.Address)
	case u.User != nil || u.RawQuery != "":
		return errors.New("chroma: address must hold no user, password or query; a token belongs into api_key")
	case c.Collection != "" && !regexp.MustCompile(nameRule).MatchString(c.Collection):
		return fmt.Errorf("chroma: collection %q: Chroma takes 3 to 500 of A-Z a-z 0-9 . _ -, with a letter or digit at both ends; set collection", c.Collection)
	case c.Batch > maxRecords:
		return fmt.Errorf("chroma: batch %d: Chroma takes at most %d records in a request", c.Batch, maxRecords)
	}
	c.Address = strings.TrimRight(c.Address, "/")
	_, err = c.names()
	return err
}

// Sink is a connection to one server.
type Sink struct {
	config Config
	fields fields
	client *remote.JSONClient
}

var (
	_ connector.Sink     = (*Sink)(nil)
	_ connector.Importer = (*Sink)(nil)
)

// Plugin registers the sink under "chroma".
func Plugin() connector.SinkPlugin {
	return connector.Define("chroma", "a Chroma server", defaults(),
		func(_ context.Context, c *Config, env connector.Env) (connector.Sink, error) { return Open(*c, env) })
}

// Open prepares the sink; the first call connects.
func Open(c Config, env connector.Env) (*Sink, error) {
	if c.Collection == "" {
		c.Collection = env.Name
	}
	if c.Collection == "" {
		return nil, errors.New("chroma: collection is missing and there is no pipeline name to derive it from")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	return &Sink{config: c, fields: newFields(names), client: newClient(&c)}, nil
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	items := s.config.Batch
	if items == 0 {
		items = 500
	}
	common := s.config.Common
	common.Sparse = "none" // whatever is configured: it changes nothing here
	return connector.SinkCapabilities{
		MaxBatchItems: items,
		MaxBatchBytes: 8 << 20,
		Modes:         common.Modes(),
		Distance:      common.Distance,
		Layout:        common.Layout("chroma1", s.fields.names),
		Mapping:       s.fields.mapping(),
		Policy:        common.Policy(),
		Payload:       true,
		Scan:          true,
		Concurrency:   2,
	}
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	return connector.Target{Kind: "chroma", Address: s.config.Address, Collection: s.config.Collection, Tenant: s.config.Tenant + "/" + s.config.Database}
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("chroma: generations: %w", err)
	}
	var out []connector.Schema
	for _, e := range all {
		out = append(out, e.meta.Schema)
	}
	return out, nil
}

// Create implements [connector.Sink]. One request makes a collection with its description and the mark that
// it is not ready; a crash after it is made up for by the next Create.
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.config.Distance
	}
	if schema.Dimensions < 1 {
		return nil, connector.Errorf(connector.ClassInvalid, "chroma: %d dimensions: want at least 1", schema.Dimensions)
	}
	e, err := s.create(ctx, schema)
	if err != nil {
		return nil, fmt.Errorf("chroma: create %q: %w", schema.Generation, err)
	}
	if err := s.ready(ctx, &e); err != nil {
		return nil, fmt.Errorf("chroma: create %q: %w", schema.Generation, err)
	}
	return s.open(e), nil
}

func (s *Sink) create(ctx context.Context, schema connector.Schema) (entry, error) {
	all, err := s.list(ctx)
	if err != nil {
		return entry{}, err
	}
	name := s.config.Physical(schema.Generation)
	if len(all) == 0 {
		name = s.config.Collection // the only one is live
	}
	for _, e := range all {
		switch {
		case e.meta.Schema == schema:
			if len(all) == 1 && !s.live(e) {
				return e, s.promote(ctx, all, &e)
			}
			return e, nil
		case e.meta.Schema.Generation == schema.Generation, e.Name == name:
			return entry{}, remote.Conflict("collection "+e.Name, e.meta.Schema, schema)
		}
	}
	e := entry{Name: name, Metadata: description(remote.NewMeta(schema), newKey)}
	space := map[string]string{"cosine": "cosine", "dot": "ip", "l2": "l2"}[schema.Distance]
	err = s.client.Call(ctx, "POST", "", map[string]any{
		"name": name, "metadata": e.Metadata, "configuration": map[string]any{"hnsw": map[string]any{"space": space, "ef_search": efSearch}},
	}, &e)
	if connector.ClassOf(err) == connector.ClassConflict {
		return entry{}, remote.Foreign("collection " + name) // what kbsync made was listed above
	}
	if err != nil {
		return entry{}, err
	}
	return e, e.parse()
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("chroma: %w", err)
	}
	if len(all) == 0 || !s.live(all[0]) {
		return nil, fmt.Errorf("chroma: %s: collection %q: %w", s.config.Address, s.config.Collection, connector.ErrNoCollection)
	}
	return s.open(all[0]), nil
}

// Promote implements [connector.Sink]: two renames, since a name that is taken is refused. A crash between them leaves the
// new one marked, and the next call that lists the collections gives it the name.
func (s *Sink) Promote(ctx context.Context, generation string) error {
	all, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("chroma: promote %q: %w", generation, err)
	}
	for _, e := range all {
		if e.meta.Schema.Generation != generation {
			continue
		}
		if s.live(e) {
			return nil
		}
		if err := s.promote(ctx, all, &e); err != nil {
			return fmt.Errorf("chroma: promote %q: %w", generation, err)
		}
		return nil
	}
	return connector.Errorf(connector.ClassNotFound, "chroma: promote %q: there is no such generation", generation)
}

// Drop implements [connector.Sink]. Dropping what is not there is no error; dropping the live one is, unless it is the only one.
func (s *Sink) Drop(ctx context.Context, generation string) error {
	all, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("chroma: drop %q: %w", generation, err)
	}
	for _, e := range all {
		if e.meta.Schema.Generation != generation {
			continue
		}
		if s.live(e) && len(all) > 1 {
			return connector.Errorf(connector.ClassConflict, "chroma: drop %q: it is the live one; promote another one first", generation)
		}
		if err := s.client.Call(ctx, "DELETE", "/"+url.PathEscape(e.Name), nil, nil); err != nil && connector.ClassOf(err) != connector.ClassNotFound {
			return fmt.Errorf("chroma: drop %q: %w", generation, err)
		}
	}
	return nil
}

// Close closes idle connections.
func (s *Sink) Close() error {
	s.client.Close()
	return nil
}
