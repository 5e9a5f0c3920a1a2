package weaviate

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

type aliasBody struct {
	Alias string `json:"alias,omitempty"`
	Class string `json:"class"`
}

// alias is the class that the collection's alias points to, whether that exists or not; empty if there is no alias.
func (s *Sink) alias(ctx context.Context) (string, error) {
	var a aliasBody
	err := s.rest.do(ctx, http.MethodGet, "/aliases/"+url.PathEscape(s.config.Collection), nil, &a)
	if connector.ClassOf(err) == connector.ClassNotFound {
		return "", nil
	}
	return a.Class, err
}

// setAlias points the alias to a class, in one step. One that belongs to another program is left alone.
func (s *Sink) setAlias(ctx context.Context, class string) error {
	target, err := s.alias(ctx)
	if err != nil || target == class {
		return err
	}
	if target == "" {
		err := s.rest.do(ctx, http.MethodPost, "/aliases", aliasBody{Alias: s.config.Collection, Class: class}, nil)
		if connector.ClassOf(err) == connector.ClassNotFound {
			return connector.Errorf(connector.ClassUnsupported, "the server has no aliases: it is older than 1.32; upgrade it, or use in_place: true: %w", err)
		}
		return err
	}
	old, err := s.find(ctx, target)
	if err != nil {
		return err
	}
	if old != nil {
		if meta, ok := remote.ParseMeta(old.Description); !ok || s.config.Physical(meta.Schema.Generation) != target {
			return remote.Foreign("alias " + s.config.Collection + " of class " + target)
		}
	}
	return s.rest.do(ctx, http.MethodPut, "/aliases/"+url.PathEscape(s.config.Collection), aliasBody{Class: class}, nil)
}

// firstAlias makes the only generation live. It also repairs an alias that points to nothing.
func (s *Sink) firstAlias(ctx context.Context, class string) error {
	if s.config.InPlace {
		return nil
	}
	target, err := s.alias(ctx)
	if err != nil || target == class {
		return err
	}
	if target != "" {
		if there, err := s.find(ctx, target); err != nil || there != nil {
			return err
		}
	}
	list, live, err := s.generations(ctx)
	if err != nil || live != class || len(list) > 1 {
		return err
	}
	return s.setAlias(ctx, class)
}

// forgetAlias removes the alias if it points to a class that is gone: Weaviate keeps it, and a class that is made later
// under the old name would be live at once.
func (s *Sink) forgetAlias(ctx context.Context, class string) error {
	if s.config.InPlace {
		return nil
	}
	target, err := s.alias(ctx)
	if err != nil || target != class {
		return err
	}
	if there, err := s.find(ctx, class); err != nil || there != nil {
		return err
	}
	err = s.rest.do(ctx, http.MethodDelete, "/aliases/"+url.PathEscape(s.config.Collection), nil, nil)
	if connector.ClassOf(err) == connector.ClassNotFound {
		return nil
	}
	return err
}

// checkName finds out, before a class is made, whether the name that users query is taken by something else.
func (s *Sink) checkName(ctx context.Context) error {
	name := s.config.Collection
	if !s.config.InPlace {
		taken, err := s.find(ctx, name)
		if err != nil || taken == nil {
			return err
		}
		if _, ours := remote.ParseMeta(taken.Description); ours {
			return connector.Errorf(connector.ClassConflict, "class %s was made by kbsync with in_place: true: choose another collection, or drop it first", name)
		}
		return remote.Foreign("class " + name)
	}
	target, err := s.alias(ctx)
	if err != nil || target == "" {
		return err
	}
	if there, err := s.find(ctx, target); err != nil || there == nil {
		if err != nil {
			return err
		}
		return s.rest.do(ctx, http.MethodDelete, "/aliases/"+url.PathEscape(name), nil, nil)
	}
	return connector.Errorf(connector.ClassConflict, "%s is an alias of class %s, and in_place needs that name for its own class: choose another collection, or delete both", name, target)
}
