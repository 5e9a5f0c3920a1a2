// Package weaviate is the sink for Weaviate 1.32 and later: batches and searches over gRPC, schema, tenants and aliases over
// REST.
//
// Each generation is a class of its own, whose properties are all declared; the configured collection is an alias of the live
// one. A record stands in typed properties for people and filters, and once more, exactly, in one property that holds JSON.
//
// # Config
//
//	sink: { weaviate: { address: "localhost:8080", grpc_address: "localhost:50051", api_key: "${WEAVIATE_KEY}", collection: Handbook } }
//
// # Limits
//
// Ids are UUIDs in lower case. A class name begins with a capital and holds letters, digits and underscores: "handbook" becomes
// "Handbook", and a name with other characters gets a hash. Texts are limited to 4 MiB. Exact search compares with every vector up
// to 40,000 matching points, and always with index: flat. A search gives at most 10,000 hits. The server creates missing classes
// by itself when it is written to (auto-schema), so each batch looks before and after that its class is still there.
package weaviate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// The kinds of vector index.
const (
	indexHNSW = "hnsw"
	indexFlat = "flat"
)

// Bounds of one request. The server takes 100 MiB; with the terms of the full-text index a text grows to its fivefold.
const (
	batchItems    = 500
	batchBytes    = 8 << 20
	maxTextBytes  = 4 << 20
	maxBlobBytes  = 4 << 20
	maxDimensions = 65535
)

// Config is the sink's part of the configuration.
type Config struct {
	remote.Common `yaml:",inline"`
	Address       string           `yaml:"address" doc:"host and port of the REST API; default localhost:8080"`
	GRPCAddress   string           `yaml:"grpc_address" doc:"host and port of the gRPC API; default port 50051 of address, with tls port 443 of grpc-<address>"`
	APIKey        connector.Secret `yaml:"api_key" doc:"API key"`
	TLS           bool             `yaml:"tls" doc:"encrypt both connections; the certificate is checked"`
	Tenant        string           `yaml:"tenant" doc:"the tenant of a collection with several"`
	Index         string           `yaml:"index" enum:"hnsw,flat" doc:"index of a new generation's vectors: hnsw, or flat, which compares with every one"`
	EF            int              `yaml:"ef" doc:"how many candidates an hnsw search of a new generation keeps; 0: the server decides by k"`
}

var tenantName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate checks what needs no connection, and fills what is empty.
func (c *Config) Validate() error {
	if err := c.Common.Validate(); err != nil {
		return fmt.Errorf("weaviate: %w", err)
	}
	if c.Index == "" {
		c.Index = indexHNSW
	}
	if c.Address == "" {
		c.Address = "localhost"
	}
	switch {
	case c.Index != indexHNSW && c.Index != indexFlat:
		return fmt.Errorf("weaviate: index %q: want hnsw or flat", c.Index)
	case c.EF < 0:
		return errors.New("weaviate: ef must not be negative")
	case c.Tenant != "" && !tenantName.MatchString(c.Tenant):
		return fmt.Errorf("weaviate: tenant %q: want 1 to 64 letters, digits, _ and -", c.Tenant)
	}
	for _, address := range []*string{&c.Address, &c.GRPCAddress} {
		if strings.ContainsAny(*address, "/ @?#") {
			return fmt.Errorf("weaviate: address %q: want host:port without a scheme; tls: true encrypts", *address)
		}
	}
	if c.GRPCAddress == "" {
		c.GRPCAddress = derivedGRPC(c.Address, c.TLS)
	}
	c.Address = withPort(c.Address, c.TLS, "8080")
	c.GRPCAddress = withPort(c.GRPCAddress, c.TLS, "50051")
	_, err := fieldNames(c.Fields)
	return err
}

func derivedGRPC(address string, tls bool) string {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if tls {
		return "grpc-" + host
	}
	return host
}

func withPort(address string, tls bool, port string) string {
	address = strings.ToLower(address)
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	if tls {
		port = "443"
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}

// Sink is a connection to one server. Nothing is sent before the first call that needs it.
type Sink struct {
	config Config
	names  map[string]string // the field names by kbsync's own
	schema *schema.API       // classes and tenants
	rest   *rest             // aliases, counts, listings
	conn   *grpc.ClientConn
	grpc   pb.WeaviateClient
}

var (
	_ connector.Sink     = (*Sink)(nil)
	_ connector.Importer = (*Sink)(nil)
)

// Plugin registers the sink under "weaviate".
func Plugin() connector.SinkPlugin {
	return connector.Define("weaviate", "Weaviate, over gRPC", Config{Common: remote.Defaults(), Index: indexHNSW},
		func(_ context.Context, c *Config, env connector.Env) (connector.Sink, error) { return Open(*c, env) })
}

// Open prepares the sink.
func Open(c Config, env connector.Env) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Collection == "" {
		c.Collection = env.Name
	}
	if c.Collection == "" {
		return nil, errors.New("weaviate: collection is missing and there is no pipeline name to take it from")
	}
	c.Collection = className(c.Collection)
	names, err := fieldNames(c.Fields)
	if err != nil {
		return nil, err
	}
	s := &Sink{config: c, names: names}
	s.rest = newREST(&c)
	s.schema = newSchemaAPI(&c, s.rest.http)
	if s.conn, err = dial(&c); err != nil {
		return nil, fmt.Errorf("weaviate: grpc_address %s: %w", c.GRPCAddress, err)
	}
	s.grpc = pb.NewWeaviateClient(s.conn)
	return s, nil
}

func (c *Config) scheme() string {
	if c.TLS {
		return "https"
	}
	return "http"
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	items := batchItems
	if s.config.Batch > 0 {
		items = s.config.Batch
	}
	return connector.SinkCapabilities{
		MaxBatchItems: items,
		MaxBatchBytes: batchBytes,
		MaxDimensions: maxDimensions,
		Modes:         s.config.Modes(),
		Distance:      s.config.Distance,
		Layout:        s.layout(),
		Mapping:       mapping(),
		Policy:        s.config.Policy(),
		Scan:          true,
		Concurrency:   2,
	}
}

func (s *Sink) layout() string {
	version := "weaviate1"
	if s.config.Fields.Preset != "" {
		version += " searchable"
	}
	return s.config.Layout(version, s.names)
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	return connector.Target{Kind: "weaviate", Address: s.config.Address, Collection: s.config.Collection, Tenant: s.config.Tenant}
}

// Close ends the connections.
func (s *Sink) Close() error {
	s.rest.http.CloseIdleConnections()
	if err := s.conn.Close(); err != nil {
		return fmt.Errorf("weaviate: close: %w", err)
	}
	return nil
}

// transport adds the key to every request, and only to those for the server's own address: a redirect is not followed.
type transport struct {
	base http.RoundTripper
	key  connector.Secret
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.key.Reveal())
	}
	return t.base.RoundTrip(r)
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] through.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
