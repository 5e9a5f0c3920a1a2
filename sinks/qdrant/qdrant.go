// Package qdrant is the sink for Qdrant, over gRPC.
//
// A generation is a collection `<collection>_<generation>`; the configured name is an alias, which one request moves from the
// old collection to the new one. Dense vectors are named, and a sparse vector with Qdrant's IDF modifier answers lexical
// queries, so that store-only chunks are points without any vector.
//
// # Config
//
//	sink: { qdrant: { address: "localhost:6334", api_key: "${QDRANT_KEY}", tls: true, collection: handbook } }
//
// # Limits
//
// The address is that of gRPC (6334), not of REST (6333). Ids are UUIDs. Under cosine the server stores vectors normalised to
// length 1. Vectors have at most 65,536 dimensions. Requests stay under 5 MB, but for a single chunk that is larger. What the
// server refuses in strict mode (limits of a cluster) fails as it is; everything that this sink filters by is indexed.
package qdrant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Config is the sink's part of the configuration.
type Config struct {
	remote.Common `yaml:",inline"`
	Address       string           `yaml:"address" doc:"host:port of the server's gRPC interface, not of REST"`
	APIKey        connector.Secret `yaml:"api_key" doc:"the server's API key or a token"`
	TLS           bool             `yaml:"tls" doc:"encrypt the connection; certificates are checked"`
	Index         string           `yaml:"index" enum:"hnsw,flat" doc:"hnsw, or flat: every dense query compares with every vector"`
}

// maxName leaves room for the generation in the 255 bytes that a file name may have: the server makes a folder of that name.
const maxName = 200

// Validate checks what needs no server, and fills empty keys.
func (c *Config) Validate() error {
	if err := c.Common.Validate(); err != nil {
		return fmt.Errorf("qdrant: %w", err)
	}
	if c.Index == "" {
		c.Index = "hnsw"
	}
	if c.Index != "hnsw" && c.Index != "flat" {
		return fmt.Errorf("qdrant: index %q: want hnsw or flat", c.Index)
	}
	if strings.ContainsAny(c.Collection, forbidden) || len(c.Collection) > maxName {
		return fmt.Errorf("qdrant: collection %.40q: the server takes no name with one of %s or over %d bytes", c.Collection, `<>:"/\|?*`, maxName)
	}
	if _, _, err := splitAddress(c.Address); err != nil {
		return err
	}
	_, err := newLayout(&c.Common)
	return err
}

// perRequest is how many points a request has at most.
func (c *Config) perRequest() int {
	if c.Batch > 0 {
		return c.Batch
	}
	return 500 // measured: 12,000 points of 384 dimensions a second, and no faster with 1,000
}

// Sink is a connection to one server. It connects with the first call.
type Sink struct {
	config Config
	host   string
	port   int
	layout *layout
	client *pb.Client
}

var (
	_ connector.Sink     = (*Sink)(nil)
	_ connector.Importer = (*Sink)(nil)
)

// Plugin registers the sink under "qdrant".
func Plugin() connector.SinkPlugin {
	return connector.Define("qdrant", "Qdrant, over gRPC", Config{Common: remote.Defaults(), Address: "localhost:6334", Index: "hnsw"},
		func(_ context.Context, c *Config, env connector.Env) (connector.Sink, error) { return Open(*c, env) })
}

// Open prepares the sink; nothing is sent before the first call that needs the server.
func Open(c Config, env connector.Env) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Collection == "" {
		c.Collection = safeName(env.Name)
	}
	if c.Collection == "" {
		return nil, fmt.Errorf("qdrant: collection is missing and there is no pipeline name to derive it from")
	}
	s := &Sink{config: c}
	var err error
	if s.host, s.port, err = splitAddress(c.Address); err != nil {
		return nil, err
	}
	if s.layout, err = newLayout(&c.Common); err != nil {
		return nil, err
	}
	if s.client, err = connect(s.host, s.port, &c); err != nil {
		return nil, fmt.Errorf("qdrant: %s: %w", c.Address, err)
	}
	return s, nil
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	return connector.SinkCapabilities{
		MaxBatchItems: 2 * s.config.perRequest(), // Upsert makes one request while another is under way
		MaxBatchBytes: 6 << 20,                   // as the engine estimates; Upsert divides by what a request really takes
		MaxDimensions: 65_536,
		Modes:         s.config.Modes(),
		Distance:      s.config.Distance,
		Layout:        s.layout.String(),
		Mapping:       mapping(),
		Policy:        s.config.Policy(),
		Payload:       true,
		Scan:          true,
		Concurrency:   4,
	}
}

