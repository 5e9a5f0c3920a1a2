package qdrant

import (
	"unicode/utf8"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/sparse"
)

// encode makes the point that stores p. Errors are of ClassInvalid.
func (c *Collection) encode(p *connector.Point) (*pb.PointStruct, error) {
	if err := payload.CheckVector(p.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
		return nil, err // the server takes NaN, and ranks it first
	}
	fields, err := c.sink.layout.fields(&p.Record)
	if err != nil {
		return nil, err
	}
	return &pb.PointStruct{Id: pb.NewIDUUID(p.ChunkID), Payload: fields, Vectors: c.sink.layout.pointVectors(p)}, nil
}

// pointVectors are the vectors of a point: none for a store-only one, which no search may find.
func (l *layout) pointVectors(p *connector.Point) *pb.Vectors {
	vectors := make(map[string]*pb.Vector, 2)
	if p.Vector != nil {
		vectors[l.denseName] = pb.NewVectorDense(p.Vector)
		if l.sparse {
			if v := sparse.Document(p.EmbedText); len(v.Indices) > 0 {
				vectors[l.sparseName] = pb.NewVectorSparse(v.Indices, v.Values)
			}
		}
	}
	return pb.NewVectorsMap(vectors)
}

// fields is the payload of a record.
func (l *layout) fields(r *connector.Record) (map[string]*pb.Value, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	out := make(map[string]*pb.Value, 16+len(r.Metadata))
	if err := l.putMetadata(out, r.Metadata); err != nil {
		return nil, err
	}
	for name, s := range map[string]string{
		l.content: r.Content, l.docID: r.DocID, l.source: r.Source, l.path: r.Path, l.parentID: r.ParentID, l.contentHash: r.ContentHash,
	} {
		out[name] = pb.NewValueString(s)
	}
	if r.Context != "" {
		out[l.context] = pb.NewValueString(r.Context)
	}
	if r.EmbedText != r.Context+r.Content { // it says nothing else nearly always
		out[l.embedText] = pb.NewValueString(r.EmbedText)
	}
	if len(r.Spans) > 0 {
		out[l.spans] = spansValue(r.Spans)
	}
	if len(r.ContextSpans) > 0 {
		out[l.contextSpans] = spansValue(r.ContextSpans)
	}
	out[l.charCount], out[l.tokenCount] = pb.NewValueInt(int64(r.CharCount)), pb.NewValueInt(int64(r.TokenCount))
	terms, err := new(encoder).value(payload.Terms(r))
	if err != nil {
		return nil, err
	}
	out[l.terms] = terms
	return out, nil
}

// check finds what the protocol cannot carry.
func check(r *connector.Record) error {
	if err := payload.CheckID(r.ChunkID); err != nil {
		return err
	}
	for _, s := range []string{r.DocID, r.ContentHash} {
		if !utf8.ValidString(s) {
			return connector.Errorf(connector.ClassInvalid, "an id or hash holds bytes that are no UTF-8: %.40q", s)
		}
	}
	return payload.Valid(r)
}

// putMetadata stores metadata as an object, and as exact JSON beside it where numbers might come back rounded.
func (l *layout) putMetadata(out map[string]*pb.Value, metadata map[string]any) error {
	if metadata == nil {
		return nil
	}
	var e encoder
	object, err := e.value(metadata)
	if err != nil {
		return err
	}
	if l.flat {
		for k, v := range object.GetStructValue().GetFields() {
			out[k] = v // the record's own fields are written after this and win
		}
	}
	out[l.metadata] = object
	if !e.rounded {
		return nil
	}
	raw, err := payload.AppendJSON(nil, metadata)
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "metadata: %w", err)
	}
	out[l.exact] = pb.NewValueString(string(raw))
	return nil
}

func spansValue(spans []connector.Span) *pb.Value {
	out := make([]*pb.Value, len(spans))
	for i, s := range spans {
		out[i] = pb.NewValueFromList(pb.NewValueInt(int64(s.Start)), pb.NewValueInt(int64(s.End)))
	}
	return pb.NewValueFromList(out...)
}

// record reads a payload back. What somebody else changed or removed is empty or changed here too, for verify to find.
func (l *layout) record(id string, fields map[string]*pb.Value) connector.Record {
	text := func(name string) string { return fields[name].GetStringValue() }
	r := connector.Record{
		ChunkID: id, DocID: text(l.docID), Source: text(l.source), Path: text(l.path), ParentID: text(l.parentID), ContentHash: text(l.contentHash),
		Content: text(l.content), Context: text(l.context), Spans: spansOf(fields[l.spans]), ContextSpans: spansOf(fields[l.contextSpans]),
		CharCount: int(fields[l.charCount].GetIntegerValue()), TokenCount: int(fields[l.tokenCount].GetIntegerValue()),
	}
	r.EmbedText = r.Context + r.Content
	if v, ok := fields[l.embedText]; ok {
		r.EmbedText = v.GetStringValue()
	}
	if v, ok := fields[l.metadata]; ok {
		r.Metadata, _ = plain(v).(map[string]any)
	}
	if v, ok := fields[l.exact]; ok {
		if exact, err := payload.DecodeJSON([]byte(v.GetStringValue())); err == nil {
			r.Metadata, _ = exact.(map[string]any)
		}
	}
	return r
}

func spansOf(v *pb.Value) []connector.Span {
	var out []connector.Span
	for _, pair := range v.GetListValue().GetValues() {
		if ends := pair.GetListValue().GetValues(); len(ends) == 2 {
			out = append(out, connector.Span{Start: int(ends[0].GetIntegerValue()), End: int(ends[1].GetIntegerValue())})
		}
	}
	return out
}

// denseOf is the dense vector of that name in an answer; nil if the point has none.
func denseOf(v *pb.VectorsOutput, name string) []float32 {
	if name == "" && v.GetVector() != nil {
		return denseData(v.GetVector())
	}
	return denseData(v.GetVectors().GetVectors()[name])
}

func denseData(v *pb.VectorOutput) []float32 {
	if d := v.GetDense(); d != nil {
		return d.GetData()
	}
	if v.GetSparse() != nil || v.GetMultiDense() != nil || v.GetIndices() != nil { //nolint:staticcheck // servers before 1.16 fill the old fields alone
		return nil
	}
	return v.GetData() //nolint:staticcheck // as above
}
