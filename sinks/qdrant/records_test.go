package qdrant

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// raw reads a point as other programs see it.
func raw(t *testing.T, s *Sink, collection, id string) (map[string]any, *pb.VectorsOutput) {
	t.Helper()
	points, err := s.client.Get(t.Context(), &pb.GetPoints{CollectionName: collection, Ids: []*pb.PointId{pb.NewIDUUID(id)}, WithPayload: pb.NewWithPayload(true), WithVectors: pb.NewWithVectors(true)})
	if err != nil || len(points) != 1 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	return plainMap(points[0].GetPayload()), points[0].GetVectors()
}

// TestFloats: floats that the server's storage rounds come back bit by bit; those that it keeps stand there as numbers.
func TestFloats(t *testing.T) {
	_, s, c := rig(t, 0, nil)
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	values := []any{0.1, 0.1 + 0.2, 1.0 / 3, math.Pi, 5e-324, math.MaxFloat64, 1.5777777777770001, 13.600000000000001, -4.4737164812014446e192, 1e22, 1e23, 1e-22, math.Copysign(0, -1)}
	for range 2000 {
		if f := math.Float64frombits(rng.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			values = append(values, f)
		}
		values = append(values, rng.NormFloat64(), float64(float32(rng.Float64())), math.Round(rng.Float64()*1e4)/1e4)
	}
	p := testPoint(1)
	p.Metadata = map[string]any{"values": values, "nested": map[string]any{"x": values[1]}}
	rounded := 0
	for i, v := range values {
		f := v.(float64) //nolint:forcetypeassert // made above
		one := testPoint(i)
		one.Metadata = map[string]any{"price": f}
		fields, _, err := s.layout.fields(&one.Record)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := fields["metadata_json"]; ok {
			rounded++
		}
	}
	if err := c.Upsert(t.Context(), []connector.Point{p}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Fetch(t.Context(), []string{p.ChunkID}, false)
	if err != nil {
		t.Fatal(err)
	}
	back, _ := got[0].Metadata["values"].([]any)
	for i, v := range values {
		if f, _ := back[i].(float64); math.Float64bits(f) != math.Float64bits(v.(float64)) { //nolint:forcetypeassert // made above
			t.Fatalf("%v came back as %v", v, back[i])
		}
	}
	stored, _ := raw(t, s, c.name, p.ChunkID)
	visible, _ := stored["metadata"].(map[string]any)["values"].([]any) //nolint:forcetypeassert // stored so
	if visible[0] != 0.1 || reflect.DeepEqual(visible, values) || rounded == 0 || rounded == len(values) {
		t.Errorf("%d of %d floats are told apart, and the first is %v: the server's rounding is not imitated", rounded, len(values), visible[0])
	}
}

// TestSizeEstimate: it is never below what a request takes, or a batch would go over the server's limit.
func TestSizeEstimate(t *testing.T) {
	_, _, c := rig(t, 0, nil)
	for i, p := range append(benchPoints(20), testPoints(3)...) {
		c.schema.Dimensions = len(p.Vector)
		made, err := c.encode(&p)
		if err != nil {
			t.Fatal(err)
		}
		if size, estimate := proto.Size(made), made.size; estimate < size || estimate > 2*size {
			t.Errorf("point %d takes %d bytes, estimated at %d", i, size, estimate)
		}
	}
}

// TestDrift: what somebody else changes in the visible fields is read back changed.
func TestDrift(t *testing.T) {
	_, s, c := rig(t, 2, nil)
	set := func(fields map[string]*pb.Value) error {
		_, err := s.client.UpdateBatch(t.Context(), &pb.UpdateBatchPoints{CollectionName: c.name, Wait: pb.PtrOf(true), Operations: []*pb.PointsUpdateOperation{
			pb.NewPointsUpdateOverwritePayload(&pb.PointsUpdateOperation_OverwritePayload{Payload: fields, PointsSelector: pb.NewPointsSelector(pb.NewIDUUID(testID(1)))}),
		}})
		return err
	}
	fields, _, err := s.layout.fields(pointer(testPoint(1).Record))
	if err != nil {
		t.Fatal(err)
	}
	fields["content"] = pb.NewValueString("changed by hand")
	if err := set(fields); err != nil {
		t.Fatal(err)
	}
	got, err := c.Fetch(t.Context(), []string{testID(1)}, false)
	if err != nil || got[0].Content != "changed by hand" || got[0].EmbedText != "changed by hand" || got[0].ContentHash != testPoint(1).ContentHash {
		t.Errorf("%+v, %v", got, err)
	}
	if err := set(map[string]*pb.Value{"content": pb.NewValueInt(7), "spans": pb.NewValueBool(true), "metadata": pb.NewValueString("x")}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Fetch(t.Context(), []string{testID(1)}, true); err != nil || len(got) != 1 || got[0].Content != "" || got[0].Vector == nil {
		t.Errorf("a payload of other types: %+v, %v", got, err)
	}
}

// TestPresets: what the applications of others read stands where they look by default.
func TestPresets(t *testing.T) {
	for preset, want := range map[string]struct {
		text, vector string
		flat         bool
	}{"": {"content", "dense", false}, "langchain": {"page_content", "", false}, "llamaindex": {"text", "text-dense", true}} {
		_, s, c := rig(t, 0, func(c *Config) { c.Fields.Preset = preset })
		p := testPoint(1)
		p.Metadata = map[string]any{"title": "Handbook", "source": "own", "tags": []any{"a", int64(1)}, "text": "a clash"}
		if err := c.Upsert(t.Context(), []connector.Point{p}); err != nil {
			t.Fatal(err)
		}
		stored, vectors := raw(t, s, c.name, p.ChunkID)
		meta, _ := stored["metadata"].(map[string]any)
		if stored[want.text] != p.Content || !reflect.DeepEqual(meta, p.Metadata) || len(denseOf(vectors, want.vector)) != 8 {
			t.Errorf("preset %q: %v", preset, stored)
		}
		if (stored["title"] == "Handbook") != want.flat || stored["source"] != "s" {
			t.Errorf("preset %q: title %v and source %v beside the fields", preset, stored["title"], stored["source"])
		}
		got, err := c.Fetch(t.Context(), []string{p.ChunkID}, false)
		if err != nil || !reflect.DeepEqual(got[0].Metadata, p.Metadata) {
			t.Errorf("preset %q: came back as %v, %v", preset, got, err)
		}
	}
}

// TestForeign reads collections that kbsync did not write: ids of both kinds, vectors with and without a name.
func TestForeign(t *testing.T) {
	_, s, c := rig(t, 2, nil)
	make := func(name string, config *pb.VectorsConfig, points ...*pb.PointStruct) {
		t.Helper()
		if err := s.client.CreateCollection(t.Context(), &pb.CreateCollection{CollectionName: name, VectorsConfig: config}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Upsert(t.Context(), &pb.UpsertPoints{CollectionName: name, Wait: pb.PtrOf(true), Points: points}); err != nil {
			t.Fatal(err)
		}
	}
	params := &pb.VectorParams{Size: 2, Distance: pb.Distance_Dot}
	payload := map[string]*pb.Value{"text": pb.NewValueString("一"), "n": pb.NewValueInt(1<<53 + 1), "none": pb.NewValueNull()}
	make("plain", pb.NewVectorsConfig(params), &pb.PointStruct{Id: pb.NewIDNum(7), Payload: payload, Vectors: pb.NewVectors(1, 2)},
		&pb.PointStruct{Id: pb.NewIDUUID(testID(1)), Vectors: pb.NewVectorsMap(nil)})
	make("named", pb.NewVectorsConfigMap(map[string]*pb.VectorParams{"image": params, "text": params}), &pb.PointStruct{Id: pb.NewIDNum(1),
		Vectors: pb.NewVectorsMap(map[string]*pb.Vector{"text": pb.NewVectorDense([]float32{3, 4})})})
	read := func(name string) (out []connector.Foreign, err error) {
		for f, e := range s.Foreign(t.Context(), name) {
			if e != nil {
				return out, e
			}
			out = append(out, f)
		}
		return out, nil
	}
	got, err := read("plain")
	want := []connector.Foreign{{ID: "7", Vector: []float32{1, 2}, Fields: map[string]any{"text": "一", "n": int64(1<<53 + 1), "none": nil}}, {ID: testID(1), Fields: map[string]any{}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = read("named"); err != nil || len(got) != 1 || !slices.Equal(got[0].Vector, []float32{3, 4}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = read("books"); err != nil || len(got) != 2 || got[0].Fields["content"] == "" || len(got[0].Vector) != 8 {
		t.Errorf("through the alias %s: %+v, %v", c.name, got, err)
	}
	_, err = read("absent")
	wantClass(t, "a collection that is not there", err, connector.ClassNotFound)
}

// TestMapping: what the table says of each kind is what the sink does.
func TestMapping(t *testing.T) {
	_, _, c := rig(t, 0, nil)
	m := c.sink.Capabilities().Mapping
	for kind, v := range map[connector.ValueKind]any{
		connector.ValueNull: nil, connector.ValueBool: true, connector.ValueInt: int64(7), connector.ValueBigInt: int64(1<<53 + 1), connector.ValueFloat: 1.5,
		connector.ValueString: "s", connector.ValueDate: "2026-01-02T03:04:05Z", connector.ValueList: []any{"a", "b"}, connector.ValueMixed: []any{"a", int64(1)},
		connector.ValueNested: map[string]any{"k": []any{map[string]any{}}}, connector.ValueInvalid: math.NaN(),
	} {
		if connector.KindOfValue(v) != kind {
			t.Fatalf("%v is no %s", v, kind)
		}
		p := testPoint(1)
		p.Metadata = map[string]any{"a key. with \"quotes\"": v}
		err := c.Upsert(t.Context(), []connector.Point{p})
		findings := m.Check("a key. with \"quotes\"", v)
		if kind == connector.ValueInvalid {
			if err == nil || len(findings) != 1 || findings[0].Treatment != connector.TreatRefused {
				t.Errorf("%s: %v, %v", kind, err, findings)
			}
			continue
		}
		got, ferr := c.Fetch(t.Context(), []string{p.ChunkID}, false)
		if err != nil || ferr != nil || len(findings) > 0 || !reflect.DeepEqual(got[0].Metadata, p.Metadata) {
			t.Errorf("%s: %v, %v, %v, came back as %v", kind, err, ferr, findings, got)
		}
		if kind == connector.ValueNested || kind == connector.ValueList || kind == connector.ValueMixed {
			continue
		}
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: p.Vector, K: 2, Filter: connector.Filter{{Field: "a key. with \"quotes\"", Values: []any{v}}}})
		if err != nil || len(hits) != 1 {
			t.Errorf("%s: a filter by %v: %d hits, %v", kind, v, len(hits), err)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, bad := range map[string]func(*Config){
		"a scheme":                 func(c *Config) { c.Address = "https://cloud.example:6334" },
		"a port that is none":      func(c *Config) { c.Address = "localhost:grpc" },
		"a port out of range":      func(c *Config) { c.Address = "localhost:70000" },
		"an index that is none":    func(c *Config) { c.Index = "ivf" },
		"a distance that is none":  func(c *Config) { c.Distance = "hamming" },
		"a slash in the name":      func(c *Config) { c.Collection = "a/b" },
		"a name that is too long":  func(c *Config) { c.Collection = strings.Repeat("长", 80) },
		"two fields of one name":   func(c *Config) { c.Fields.Names = map[string]string{"content": "x", "path": "x"} },
		"a path as a field's name": func(c *Config) { c.Fields.Names = map[string]string{"content": "a.b"} },
		"no such field":            func(c *Config) { c.Fields.Names = map[string]string{"text": "x"} },
	} {
		c := Config{Common: remote.Defaults(), Address: "localhost"}
		bad(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "qdrant: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for address, want := range map[string]string{"": "localhost:6334", "Example.COM": "example.com:6334", "10.0.0.1:7": "10.0.0.1:7", "[::1]:6334": "[::1]:6334", "::1": "[::1]:6334"} {
		s := openAt(t, address, "books", nil)
		if got := s.Target().Address; got != want {
			t.Errorf("%q is %q, want %q", address, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := Open(Config{Common: remote.Defaults()}, connector.Env{Name: "team/handbook"})
	if err != nil || s.Target().Collection != "team_handbook" {
		t.Errorf("the pipeline's name: %v", err)
	}
	_ = s.Close()
	p := Plugin()
	raw, err := json.Marshal(p.Config())
	if err != nil || strings.Contains(string(raw), "secret") {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestLayouts: what changes where records stand is another generation, what does not is none.
func TestLayouts(t *testing.T) {
	layout := func(change func(*Config)) string {
		c := Config{Common: remote.Defaults()}
		change(&c)
		l, err := newLayout(&c.Common)
		if err != nil {
			t.Fatal(err)
		}
		return l.String()
	}
	own := layout(func(*Config) {})
	if same := layout(func(c *Config) { c.Timeout, c.Index, c.Batch, c.Keep = 1, "flat", 3, 9 }); same != own {
		t.Errorf("%s and %s", own, same)
	}
	seen := map[string]bool{own: true}
	for name, change := range map[string]func(*Config){
		"sparse": func(c *Config) { c.Sparse = "none" }, "langchain": func(c *Config) { c.Fields.Preset = "langchain" },
		"llamaindex": func(c *Config) { c.Fields.Preset = "llamaindex" },
		"the names of llamaindex, without copies": func(c *Config) {
			c.Fields.Names = map[string]string{"content": "text", "vector": "text-dense", "sparse": "text-sparse-new"}
		},
	} {
		if l := layout(change); seen[l] {
			t.Errorf("%s: the layout is not another one: %s", name, l)
		} else {
			seen[l] = true
		}
	}
}
