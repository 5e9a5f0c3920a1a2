package weaviate

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/ngrams"
	"github.com/kbsync/kbsync/internal/payload"
)

// Upsert implements [connector.Collection]. Before it writes it sees that the class is still the one that was opened: the server
// would make another one.
func (c *Collection) Upsert(ctx context.Context, points []connector.Point) error {
	if err := ctx.Err(); err != nil || len(points) == 0 {
		return err
	}
	ready := make(chan error, 1)
	go func() { ready <- c.check(ctx) }() // while the points are encoded
	failed := map[int]error{}
	last := make(map[string]int, len(points)) // of equal ids the last one is stored
	for i := range points {
		last[points[i].ChunkID] = i
	}
	var objects []*pb.BatchObject
	var index []int // of objects in points
	for i := range points {
		object, err := c.encode(&points[i])
		if err != nil {
			failed[i] = err
		} else if last[points[i].ChunkID] == i {
			objects, index = append(objects, object), append(index, i)
		}
	}
	err := <-ready
	if err == nil && len(objects) > 0 {
		err = c.write(ctx, objects, func(n int, err error) { failed[index[n]] = err })
	}
	if err != nil {
		return c.wrap("upsert", err)
	}
	if len(failed) > 0 {
		return c.wrap("upsert", &connector.BatchError{Items: failed})
	}
	return nil
}

// write sends objects, and looks afterwards whether the class is still the one that was opened: if it was deleted meanwhile, the
// server has made another one by auto-schema, and nothing of this batch is where it should be.
func (c *Collection) write(ctx context.Context, objects []*pb.BatchObject, refused func(int, error)) error {
	failed, err := c.send(ctx, objects)
	if err != nil {
		return err
	}
	for n, err := range failed {
		if class := connector.ClassOf(err); class != connector.ClassInvalid && class != connector.ClassUnknown {
			return err // not of this object: the class, the disk, the server
		}
		refused(n, err)
	}
	return c.check(ctx)
}

// send writes objects, and gives the errors of single ones by index. The server reports them though the call succeeds.
func (c *Collection) send(ctx context.Context, objects []*pb.BatchObject) (map[int]error, error) {
	reply, err := c.sink.grpc.BatchObjects(ctx, &pb.BatchObjectsRequest{Objects: objects})
	if err != nil {
		return nil, callError(ctx, err)
	}
	failed := map[int]error{}
	for _, e := range reply.GetErrors() {
		failed[int(e.GetIndex())] = messageError(e.GetError())
	}
	return failed, nil
}

func (c *Collection) object(id string) *pb.BatchObject {
	return &pb.BatchObject{
		Uuid: id, Collection: c.class, Tenant: c.sink.config.Tenant,
		Properties: &pb.BatchObject_Properties{NonRefProperties: &structpb.Struct{Fields: make(map[string]*structpb.Value, 20)}},
	}
}

func set(o *pb.BatchObject, name, text string) {
	o.Properties.NonRefProperties.Fields[name] = structpb.NewStringValue(text)
}

// encode makes the object of a point, or says why there can be none.
func (c *Collection) encode(p *connector.Point) (*pb.BatchObject, error) {
	rest, err := c.valid(p)
	if err != nil {
		return nil, err
	}
	o, names := c.object(p.ChunkID), c.sink.names
	set(o, names[fieldRecord], string(rest))
	for _, f := range [...]struct{ own, text string }{
		{fieldContent, p.Content}, {fieldContext, p.Context}, {fieldDocID, p.DocID}, {fieldSource, p.Source}, {fieldPath, p.Path},
		{fieldParentID, p.ParentID}, {fieldContentHash, p.ContentHash},
	} {
		if f.text != "" {
			set(o, names[f.own], f.text)
		}
	}
	if p.EmbedText != p.Context+p.Content {
		set(o, names[fieldEmbedText], p.EmbedText)
	}
	c.encodeMetadata(o, p.Metadata)
	o.Properties.TextArrayProperties = []*pb.TextArrayProperties{{PropName: names[fieldTerms], Values: filterTerms(&p.Record)}}
	o.Properties.NonRefProperties.Fields[names[fieldSearchable]] = structpb.NewBoolValue(p.Vector != nil)
	if p.Vector == nil {
		return o, nil
	}
	if c.sink.config.Sparse != "none" {
		set(o, names[fieldWords], words(p.EmbedText))
	}
	if v := names[fieldVector]; v != "" {
		o.Vectors = []*pb.Vectors{{Name: v, VectorBytes: vectorBytes(p.Vector)}}
	} else {
		o.VectorBytes = vectorBytes(p.Vector)
	}
	return o, nil
}

