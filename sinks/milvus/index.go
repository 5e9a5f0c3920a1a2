package milvus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
)

// ready makes the indexes that are missing and loads the collection.
func (s *Sink) ready(ctx context.Context, srv *server, c *Collection) error {
	wanted, err := s.indexes(srv, c.meta.Schema)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(wanted)) {
		have, err := srv.DescribeIndex(ctx, c.name, field)
		var e *serverError
		if errors.As(err, &e) && (e.code == codeNoIndex || strings.Contains(strings.ToLower(e.reason), "index not")) {
			have, err = nil, nil
		}
		if err != nil {
			return fmt.Errorf("index of %s: %w", field, err)
		}
		if len(have) == 0 {
			if err := srv.CreateIndex(ctx, c.name, field, wanted[field], true); err != nil {
				return fmt.Errorf("index of %s: %w", field, err)
			}
		}
	}
	return srv.load(ctx, c.name)
}

// indexes are those that a collection gets, by field. Milvus before 2.4 knows no inverted one, but a trie for strings.
func (s *Sink) indexes(srv *server, schema connector.Schema) (map[string]entity.Index, error) {
	metric := metricOf(schema.Distance)
	params := map[string]string{"metric_type": string(metric)}
	kind := entity.Flat
	switch s.conf.Index {
	case "hnsw":
		kind = entity.HNSW
		params["M"], params["efConstruction"] = strconv.Itoa(s.conf.M), strconv.Itoa(s.conf.EfConstruction)
	case "autoindex":
		kind = entity.AUTOINDEX
	}
	out := map[string]entity.Index{}
	if kind == entity.HNSW {
		dense, err := entity.NewIndexHNSW(metric, s.conf.M, s.conf.EfConstruction)
		if err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "index hnsw: %w", err)
		}
		out[s.fields.of("vector")] = dense
	} else {
		params["index_type"] = string(kind)
		out[s.fields.of("vector")] = entity.NewGenericIndex("", kind, params)
	}
	if s.conf.Sparse != "none" {
		inverted, err := entity.NewIndexSparseInverted(entity.IP, 0)
		if err != nil {
			return nil, connector.Errorf(connector.ClassInvalid, "sparse index: %w", err)
		}
		out[s.fields.of("sparse")] = inverted
	}
	scalar := entity.Trie
	if srv.sparse {
		scalar = entity.Inverted
	}
	for _, own := range []string{"doc_id", "source", "path", "parent_id", "content_hash"} {
		out[s.fields.of(own)] = entity.NewScalarIndexWithType(scalar)
	}
	if srv.sparse && !srv.lite {
		out[fieldTerms] = entity.NewScalarIndexWithType(entity.Inverted)
	}
	return out, nil
}

// load brings the collection into memory, without which nothing can be read; one that is there already costs two calls.
func (s *server) load(ctx context.Context, name string) error {
	if err := s.LoadCollection(ctx, name, true); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		progress, err := s.GetLoadingProgress(ctx, name, nil)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		if progress >= 100 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
