// Package sqlite is the embedded sink: one SQLite file that holds chunks, vectors and a full-text index, searched
// exactly, without a server and without cgo.
//
// Several pipelines may share a file under different collections, and other processes may query it while one syncs.
//
// # Config
//
//	sink: { sqlite: { path: ./handbook.db, collection: handbook, distance: cosine } }
//
// # Limits
//
// Every query compares with every vector (about 50 ms for 200,000 vectors of 384 dimensions on two cores). Ids are
// UUIDs in lower case. The file must lie on a local disk: SQLite's write-ahead log does not work over network file
// systems. One process writes at a time; a second one waits, and gives up after 10 s with a transient error.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// Config is the sink's part of the configuration.
type Config struct {
	Path       string `yaml:"path" doc:"the database file, relative to the configuration; default ./<name>.db"`
	Collection string `yaml:"collection" doc:"name of the collection inside the file; default the pipeline's name"`
	Distance   string `yaml:"distance" doc:"how vectors are compared" enum:"cosine,dot,l2"`
	BlueGreen  string `yaml:"blue_green" enum:"ask,auto" doc:"whether a changed model waits for --allow-rebuild or is built at once"`
	Keep       int    `yaml:"keep" doc:"how many generations that were live before are kept for kbsync rollback"`
}

// Validate checks what needs no file.
func (c *Config) Validate() error {
	switch c.Distance {
	case "cosine", "dot", "l2":
	default:
		return fmt.Errorf("sqlite: distance %q: want cosine, dot or l2", c.Distance)
	}
	if c.Keep < 0 {
		return errors.New("sqlite: keep must not be negative")
	}
	if strings.ContainsRune(c.Path, 0) || strings.ContainsRune(c.Collection, 0) {
		return errors.New("sqlite: path and collection must not hold NUL")
	}
	return nil
}

// Sink is a connection to one file.
type Sink struct {
	path       string
	collection string
	distance   string
	policy     connector.Policy
	scans      scans

	mu    sync.Mutex // guards the opening of the handles
	files *handles
}

var (
	_ connector.Sink       = (*Sink)(nil)
	_ connector.LocalFiles = (*Sink)(nil)
)

// Plugin registers the sink under "sqlite".
func Plugin() connector.SinkPlugin {
	return connector.Define("sqlite", "one SQLite file, no server", Config{Distance: "cosine", BlueGreen: "ask", Keep: 1},
		func(_ context.Context, c *Config, env connector.Env) (connector.Sink, error) { return Open(*c, env) })
}

// Open prepares the sink. The file is opened by the first call that needs it and created by Create alone.
func Open(c Config, env connector.Env) (*Sink, error) {
	if c.Distance == "" {
		c.Distance = "cosine"
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Collection == "" {
		c.Collection = env.Name
	}
	if c.Path == "" {
		if env.Name == "" {
			return nil, errors.New("sqlite: path is missing and there is no pipeline name to derive it from")
		}
		c.Path = env.Name + ".db"
	}
	if !filepath.IsAbs(c.Path) {
		c.Path = filepath.Join(env.Dir, c.Path)
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", c.Path, err)
	}
	return &Sink{path: realPath(path), collection: c.Collection, distance: c.Distance,
		policy: connector.Policy{Auto: c.BlueGreen == "auto", Keep: c.Keep}}, nil
}

// realPath resolves links in the folder, so that one file has one name.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// Capabilities implements [connector.Sink].
func (s *Sink) Capabilities() connector.SinkCapabilities {
	return connector.SinkCapabilities{
		MaxBatchItems: 1000,
		MaxBatchBytes: 32 << 20,
		MaxDimensions: maxDimensions,
		Modes:         []connector.SearchMode{connector.ModeDense, connector.ModeLexical, connector.ModeHybrid},
		Distance:      s.distance,
		Policy:        s.policy,
		Payload:       true,
		Scan:          true,
		Concurrency:   1, // there is one writer
	}
}

// Target implements [connector.Sink].
func (s *Sink) Target() connector.Target {
	return connector.Target{Kind: "sqlite", Address: s.path, Collection: s.collection}
}

// Files implements [connector.LocalFiles].
func (s *Sink) Files() []string {
	return []string{s.path, s.path + "-wal", s.path + "-shm", s.path + "-journal"}
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	rows, err := s.registered(ctx)
	if err != nil {
		return nil, fmt.Errorf("sqlite: generations: %w", err)
	}
	var out []connector.Schema
	for _, r := range rows {
		out = append(out, r.schema)
	}
	return out, nil
}

// Create implements [connector.Sink].
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.distance
	}
	if schema.Dimensions < 1 || schema.Dimensions > maxDimensions {
		return nil, connector.Errorf(connector.ClassInvalid, "sqlite: %d dimensions: want 1 to %d", schema.Dimensions, maxDimensions)
	}
	c, err := s.create(ctx, schema)
	if err != nil {
		return nil, fmt.Errorf("sqlite: create %q in %s: %w", schema.Generation, s.path, classify(s.path, err))
	}
	return c, nil
}

