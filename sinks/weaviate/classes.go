package weaviate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// generation is a class of this collection, with what it says of itself.
type generation struct {
	class *models.Class
	meta  remote.Meta
}

// Generations implements [connector.Sink].
func (s *Sink) Generations(ctx context.Context) ([]connector.Schema, error) {
	list, _, err := s.generations(ctx)
	if err != nil {
		return nil, fmt.Errorf("weaviate: generations: %w", err)
	}
	var out []connector.Schema
	for _, g := range list {
		out = append(out, g.meta.Schema)
	}
	return out, nil
}

// generations lists the classes of this collection, and of its tenant if there is one, the live one first, and says which one
// that is: the alias's, or where the alias is missing or dangling the only one.
func (s *Sink) generations(ctx context.Context) (list []generation, live string, err error) {
	dump, err := s.schema.Getter().Do(ctx)
	if err != nil {
		return nil, "", schemaError(ctx, err)
	}
	for _, c := range dump.Classes {
		meta, ok := remote.ParseMeta(c.Description)
		if !ok || s.config.Physical(meta.Schema.Generation) != c.Class {
			continue
		}
		if present, err := s.tenantPresent(ctx, c); err != nil || !present {
			if err != nil {
				return nil, "", err
			}
			continue
		}
		list = append(list, generation{c, meta})
	}
	slices.SortFunc(list, func(a, b generation) int { return strings.Compare(a.class.Class, b.class.Class) })
	if len(list) == 0 {
		return nil, "", nil
	}
	target := s.config.Collection
	if !s.config.InPlace {
		if target, err = s.alias(ctx); err != nil {
			return nil, "", err
		}
	}
	at := slices.IndexFunc(list, func(g generation) bool { return g.class.Class == target })
	if at < 0 && len(list) > 1 {
		return list, "", nil
	}
	at = max(at, 0)
	first := list[at]
	list = append([]generation{first}, slices.Delete(list, at, at+1)...)
	return list, first.class.Class, nil
}

// find reads one class; nil if there is none.
func (s *Sink) find(ctx context.Context, name string) (*models.Class, error) {
	c, err := s.schema.ClassGetter().WithClassName(name).Do(ctx)
	if err = schemaError(ctx, err); connector.ClassOf(err) == connector.ClassNotFound {
		return nil, nil //nolint:nilnil // none is no error here
	}
	if err == nil && c.Class != name { // the name is an alias
		return nil, nil //nolint:nilnil // as above
	}
	return c, err
}

// Create implements [connector.Sink].
func (s *Sink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	if schema.Distance == "" {
		schema.Distance = s.config.Distance
	}
	if schema.Dimensions < 1 || schema.Dimensions > maxDimensions {
		return nil, connector.Errorf(connector.ClassInvalid, "weaviate: create: %d dimensions: want 1 to %d", schema.Dimensions, maxDimensions)
	}
	name := s.config.Physical(schema.Generation)
	c, err := s.create(ctx, name, schema)
	if err != nil {
		return nil, fmt.Errorf("weaviate: create %s: %w", name, err)
	}
	return c, nil
}

