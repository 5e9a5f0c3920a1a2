package weaviate

import (
	"context"
	"iter"
	"slices"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// pageMost is how many points one answer holds at most, pageBytes how large it should be.
const (
	pageMost  = 500
	pageBytes = 8 << 20
)

// Fetch implements [connector.Collection].
func (c *Collection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := make(map[string]connector.Point, len(ids))
	ask := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return checkID(id) != nil })
	slices.Sort(ask)
	ask = slices.Compact(ask)
	for size := pageMost; len(ask) > 0; {
		batch := ask[:min(size, len(ask))]
		reply, err := c.search(ctx, c.request(batch, vectors))
		if smaller := tooLarge(err, size); smaller > 0 {
			size = smaller
			continue
		}
		if err != nil {
			return nil, c.wrap("fetch", err)
		}
		for _, r := range reply.GetResults() {
			p, err := c.decode(r, vectors)
			if err != nil {
				return nil, c.wrap("fetch", err)
			}
			found[p.ChunkID] = p
		}
		ask = ask[len(batch):]
		size = nextSize(size, len(batch), proto.Size(reply))
	}
	out := make([]connector.Point, 0, len(found))
	for _, id := range ids {
		if p, ok := found[id]; ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// tooLarge is the size to try after an answer that was over the limit of a message; 0 if that is not what err says.
func tooLarge(err error, size int) int {
	if connector.ClassOf(err) != connector.ClassTooLarge {
		return 0
	}
	return size / 2
}

// nextSize aims at answers of pageBytes.
func nextSize(size, items, bytes int) int {
	switch {
	case items == 0:
		return size
	case bytes > 2*pageBytes:
		return max(1, items*pageBytes/bytes)
	}
	return min(pageMost, 2*size)
}

// Scan implements [connector.Collection]. The server's cursor follows the order of its object store, which is that of the
// ids' bytes, so of their text.
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		fail := func(err error) { yield(connector.Point{}, c.wrap("scan", err)) }
		size, after := pageMost, ""
		for {
			req := c.request(nil, vectors)
			req.After, req.Limit = after, uint32(size) //nolint:gosec // small
			reply, err := c.search(ctx, req)
			if smaller := tooLarge(err, size); smaller > 0 {
				size = smaller
				continue
			}
			if err != nil {
				fail(err)
				return
			}
			results := reply.GetResults()
			for _, r := range results {
				p, err := c.decode(r, vectors)
				switch {
				case err == nil && p.ChunkID <= after:
					err = connector.Errorf(connector.ClassUnknown, "the server lists %s after %s", p.ChunkID, after)
				case p.ChunkID == tenantNoteID:
					after = p.ChunkID
					continue
				}
				if err != nil {
					fail(err)
					return
				}
				if !yield(p, nil) {
					return
				}
				after = p.ChunkID
			}
			if len(results) < size {
				return
			}
			size = nextSize(size, len(results), proto.Size(reply))
		}
	}
}

// request asks for whole records, of ids if there are any.
func (c *Collection) request(ids []string, vectors bool) *pb.SearchRequest {
	names := c.sink.names
	req := &pb.SearchRequest{
		Properties: &pb.PropertiesRequest{NonRefProperties: []string{
			names[fieldContent], names[fieldContext], names[fieldEmbedText], names[fieldDocID], names[fieldSource], names[fieldPath], names[fieldRecord],
		}},
		Metadata: &pb.MetadataRequest{Uuid: true},
	}
	if ids != nil {
		req.Filters, req.Limit = idFilter(ids), uint32(len(ids)) //nolint:gosec // small
	}
	switch v := names[fieldVector]; {
	case !vectors:
	case v != "":
		req.Metadata.Vectors = []string{v}
	default:
		req.Metadata.Vector = true
	}
	return req
}

// search calls the server for this class. An answer that is too large is an error of ClassTooLarge.
func (c *Collection) search(ctx context.Context, req *pb.SearchRequest) (*pb.SearchReply, error) {
	req.Collection, req.Tenant, req.Uses_127Api = c.class, c.sink.config.Tenant, true
	reply, err := c.sink.grpc.Search(ctx, req)
	if status.Code(err) == codes.ResourceExhausted && ctx.Err() == nil {
		return nil, &connector.Error{Class: connector.ClassTooLarge, Err: err}
	}
	if err != nil {
		return nil, callError(ctx, err)
	}
	return reply, nil
}

// decode reads a point: the texts, document, source and path from the properties that people see, so that a change by
// somebody else comes to light, the rest from the record.
func (c *Collection) decode(r *pb.SearchResult, vectors bool) (connector.Point, error) {
	fields, names := r.GetProperties().GetNonRefProps().GetFields(), c.sink.names
	p := connector.Point{Record: connector.Record{ChunkID: r.GetMetadata().GetId()}}
	if p.ChunkID == tenantNoteID {
		return p, nil
	}
	rest := textOf(fields[names[fieldRecord]])
	if rest == "" {
		return p, connector.Errorf(connector.ClassConflict, "object %s has no %s: it was not written by kbsync", p.ChunkID, names[fieldRecord])
	}
	if err := payload.DecodeRest([]byte(rest), &p.Record); err != nil {
		return p, connector.Errorf(connector.ClassConflict, "object %s: %w", p.ChunkID, err)
	}
	p.Content, p.Context = textOf(fields[names[fieldContent]]), textOf(fields[names[fieldContext]])
	p.DocID, p.Source, p.Path = textOf(fields[names[fieldDocID]]), textOf(fields[names[fieldSource]]), textOf(fields[names[fieldPath]])
	p.EmbedText = p.Context + p.Content
	if embed := fields[names[fieldEmbedText]]; present(embed) {
		p.EmbedText = textOf(embed)
	}
	if vectors {
		p.Vector = c.vector(r.GetMetadata())
	}
	return p, nil
}

func (c *Collection) vector(m *pb.MetadataResult) []float32 {
	b := m.GetVectorBytes()
	if name := c.sink.names[fieldVector]; name != "" {
		b = nil
		for _, v := range m.GetVectors() {
			if v.GetName() == name {
				b = v.GetVectorBytes()
			}
		}
	}
	if len(b) == 0 {
		return nil
	}
	return vectorOf(b)
}

// textOf is a text property's value; nothing and null are empty.
func textOf(v *pb.Value) string { return v.GetTextValue() }

func present(v *pb.Value) bool {
	_, ok := v.GetKind().(*pb.Value_TextValue)
	return ok
}
