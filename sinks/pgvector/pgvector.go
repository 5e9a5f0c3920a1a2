// Package pgvector is the sink for PostgreSQL with the extension pgvector: one table a generation, with typed columns that SQL
// and other programs read, vectors under an HNSW index, and words under BM25.
//
// The live generation's table bears the configured name; Promote swaps it with another one by renames in one transaction.
//
// # Config
//
//	sink: { pgvector: { url: "postgres://user@localhost:5432/db", schema: public, collection: handbook } }
//
// # Limits
//
// pgvector 0.8 or newer. At most 16,000 dimensions; up to 2,000 are indexed as they are, up to 4,000 in half precision and
// ranked again by the full vectors, more are compared one by one. NUL is refused. Names of more than 63 bytes are shortened.
package pgvector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Limits of pgvector and of this sink.
const (
	maxDimensions   = 16_000 // of the type vector
	maxIndexed      = 2_000  // of an index over vector
	maxHalfIndexed  = 4_000  // of an index over halfvec
	maxTextBytes    = 256 << 20
	maxRecordBytes  = 128 << 20
	maxSourceBytes  = 2_000 // a B-tree's entry holds 2,704
	batchItems      = 1_000
	batchBytes      = 32 << 20
	connections     = 8
	writeConcurrent = 4
)

// Config is the sink's part of the configuration.
type Config struct {
	remote.Common  `yaml:",inline"`
	URL            connector.Secret `yaml:"url" doc:"postgres://user:password@host:5432/database, with parameters such as sslmode; what is missing comes from the PG variables"`
	Schema         string           `yaml:"schema" doc:"the schema of the tables; made if it is missing"`
	Index          string           `yaml:"index" enum:"hnsw,ivfflat,none" doc:"the index over the vectors; none compares with every vector"`
	M              int              `yaml:"m" doc:"connections of an HNSW node"`
	EFConstruction int              `yaml:"ef_construction" doc:"candidates while HNSW is built: more is better and slower"`
	EFSearch       int              `yaml:"ef_search" doc:"candidates of a query; never below the number of hits asked for"`
	IterativeScan  string           `yaml:"iterative_scan" enum:"strict_order,relaxed_order,off" doc:"how an index goes on when a filter leaves too few hits"`
}

func defaults() Config {
	return Config{Common: remote.Defaults(), Schema: "public", Index: "hnsw", M: 16, EFConstruction: 64, EFSearch: 200, IterativeScan: "strict_order"}
}

// Validate checks what needs no server, and fills what is empty.
func (c *Config) Validate() error {
	if err := c.Common.Validate(); err != nil {
		return fmt.Errorf("pgvector: %w", err)
	}
	fresh := defaults()
	for _, f := range []struct{ have, want *string }{{&c.Schema, &fresh.Schema}, {&c.Index, &fresh.Index}, {&c.IterativeScan, &fresh.IterativeScan}} {
		if *f.have == "" {
			*f.have = *f.want
		}
	}
	for _, f := range []struct{ have, want *int }{{&c.M, &fresh.M}, {&c.EFConstruction, &fresh.EFConstruction}, {&c.EFSearch, &fresh.EFSearch}} {
		if *f.have == 0 {
			*f.have = *f.want
		}
	}
	switch {
	case c.URL == "":
		return errors.New("pgvector: url is missing: write postgres://user@host:5432/database")
	case c.Index != "hnsw" && c.Index != "ivfflat" && c.Index != "none":
		return fmt.Errorf("pgvector: index %q: want hnsw, ivfflat or none", c.Index)
	case c.IterativeScan != "strict_order" && c.IterativeScan != "relaxed_order" && c.IterativeScan != "off":
		return fmt.Errorf("pgvector: iterative_scan %q: want strict_order, relaxed_order or off", c.IterativeScan)
	case c.M < 2 || c.M > 100:
		return fmt.Errorf("pgvector: m is %d: want 2 to 100", c.M)
	case c.EFConstruction < 2*c.M || c.EFConstruction > 1000:
		return fmt.Errorf("pgvector: ef_construction is %d: want twice m (%d) to 1000", c.EFConstruction, 2*c.M)
	case c.EFSearch < 1 || c.EFSearch > 1000:
		return fmt.Errorf("pgvector: ef_search is %d: want 1 to 1000", c.EFSearch)
	case strings.ContainsRune(c.Schema+c.Collection, 0):
		return errors.New("pgvector: schema and collection must not hold NUL")
	case len(c.Schema) > maxIdentifier:
		return fmt.Errorf("pgvector: schema %q has more than %d bytes", c.Schema, maxIdentifier)
	}
	if _, err := c.layout(); err != nil {
		return fmt.Errorf("pgvector: %w", err)
	}
	_, err := c.pool()
	return err
}