// encodeMetadata fills the properties for people. Values of another type stand in the record alone.
func (c *Collection) encodeMetadata(o *pb.BatchObject, metadata map[string]any) {
	for _, key := range metadataTexts() {
		if text, ok := metadata[key].(string); ok && text != "" {
			set(o, c.sink.names[key], text)
		}
	}
	for _, key := range metadataInts() {
		n := int64(1 << 60)
		switch v := metadata[key].(type) {
		case int:
			n = int64(v)
		case int64:
			n = v
		}
		if n >= -(1<<53) && n <= 1<<53 { // integers travel as doubles
			o.Properties.NonRefProperties.Fields[c.sink.names[key]] = structpb.NewNumberValue(float64(n))
		}
	}
}

func checkID(id string) error {
	if err := payload.CheckID(id); err != nil {
		return err
	}
	if id == tenantNoteID || id == nilID {
		return connector.Errorf(connector.ClassInvalid, "chunk id %s is reserved", id)
	}
	return nil
}

// nilID cannot be told from none in the server's cursor.
const nilID = "00000000-0000-0000-0000-000000000000"

// valid checks what the server would refuse or spoil, and encodes the record.
func (c *Collection) valid(p *connector.Point) ([]byte, error) {
	if err := checkID(p.ChunkID); err != nil {
		return nil, err
	}
	if err := payload.CheckVector(p.Vector, c.schema.Dimensions, c.schema.Distance); err != nil {
		return nil, err
	}
	for _, s := range [...]string{p.DocID, p.ContentHash} {
		if !utf8.ValidString(s) {
			return nil, connector.Errorf(connector.ClassInvalid, "an id or hash holds bytes that are no UTF-8: %.40q", s)
		}
	}
	for _, s := range [...]string{p.Content, p.Context, p.EmbedText} {
		if len(s) > maxTextBytes {
			return nil, connector.Errorf(connector.ClassInvalid, "the text has %d bytes, of which %d are allowed", len(s), maxTextBytes)
		}
	}
	rest, err := payload.EncodeRest(&p.Record)
	if err == nil && len(rest) > maxBlobBytes {
		err = connector.Errorf(connector.ClassInvalid, "the metadata has %d bytes, of which %d are allowed", len(rest), maxBlobBytes)
	}
	return rest, err
}

// words are the terms of a text for BM25 over white space: words, pairs of characters of scripts without spaces, and beside
// these each of their characters, marked, so that a question of one character finds it.
func words(text string) string {
	b := make([]byte, 0, len(text)+len(text)/2)
	ngrams.Each(text, func(term []byte, kind ngrams.Kind) {
		if kind != ngrams.Single {
			b = append(append(b, term...), ' ')
		}
		if kind != ngrams.Word {
			_, n := utf8.DecodeRune(term)
			b = append(append(append(b, singleMark...), term[:n]...), ' ')
		}
	})
	return string(b)
}

// singleMark is no part of any term.
const singleMark = "~"

// question is what words is asked for.
func question(text string) string {
	var b strings.Builder
	for _, t := range ngrams.Query(text) {
		if t.Prefix {
			b.WriteString(singleMark)
		}
		b.WriteString(t.Text)
		b.WriteByte(' ')
	}
	return b.String()
}

func vectorBytes(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func vectorOf(b []byte) []float32 {
	v := make([]float32, 0, len(b)/4)
	for c := range slices.Chunk(b, 4) {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(c)))
	}
	return v
}
