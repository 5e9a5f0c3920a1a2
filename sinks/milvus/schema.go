package milvus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// found is a collection of this target.
type found struct {
	name string
	meta remote.Meta
}

// described is what the server says of a name; nil if there is neither a collection nor an alias of that name.
func (s *server) described(ctx context.Context, name string) (*entity.Collection, error) {
	d, err := s.DescribeCollection(ctx, name)
	var e *serverError
	if errors.As(err, &e) && (e.missing() || strings.Contains(strings.ToLower(e.reason), "collection not found")) {
		return nil, nil
	}
	return d, err
}

// inventory lists the collections of this target by name, and the name of the one that queries go to, or empty.
func (s *Sink) inventory(ctx context.Context) (all []found, live string, err error) {
	srv, err := s.link.connect(ctx)
	if err != nil {
		return nil, "", err
	}
	target, err := srv.described(ctx, s.conf.Collection)
	if err != nil {
		return nil, "", err
	}
	if target != nil {
		live = target.Name
	}
	if s.conf.InPlace {
		if target != nil {
			if meta, ok := metaOf(target); ok && live == s.conf.Collection {
				all = append(all, found{live, meta})
			}
		}
		return all, live, nil
	}
	// Not the SDK's ListCollections: it goes by ids, of which Milvus Lite gives none.
	shown, err := srv.raw.ShowCollections(ctx, &milvuspb.ShowCollectionsRequest{})
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(slices.Values(shown.GetCollectionNames())) {
		generation, ok := s.conf.Generation(name)
		if !ok {
			continue
		}
		d, err := srv.described(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if d == nil {
			continue // dropped since
		}
		if meta, ok := metaOf(d); ok && meta.Schema.Generation == generation {
			all = append(all, found{name, meta})
		}
	}
	return all, live, nil
}

func (s *Sink) create(ctx context.Context, schema connector.Schema) (*Collection, error) {
	srv, err := s.link.connect(ctx)
	if err != nil {
		return nil, err
	}
	if s.conf.Sparse != "none" && !srv.sparse {
		return nil, connector.Errorf(connector.ClassUnsupported, "the server is Milvus %s; sparse vectors, and with them lexical and hybrid queries, came with 2.4: upgrade the server, or set sink.milvus.sparse: none", srv.version)
	}
	all, live, err := s.inventory(ctx)
	if err != nil {
		return nil, err
	}
	if live != "" && !slices.ContainsFunc(all, func(f found) bool { return f.name == live }) {
		return nil, remote.Foreign(live) // under the name of the alias, or where the alias points
	}
	name := s.conf.Physical(schema.Generation)
	c, err := s.open(ctx, srv, name)
	if errors.Is(err, connector.ErrNoCollection) {
		if err = srv.make(ctx, s.declare(name, remote.NewMeta(schema))); err == nil {
			c, err = s.open(ctx, srv, name)
		}
	}
	if err != nil {
		return nil, err
	}
	if c.meta.Schema != schema {
		return nil, remote.Conflict(name, c.meta.Schema, schema)
	}
	if err := s.ready(ctx, srv, c); err != nil {
		return nil, err
	}
	alone := len(all) == 0 || len(all) == 1 && all[0].name == name
	if !s.conf.InPlace && live == "" && alone {
		return c, srv.point(ctx, s.conf.Collection, name, false)
	}
	return c, nil
}

// make creates a collection. That it exists already, made by another process since it was looked for, is no error.
func (s *server) make(ctx context.Context, schema *entity.Schema) error {
	err := s.CreateCollection(ctx, schema, 1, client.WithConsistencyLevel(entity.ClStrong), client.WithCollectionProperty(propertyMeta, schema.Description))
	if err != nil {
		if d, derr := s.described(ctx, schema.CollectionName); derr == nil && d != nil {
			return nil
		}
	}
	return err
}

// open gives a handle on the collection of that name, or alias; ErrNoCollection if there is none.
func (s *Sink) open(ctx context.Context, srv *server, name string) (*Collection, error) {
	d, err := srv.described(ctx, name)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, connector.ErrNoCollection
	}
	meta, ok := metaOf(d)
	if !ok {
		return nil, remote.Foreign(d.Name)
	}
	c := &Collection{sink: s, server: srv, name: d.Name, meta: meta}
	return c, s.sameShape(d, meta)
}

