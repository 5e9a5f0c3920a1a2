package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
)

// Collection is one class, or one tenant of it.
type Collection struct {
	sink   *Sink
	class  string
	schema connector.Schema
	// classMarker is the class's; marker is that, or with a tenant both joined.
	classMarker, marker string
}

var _ connector.Collection = (*Collection)(nil)

// Schema implements [connector.Collection].
func (c *Collection) Schema() connector.Schema { return c.schema }

// Marker implements [connector.Collection].
func (c *Collection) Marker(ctx context.Context) (string, error) {
	if err := c.check(ctx); err != nil {
		return "", c.wrap("marker", err)
	}
	return c.marker, nil
}

// UpdatePayload is unsupported: Weaviate merges one object at a time.
func (c *Collection) UpdatePayload(ctx context.Context, _ []connector.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.wrap("update payload", connector.ErrUnsupported)
}

// deleteMost is how many ids one call deletes; the server works on 10,000 matches a call at most.
const deleteMost = 1000

// Delete implements [connector.Collection].
func (c *Collection) Delete(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return checkID(id) != nil })
	if err := ctx.Err(); err != nil || len(ids) == 0 {
		return err
	}
	for batch := range slices.Chunk(ids, deleteMost) {
		if err := c.delete(ctx, batch); err != nil {
			return c.wrap("delete", err)
		}
	}
	return nil
}

// delete repeats the call until nothing matches: a server may be configured to work on fewer matches at a time.
func (c *Collection) delete(ctx context.Context, ids []string) error {
	for {
		reply, err := c.sink.grpc.BatchDelete(ctx, &pb.BatchDeleteRequest{Collection: c.class, Filters: idFilter(ids), Tenant: c.tenant()})
		switch {
		case err != nil:
			return callError(ctx, err)
		case reply.GetFailed() > 0:
			return connector.Errorf(connector.ClassTransient, "%d of %d objects were not deleted", reply.GetFailed(), reply.GetMatches())
		case reply.GetMatches() == 0, reply.GetMatches() == reply.GetSuccessful() && reply.GetMatches() < int64(len(ids)):
			return nil
		case reply.GetSuccessful() == 0:
			return connector.Errorf(connector.ClassTransient, "the server deletes none of %d objects", reply.GetMatches())
		case reply.GetSuccessful() >= int64(len(ids)):
			return nil
		}
	}
}

func (c *Collection) tenant() *string {
	if c.sink.config.Tenant == "" {
		return nil
	}
	return &c.sink.config.Tenant
}

// Count implements [connector.Collection].
func (c *Collection) Count(ctx context.Context) (int, error) {
	args := ""
	if t := c.tenant(); t != nil {
		args = fmt.Sprintf("(tenant:%q)", *t) // letters, digits, _ and - alone
	}
	var answer struct {
		Data struct {
			Aggregate map[string][]struct{ Meta struct{ Count int } }
		}
		Errors []struct{ Message string }
	}
	query := map[string]string{"query": fmt.Sprintf("{Aggregate{%s%s{meta{count}}}}", c.class, args)}
	if err := c.sink.rest.do(ctx, http.MethodPost, "/graphql", query, &answer); err != nil {
		return 0, c.wrap("count", err)
	}
	rows := answer.Data.Aggregate[c.class]
	if len(answer.Errors) > 0 || len(rows) != 1 {
		if err := c.check(ctx); err != nil {
			return 0, c.wrap("count", err)
		}
		b, _ := json.Marshal(answer.Errors)
		return 0, c.wrap("count", messageError(string(b)))
	}
	n := rows[0].Meta.Count
	if c.tenant() != nil {
		n-- // its note
	}
	return n, nil
}

// Flush implements [connector.Collection]: it waits for the vector index of servers that index in the background.
func (c *Collection) Flush(ctx context.Context) error {
	for {
		var nodes struct {
			Nodes []struct {
				Shards []struct {
					Class             string
					Name              string
					VectorQueueLength int
				}
			}
		}
		if err := c.sink.rest.do(ctx, http.MethodGet, "/nodes/"+url.PathEscape(c.class)+"?output=verbose", nil, &nodes); err != nil {
			return c.wrap("flush", err)
		}
		waiting := 0
		for _, n := range nodes.Nodes {
			for _, s := range n.Shards {
				if t := c.tenant(); t == nil || *t == s.Name {
					waiting += s.VectorQueueLength
				}
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// check says whether the class is the one that was opened: writing to one that is gone would make it anew by auto-schema.
func (c *Collection) check(ctx context.Context) error {
	_, _, err := c.describe(ctx)
	return err
}

func (c *Collection) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("weaviate: %s: %s: %w", c.class, doing, err)
}
