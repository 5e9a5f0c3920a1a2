package qdrant

import (
	"fmt"
	"regexp"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/internal/remote"
)

// layout says under which names a collection holds records and vectors.
type layout struct {
	names map[string]string
	id    string // see SinkCapabilities.Layout
	// flat copies metadata beside the other fields too, where applications look that know no object of metadata.
	flat   bool
	sparse bool // whether points have a sparse vector
	// The payload's fields, and the names of the vectors; that of the dense one may be empty.
	content, context, embedText, docID, source, path, parentID, contentHash string
	spans, contextSpans, charCount, tokenCount, metadata, exact, terms      string
	denseName, sparseName                                                   string
}

// defaultNames are kbsync's own names, by themselves.
func defaultNames() map[string]string {
	return map[string]string{
		"content": "content", "context": "context", "embed_text": "embed_text", "doc_id": "doc_id", "source": "source", "path": "path",
		"parent_id": "parent_id", "content_hash": "content_hash", "spans": "spans", "context_spans": "context_spans",
		"char_count": "char_count", "token_count": "token_count", "metadata": "metadata", "metadata_json": "metadata_json",
		"terms": "kbsync_terms", "vector": "dense", "sparse": "sparse",
	}
}

// presets are the names that langchain-qdrant 1.1 and llama-index-vector-stores-qdrant 0.10 look for by default.
func presets() map[string]map[string]string {
	return map[string]map[string]string{
		"langchain":  {"content": "page_content", "vector": "", "sparse": "langchain-sparse"},
		"llamaindex": {"content": "text", "vector": "text-dense", "sparse": "text-sparse-new"},
	}
}

// plainName is what a JSON path may hold without quotes.
var plainName = regexp.MustCompile(`^[\pL\pN_-]+$`)

func newLayout(c *remote.Common) (*layout, error) {
	n, err := c.Fields.Resolve(defaultNames(), presets())
	if err != nil {
		return nil, fmt.Errorf("qdrant: %w", err)
	}
	for own, name := range n {
		if name != "" && !plainName.MatchString(name) {
			return nil, fmt.Errorf("qdrant: fields: %s: %q: want letters, digits, _ and - alone", own, name)
		}
	}
	l := &layout{
		names: n, flat: c.Fields.Preset == "llamaindex", sparse: c.Sparse != "none",
		content: n["content"], context: n["context"], embedText: n["embed_text"], docID: n["doc_id"], source: n["source"], path: n["path"],
		parentID: n["parent_id"], contentHash: n["content_hash"], spans: n["spans"], contextSpans: n["context_spans"],
		charCount: n["char_count"], tokenCount: n["token_count"], metadata: n["metadata"], exact: n["metadata_json"], terms: n["terms"],
		denseName: n["vector"], sparseName: n["sparse"],
	}
	version := "qdrant1"
	if l.flat {
		version += " flat"
	}
	l.id = c.Layout(version, n)
	return l, nil
}

// String is the layout's identity.
func (l *layout) String() string { return l.id }

// index is a payload index: strict mode refuses filters without one, and one made after loading is slow.
type index struct {
	field string
	kind  pb.FieldType
}

func (l *layout) indexes() []index {
	out := make([]index, 0, 12)
	for _, field := range []string{
		l.docID, l.source, l.path, l.contentHash, l.parentID,
		l.metadata + ".language", l.metadata + ".pipeline", l.metadata + ".section",
	} {
		out = append(out, index{field, pb.FieldType_FieldTypeKeyword})
	}
	for _, field := range []string{l.terms, l.metadata + ".page", l.metadata + ".chunk_index"} {
		out = append(out, index{field, pb.FieldType_FieldTypeInteger})
	}
	return out
}

// vectors is the configuration of the dense vector.
func (l *layout) vectors(dimensions int, distance string) *pb.VectorsConfig {
	params := &pb.VectorParams{Size: uint64(dimensions), Distance: distanceOf(distance)}
	if l.denseName == "" {
		return pb.NewVectorsConfig(params)
	}
	return pb.NewVectorsConfigMap(map[string]*pb.VectorParams{l.denseName: params})
}

// denseParams finds the dense vector's parameters in a collection's configuration; nil if it has none of that name.
func denseParams(config *pb.VectorsConfig, name string) *pb.VectorParams {
	if name == "" && config.GetParams() != nil {
		return config.GetParams()
	}
	return config.GetParamsMap().GetMap()[name]
}

func distanceOf(name string) pb.Distance {
	switch name {
	case "dot":
		return pb.Distance_Dot
	case "l2":
		return pb.Distance_Euclid
	}
	return pb.Distance_Cosine
}

func distanceName(d pb.Distance) string {
	switch d {
	case pb.Distance_Cosine:
		return "cosine"
	case pb.Distance_Dot:
		return "dot"
	case pb.Distance_Euclid:
		return "l2"
	}
	return d.String()
}