// sameShape compares the fields with those that kbsync declares: somebody may have made the collection anew.
func (s *Sink) sameShape(d *entity.Collection, meta remote.Meta) error {
	if meta.Schema.Layout != s.Capabilities().Layout {
		return nil // said by the comparison of schemas
	}
	have := map[string]entity.FieldType{}
	for _, f := range d.Schema.Fields {
		have[f.Name] = f.DataType
	}
	for _, f := range s.declare(d.Name, meta).Fields {
		t, ok := have[f.Name]
		if !ok || t != f.DataType {
			return connector.Errorf(connector.ClassConflict, "%s lacks the field %s of type %s: it was changed since kbsync made it; drop it, or choose another collection", d.Name, f.Name, f.DataType.Name())
		}
		delete(have, f.Name)
	}
	for name := range have {
		return connector.Errorf(connector.ClassConflict, "%s has a field %s that kbsync did not declare, and that every write would have to fill", d.Name, name)
	}
	return nil
}

// declare is the schema: nothing is left to be guessed.
func (s *Sink) declare(name string, meta remote.Meta) *entity.Schema {
	schema := entity.NewSchema().WithName(name).WithDescription(meta.String())
	text := func(own string, limit int) *entity.Field {
		return entity.NewField().WithName(s.fields.of(own)).WithDataType(entity.FieldTypeVarChar).WithMaxLength(int64(limit))
	}
	list := func(name string, limit, capacity int64) *entity.Field {
		return entity.NewField().WithName(name).WithDataType(entity.FieldTypeArray).WithElementType(entity.FieldTypeVarChar).WithMaxLength(limit).WithMaxCapacity(capacity)
	}
	schema.WithField(text("id", 36).WithIsPrimaryKey(true))
	schema.WithField(entity.NewField().WithName(s.fields.of("vector")).WithDataType(entity.FieldTypeFloatVector).WithDim(int64(meta.Schema.Dimensions)))
	if s.conf.Sparse != "none" {
		schema.WithField(entity.NewField().WithName(s.fields.of("sparse")).WithDataType(entity.FieldTypeSparseVector))
	}
	schema.WithField(text("content", maxVarChar)).WithField(text("context", maxVarChar))
	for _, f := range visible() {
		schema.WithField(text(f.own, f.limit))
	}
	for _, n := range numeric() {
		schema.WithField(entity.NewField().WithName(s.fields.of(n)).WithDataType(entity.FieldTypeInt64))
	}
	schema.WithField(entity.NewField().WithName(fieldSearchable).WithDataType(entity.FieldTypeBool))
	schema.WithField(list(fieldTerms, maxTermBytes, maxTerms))
	return schema.WithField(list(fieldRest, maxVarChar, maxTerms))
}

// point makes the alias name the collection, in one step.
func (s *server) point(ctx context.Context, alias, name string, exists bool) error {
	if exists {
		return s.AlterAlias(ctx, name, alias)
	}
	err := s.CreateAlias(ctx, name, alias)
	if err != nil && ctx.Err() == nil { // it dangles, or another process made it
		if s.AlterAlias(ctx, name, alias) == nil {
			return nil
		}
	}
	return err
}

func (s *Sink) live(ctx context.Context) (*Collection, error) {
	srv, err := s.link.connect(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.open(ctx, srv, s.conf.Collection)
	if err != nil {
		return nil, err
	}
	if !s.conf.InPlace && c.name == s.conf.Collection {
		return nil, connector.Errorf(connector.ClassConflict, "it is no alias but a collection of its own: set in_place: true, or choose another name")
	}
	return c, s.ready(ctx, srv, c)
}

func (s *Sink) promote(ctx context.Context, name, generation string) error {
	all, live, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(f found) bool { return f.name == name && f.meta.Schema.Generation == generation }) {
		return connector.Errorf(connector.ClassNotFound, "there is no such generation")
	}
	if live == name {
		return nil
	}
	srv, err := s.link.connect(ctx)
	if err != nil {
		return err
	}
	if err := srv.load(ctx, name); err != nil { // queries must not meet a collection that is not in memory
		return err
	}
	return srv.point(ctx, s.conf.Collection, name, live != "")
}

func (s *Sink) drop(ctx context.Context, name, generation string) error {
	all, live, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(f found) bool { return f.name == name && f.meta.Schema.Generation == generation })
	if i < 0 {
		return nil
	}
	if live == name && len(all) > 1 {
		return connector.Errorf(connector.ClassConflict, "it is the live one; promote another one first")
	}
	srv, err := s.link.connect(ctx)
	if err != nil {
		return err
	}
	if live == name && !s.conf.InPlace { // the server refuses to drop what an alias names
		if err := srv.DropAlias(ctx, s.conf.Collection); err != nil {
			return fmt.Errorf("alias: %w", err)
		}
	}
	return srv.write(func() error { return srv.DropCollection(ctx, name) })
}