// mapping is the table of docs/sinks/qdrant.md.
func mapping() *connector.Mapping {
	return &connector.Mapping{
		Values: map[connector.ValueKind]connector.Treatment{connector.ValueInvalid: connector.TreatRefused},
		Notes: []string{
			"ids are UUIDs",
			"metadata stands under its own names in one object of the payload; every scalar at its top level, and in a list there, can be filtered by its own type",
			"a float of more than 15 digits may stand there off in its last bit, as the server's storage reads it; it comes back as it was",
			"under cosine, vectors come back with length 1",
		},
	}
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	return connector.Target{Kind: "qdrant", Address: joinAddress(s.host, s.port), Collection: s.config.Collection}
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	found, err := s.generations(ctx)
	if err != nil {
		return nil, fmt.Errorf("qdrant: generations of %s: %w", s.config.Collection, err)
	}
	var out []connector.Schema
	for _, g := range found {
		out = append(out, g.meta.Schema)
	}
	return out, nil
}

// Create implements [connector.Sink]. Each of its steps looks first, so that it finishes what a crash left half done.
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.config.Distance
	}
	c, err := s.create(ctx, schema)
	if err != nil {
		return nil, fmt.Errorf("qdrant: create %s: %w", s.config.Physical(schema.Generation), err)
	}
	return c, nil
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	physical, err := s.livePhysical(ctx)
	if err != nil {
		return nil, fmt.Errorf("qdrant: %w", err)
	}
	if physical == "" {
		return nil, fmt.Errorf("qdrant: %s: collection %q: %w", s.config.Address, s.config.Collection, connector.ErrNoCollection)
	}
	d, err := s.describe(ctx, physical)
	switch {
	case err != nil:
		return nil, fmt.Errorf("qdrant: %w", err)
	case d == nil:
		return nil, fmt.Errorf("qdrant: %s: collection %q: %w", s.config.Address, s.config.Collection, connector.ErrNoCollection)
	case !d.own:
		return nil, fmt.Errorf("qdrant: %w", remote.Foreign("collection "+physical))
	}
	return s.collectionOf(physical, d), nil
}

// Promote implements [connector.Sink].
func (s *Sink) Promote(ctx context.Context, generation string) error {
	if err := s.promote(ctx, generation); err != nil {
		return fmt.Errorf("qdrant: promote %s: %w", generation, err)
	}
	return nil
}

func (s *Sink) promote(ctx context.Context, generation string) error {
	physical := s.config.Physical(generation)
	d, err := s.describe(ctx, physical)
	if err != nil {
		return err
	}
	if d == nil || !d.own || d.meta.Schema.Generation != generation {
		return connector.Errorf(connector.ClassNotFound, "there is no such generation of %s", s.config.Collection)
	}
	if s.config.InPlace {
		return nil
	}
	live, err := s.livePhysical(ctx)
	if err != nil || live == physical {
		return err
	}
	return s.point(ctx, live, physical)
}

// Drop implements [connector.Sink]. Dropping what is not there is no error; dropping the live one is, unless it is the only one.
func (s *Sink) Drop(ctx context.Context, generation string) error {
	if err := s.drop(ctx, generation); err != nil {
		return fmt.Errorf("qdrant: drop %s: %w", generation, err)
	}
	return nil
}

func (s *Sink) drop(ctx context.Context, generation string) error {
	found, err := s.generations(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(g described) bool { return g.meta.Schema.Generation == generation })
	if i < 0 {
		return nil
	}
	if found[i].live && len(found) > 1 {
		return connector.Errorf(connector.ClassConflict, "it is the live one; promote another one first")
	}
	// The server removes the alias with the collection. It says no code for one that is gone, so who asks is the server itself.
	_, derr := call(ctx, s, s.client.GetCollectionsClient().Delete, &pb.DeleteCollection{CollectionName: found[i].name})
	if derr == nil {
		return nil
	}
	if d, err := s.describe(ctx, found[i].name); err == nil && d == nil {
		return nil
	}
	return derr
}

// Close ends the connection.
func (s *Sink) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("qdrant: close: %w", err)
	}
	return nil
}