func (s *Sink) create(ctx context.Context, schema connector.Schema) (*Collection, error) {
	f, err := s.open(true)
	if err != nil {
		return nil, err
	}
	var made registration
	err = inTx(ctx, f.write, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, registrySQL); err != nil {
			return err
		}
		rows, err := registrations(ctx, tx, s.collection)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.schema.Generation != schema.Generation {
				continue
			}
			if r.schema != schema {
				return connector.Errorf(connector.ClassConflict, "exists with model %s, %d dimensions, distance %s; wanted %s, %d, %s",
					r.schema.Model, r.schema.Dimensions, r.schema.Distance, schema.Model, schema.Dimensions, schema.Distance)
			}
			made = r
			return nil
		}
		made = registration{schema: schema, marker: rand.Text(), live: len(rows) == 0, format: formatVersion}
		res, err := tx.ExecContext(ctx, `INSERT INTO kbsync_collections(collection, generation, model, dimensions, distance, marker, live, format)
			VALUES(?,?,?,?,?,?,?,?)`, s.collection, schema.Generation, schema.Model, schema.Dimensions, schema.Distance, made.marker, made.live, made.format)
		if err != nil {
			return err
		}
		if made.number, err = res.LastInsertId(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, newTables(made.number).ddl())
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.collectionOf(made, f)
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	rows, err := s.registered(ctx)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if len(rows) == 0 || !rows[0].live {
		return nil, fmt.Errorf("sqlite: %s: collection %q: %w", s.path, s.collection, connector.ErrNoCollection)
	}
	f, err := s.open(false)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	c, err := s.collectionOf(rows[0], f)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return c, nil
}

// Promote implements [connector.Sink].
func (s *Sink) Promote(ctx context.Context, generation string) error {
	err := s.registry(ctx, func(tx *sql.Tx) error {
		r, err := find(ctx, tx, s.collection, generation)
		if err != nil {
			return err
		}
		if r == nil {
			return connector.Errorf(connector.ClassNotFound, "there is no such generation")
		}
		_, err = tx.ExecContext(ctx, `UPDATE kbsync_collections SET live = (number = ?) WHERE collection = ?`, r.number, s.collection)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlite: promote %q: %w", generation, classify(s.path, err))
	}
	return nil
}

// Drop implements [connector.Sink]. Dropping what is not there is no error; dropping the live one is, unless it is the only one.
func (s *Sink) Drop(ctx context.Context, generation string) error {
	err := s.registry(ctx, func(tx *sql.Tx) error {
		rows, err := registrations(ctx, tx, s.collection)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.schema.Generation != generation {
				continue
			}
			if r.live && len(rows) > 1 {
				return connector.Errorf(connector.ClassConflict, "it is the live one; promote another one first")
			}
			if _, err := tx.ExecContext(ctx, newTables(r.number).drop()); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `DELETE FROM kbsync_collections WHERE number = ?`, r.number)
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqlite: drop %q: %w", generation, classify(s.path, err))
	}
	return nil
}

// Close closes the file.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		return nil
	}
	err := s.files.close()
	s.files = nil
	if err != nil {
		return fmt.Errorf("sqlite: close: %w", err)
	}
	return nil
}

// open gives the handles; without create, a missing file is connector.ErrNoCollection.
func (s *Sink) open(create bool) (*handles, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files != nil {
		return s.files, nil
	}
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.IsDir():
		return nil, connector.Errorf(connector.ClassConflict, "%s is a folder; sink.sqlite.path must name a file", s.path)
	case errors.Is(err, os.ErrNotExist) && !create:
		return nil, fmt.Errorf("%s: %w", s.path, connector.ErrNoCollection)
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
			return nil, connector.Errorf(connector.ClassDenied, "cannot make the folder of %s: %w", s.path, err)
		}
	case err != nil:
		return nil, connector.Errorf(connector.ClassDenied, "%w", err)
	}
	s.files, err = openHandles(s.path, &s.scans)
	return s.files, err
}

// registered lists the collection's generations, the live one first; none if the file or the registry is missing.
func (s *Sink) registered(ctx context.Context) ([]registration, error) {
	f, err := s.open(false)
	if errors.Is(err, connector.ErrNoCollection) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := registrations(ctx, f.read, s.collection)
	return rows, classify(s.path, err)
}

// registry runs a change of the registry in a transaction; a missing file holds nothing.
func (s *Sink) registry(ctx context.Context, change func(*sql.Tx) error) error {
	f, err := s.open(false)
	if errors.Is(err, connector.ErrNoCollection) {
		return connector.Errorf(connector.ClassNotFound, "%w", err)
	}
	if err != nil {
		return err
	}
	return inTx(ctx, f.write, change)
}

func (s *Sink) collectionOf(r registration, f *handles) (*Collection, error) {
	if r.format > formatVersion {
		return nil, connector.Errorf(connector.ClassConflict, "%s was written by a newer version of kbsync (format %d, this one knows %d): upgrade kbsync",
			s.path, r.format, formatVersion)
	}
	return &Collection{sink: s, files: f, registration: r, tables: newTables(r.number), layout: newLayout(r.schema)}, nil
}