// Sink is a pool of connections to one database.
type Sink struct {
	config  Config
	layout  *layout
	address string
	pool    *pgxpool.Pool
}

var (
	_ connector.Sink     = (*Sink)(nil)
	_ connector.Importer = (*Sink)(nil)
)

// Plugin registers the sink under "pgvector".
func Plugin() connector.SinkPlugin {
	return connector.Define("pgvector", "PostgreSQL with pgvector", defaults(),
		func(ctx context.Context, c *Config, env connector.Env) (connector.Sink, error) {
			return Open(ctx, *c, env)
		})
}

// Open prepares the sink; the first call that needs it connects.
func Open(ctx context.Context, c Config, env connector.Env) (*Sink, error) {
	if c.Collection == "" {
		c.Collection = env.Name
	}
	if c.Collection == "" {
		return nil, errors.New("pgvector: collection is missing and there is no pipeline name to derive it from")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	config, err := c.pool()
	if err != nil {
		return nil, err
	}
	l, err := c.layout()
	if err != nil {
		return nil, fmt.Errorf("pgvector: %w", err)
	}
	address := addressOf(config)
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config) // it lives longer than this call
	if err != nil {
		return nil, fmt.Errorf("pgvector: %s: the pool of connections cannot be made", address) // the cause may show the URL
	}
	return &Sink{config: c, layout: l, address: address, pool: pool}, nil
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	items := s.config.Batch
	if items == 0 {
		items = batchItems
	}
	return connector.SinkCapabilities{
		MaxBatchItems: items,
		MaxBatchBytes: batchBytes,
		MaxDimensions: maxDimensions,
		Modes:         s.config.Modes(),
		Distance:      s.config.Distance,
		Layout:        s.config.Layout(s.layout.version, s.layout.names),
		Mapping:       mapping(),
		Policy:        s.config.Policy(),
		Payload:       true,
		Scan:          true,
		Concurrency:   writeConcurrent,
	}
}

func mapping() *connector.Mapping {
	return &connector.Mapping{
		Values: map[connector.ValueKind]connector.Treatment{
			connector.ValueNested:  connector.TreatKept,
			connector.ValueInvalid: connector.TreatRefused,
		},
		MaxTextBytes:   maxTextBytes,
		MaxRecordBytes: maxRecordBytes,
		Notes: []string{
			"Metadata stands in a jsonb column as it is. Every scalar, and every scalar in a list, can be filtered by; objects can be read, not filtered by.",
			"Ids are a column of type uuid (varchar with fields: llamaindex).",
			"A NUL byte in any text, key or value is refused.",
			"Vectors of up to 2,000 dimensions are indexed, up to 4,000 in half precision, up to 16,000 stored and compared one by one.",
		},
	}
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	return connector.Target{Kind: "pgvector", Address: s.address, Collection: s.config.Collection, Tenant: s.config.Schema}
}

// Close closes the connections.
func (s *Sink) Close() error {
	s.pool.Close()
	return nil
}

// grace is what a call may take beyond the server's own timeout, so that the server's answer comes first.
const grace = 5 * time.Second