func (s *Sink) create(ctx context.Context, name string, schema connector.Schema) (*Collection, error) {
	have, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if have == nil {
		if err := s.checkName(ctx); err != nil {
			return nil, err
		}
		err := schemaError(ctx, s.schema.ClassCreator().WithClass(s.class(name, schema)).Do(ctx))
		if err != nil && strings.Contains(err.Error(), "similar") {
			return nil, connector.Errorf(connector.ClassConflict, "class names that differ in capitals alone are the same to Weaviate; choose another collection: %w", err)
		}
		if have, _ = s.find(ctx, name); have == nil { // another process may have made it meanwhile
			return nil, cmpErr(err, connector.Errorf(connector.ClassTransient, "the class is not there after it was made"))
		}
	}
	meta, err := s.accept(have, schema)
	if err != nil {
		return nil, err
	}
	if err := s.makeTenant(ctx, name); err != nil {
		return nil, err
	}
	if err := s.firstAlias(ctx, name); err != nil {
		return nil, err
	}
	return s.open(ctx, generation{have, meta})
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// accept checks that a class is the wanted one.
func (s *Sink) accept(have *models.Class, want connector.Schema) (remote.Meta, error) {
	meta, ok := remote.ParseMeta(have.Description)
	switch {
	case !ok && strings.Contains(have.Description, "auto-schema"):
		return meta, connector.Errorf(connector.ClassConflict, "class %s was made by Weaviate's auto-schema, when something was written to it that did not exist: delete it", have.Class)
	case !ok:
		return meta, remote.Foreign("class " + have.Class)
	case meta.Schema != want:
		return meta, remote.Conflict("class "+have.Class, meta.Schema, want)
	}
	if diff := s.difference(have, want); diff != "" {
		return meta, connector.Errorf(connector.ClassConflict, "class %s was changed since kbsync made it: %s; undo that, or rebuild it", have.Class, diff)
	}
	return meta, nil
}

// Live implements [connector.Sink].
func (s *Sink) Live(ctx context.Context) (connector.Collection, error) {
	list, live, err := s.generations(ctx)
	if err != nil {
		return nil, fmt.Errorf("weaviate: live: %w", err)
	}
	if live == "" {
		return nil, fmt.Errorf("weaviate: %s: %w", s.config.Collection, connector.ErrNoCollection)
	}
	if _, err := s.accept(list[0].class, list[0].meta.Schema); err != nil {
		return nil, fmt.Errorf("weaviate: live: %w", err)
	}
	c, err := s.open(ctx, list[0])
	if err != nil {
		return nil, fmt.Errorf("weaviate: live: %w", err)
	}
	return c, nil
}

func (s *Sink) open(ctx context.Context, g generation) (*Collection, error) {
	c := &Collection{sink: s, class: g.class.Class, schema: g.meta.Schema, classMarker: g.meta.Marker, marker: g.meta.Marker}
	if s.config.Tenant == "" {
		return c, nil
	}
	of, err := c.openNote(ctx)
	c.marker += "." + of
	return c, err
}

// Promote implements [connector.Sink].
func (s *Sink) Promote(ctx context.Context, name string) error {
	if err := s.promote(ctx, name); err != nil {
		return fmt.Errorf("weaviate: promote %q: %w", name, err)
	}
	return nil
}

func (s *Sink) promote(ctx context.Context, name string) error {
	list, _, err := s.generations(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(g generation) bool { return g.meta.Schema.Generation == name })
	if at < 0 {
		return connector.Errorf(connector.ClassNotFound, "there is no such generation")
	}
	if s.config.InPlace {
		return nil
	}
	if err := s.tenantsFollow(ctx, list[at].class.Class); err != nil {
		return err
	}
	return s.setAlias(ctx, list[at].class.Class)
}

// Drop implements [connector.Sink].
func (s *Sink) Drop(ctx context.Context, name string) error {
	if err := s.drop(ctx, name); err != nil {
		return fmt.Errorf("weaviate: drop %q: %w", name, err)
	}
	return nil
}

func (s *Sink) drop(ctx context.Context, name string) error {
	list, live, err := s.generations(ctx)
	if err != nil {
		return err
	}
	class := s.config.Physical(name)
	at := slices.IndexFunc(list, func(g generation) bool { return g.meta.Schema.Generation == name })
	switch {
	case at >= 0 && class == live && len(list) > 1:
		return connector.Errorf(connector.ClassConflict, "it is the live one; promote another one first")
	case at >= 0:
		gone, err := s.dropTenant(ctx, class)
		if err != nil || !gone {
			return err
		}
		err = schemaError(ctx, s.schema.ClassDeleter().WithClassName(class).Do(ctx))
		if err != nil && connector.ClassOf(err) != connector.ClassNotFound {
			return err
		}
	}
	return s.forgetAlias(ctx, class)
}
