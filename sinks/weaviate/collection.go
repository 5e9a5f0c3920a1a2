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

// delete repeats the call until every id is gone or nothing matches: the server works on so many matches a call as it is
// configured to (10,000 by default).
func (c *Collection) delete(ctx context.Context, ids []string) error {
	for left := int64(len(ids)); left > 0; {
		reply, err := c.sink.grpc.BatchDelete(ctx, &pb.BatchDeleteRequest{Collection: c.class, Filters: idFilter(ids), Tenant: c.tenant()})
		if err != nil {
			return callError(ctx, err)
		}
		if reply.GetFailed() > 0 {
			return c.undeleted(ctx, reply)
		}
		if reply.GetMatches() == 0 {
			return nil
		}
		left -= reply.GetSuccessful()
	}
	return nil
}

// undeleted says why objects could not be deleted. The verbose form of the call would, but the server fails to write it then.
func (c *Collection) undeleted(ctx context.Context, reply *pb.BatchDeleteReply) error {
	query := ""
	if t := c.tenant(); t != nil {
		query = "?tenant=" + url.QueryEscape(*t)
	}
	var shards []struct{ Name, Status string }
	if err := c.sink.rest.do(ctx, http.MethodGet, "/schema/"+url.PathEscape(c.class)+"/shards"+query, nil, &shards); err != nil {
		return err
	}
	for _, s := range shards {
		if s.Status == "READONLY" && (c.tenant() == nil || s.Name == *c.tenant()) {
			return connector.Errorf(connector.ClassFull, "%d of %d objects were not deleted: shard %s is read-only", reply.GetFailed(), reply.GetMatches(), s.Name)
		}
	}
	return connector.Errorf(connector.ClassTransient, "%d of %d objects were not deleted", reply.GetFailed(), reply.GetMatches())
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
	err := c.sink.rest.do(ctx, http.MethodPost, "/graphql", query, &answer)
	rows := answer.Data.Aggregate[c.class]
	if err == nil && (len(answer.Errors) > 0 || len(rows) != 1) {
		b, _ := json.Marshal(answer.Errors)
		err = messageError(string(b))
	}
	if err != nil { // of a class that is gone, GraphQL says many things
		if gone := c.check(ctx); gone != nil {
			err = gone
		}
		return 0, c.wrap("count", err)
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
