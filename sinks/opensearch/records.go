package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/ngrams"
	"github.com/kbsync/kbsync/internal/payload"
	"github.com/kbsync/kbsync/internal/remote"
)

// Fields of a document that cannot be renamed.
const (
	idField       = "chunk_id"
	metadataField = "metadata"
	restField     = "kbsync"         // what payload.EncodeRest writes
	termsField    = "kbsync_terms"   // filter terms of all metadata
	lexicalField  = "kbsync_lexical" // the words and pairs of characters of the embedded text
)

// names are the fields that can be renamed; the presets are what langchain-community and llama-index-vector-stores-opensearch read.
func (c *Config) names() (map[string]string, error) {
	own := map[string]string{}
	for _, f := range []string{"content", "vector", "context", "embed_text", "source", "path", "doc_id", "parent_id", "content_hash"} {
		own[f] = f
	}
	names, err := c.Fields.Resolve(own, map[string]map[string]string{
		"langchain":  {"content": "text", "vector": "vector_field"},
		"llamaindex": {"vector": "embedding"},
	})
	if err != nil {
		return nil, fmt.Errorf("opensearch: %w", err)
	}
	for _, name := range names {
		if !plainKey.MatchString(name) || slices.Contains([]string{idField, metadataField}, name) || strings.HasPrefix(name, restField) {
			return nil, fmt.Errorf("opensearch: fields: %q is no free name: want letters, digits, _ and -, not chunk_id, metadata or kbsync…", name)
		}
	}
	return names, nil
}

// plainKey is a metadata key that stands in the document under metadata.
var plainKey = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_-]*$`)

// declared are the metadata fields with an index of their own.
func declared() map[string]string {
	out := map[string]string{}
	for _, f := range []string{"uri", "title", "media_type", "language", "section", "headings", "strategy", "pipeline", "keywords", "modified_at", "prev_id", "next_id"} {
		out[f] = "keyword"
	}
	for _, f := range []string{"page", "line_start", "line_end", "chunk_index", "total_chunks"} {
		out[f] = "long"
	}
	return out
}

// declare is an index's mapping: what it does not name is stored and not indexed.
func (s *Sink) declare(meta remote.Meta) map[string]any {
	keyword := func(limit int) map[string]any { return map[string]any{"type": "keyword", "ignore_above": limit} }
	stored := map[string]any{"type": "text", "index": false}
	metadata := map[string]any{}
	for name, kind := range declared() {
		metadata[name] = map[string]any{"type": kind}
		if kind == "keyword" {
			metadata[name] = keyword(1024)
		}
	}
	space := map[string]string{"cosine": "cosinesimil", "dot": "innerproduct", "l2": "l2"}[meta.Schema.Distance]
	properties := map[string]any{
		idField: keyword(64), restField: stored, termsField: keyword(256),
		metadataField:     map[string]any{"type": "object", "dynamic": false, "properties": metadata},
		s.names["vector"]: map[string]any{"type": "knn_vector", "dimension": meta.Schema.Dimensions, "method": map[string]any{"name": "hnsw", "engine": "lucene", "space_type": space, "parameters": map[string]any{"m": 16, "ef_construction": 128}}},
	}
	if s.config.Sparse != "none" {
		properties[lexicalField] = map[string]any{"type": "text", "analyzer": "whitespace"}
	}
	for _, f := range []string{"content", "context", "embed_text"} {
		properties[s.names[f]] = stored
	}
	for _, f := range []string{"source", "path", "doc_id", "parent_id", "content_hash"} {
		properties[s.names[f]] = map[string]any{"type": "keyword"}
	}
	return map[string]any{"dynamic": false, "_meta": map[string]any{metaKey: meta.String()}, "properties": properties}
}

// mapping is the table of the documentation.
func mapping() *connector.Mapping {
	return &connector.Mapping{
		Values: map[connector.ValueKind]connector.Treatment{connector.ValueNull: connector.TreatKept, connector.ValueNested: connector.TreatKept, connector.ValueMixed: connector.TreatKept},
		Name:   plainKey, Names: connector.TreatKept,
		Notes: []string{
			"Ids are the chunk ids. Metadata stands under metadata; fields that kbsync itself fills are indexed there, all others are filtered through kbsync_terms.",
			"A source or path over 32,766 bytes is refused.",
		},
	}
}

// document is a record as JSON, without vector and words.
func (s *Sink) document(r *connector.Record) (map[string]any, error) {
	rest, err := payload.EncodeRest(r)
	if err == nil {
		err = payload.CheckID(r.ChunkID)
	}
	if err != nil {
		return nil, fmt.Errorf("opensearch: %s: %w", r.ChunkID, err)
	}
	kinds, metadata := declared(), map[string]any{}
	for key, value := range r.Metadata {
		if plainKey.MatchString(key) && fits(kinds[key], value) {
			metadata[key] = value
		}
	}
	doc := map[string]any{idField: r.ChunkID, restField: string(rest), metadataField: metadata}
	for field, text := range map[string]string{
		"content": r.Content, "context": r.Context, "source": r.Source, "path": r.Path, "doc_id": r.DocID, "parent_id": r.ParentID, "content_hash": r.ContentHash,
	} {
		doc[s.names[field]] = text
	}
	if r.EmbedText != r.Context+r.Content {
		doc[s.names["embed_text"]] = r.EmbedText
	}
	if terms := payload.Terms(r); len(terms) > 0 {
		doc[termsField] = terms
	}
	return doc, nil
}

// fits says whether a value may stand in a metadata field of that kind: one that does not would spoil the whole document.
func fits(kind string, value any) bool {
	switch k := connector.KindOfValue(value); k {
	case connector.ValueInt:
		return kind != "keyword"
	case connector.ValueString, connector.ValueDate:
		return kind != "long"
	case connector.ValueList:
		return kind == "" || kind == "keyword"
	case connector.ValueBool, connector.ValueFloat, connector.ValueBigInt:
		return kind == ""
	}
	return false
}

// words are the terms of the embedded text, for the analyser that splits at white space.
func words(text string) string { return string(ngrams.Append(nil, text)) }

// decode reads a document; texts and origin from the fields that everybody sees, so that a change made there shows.
func (s *Sink) decode(id string, source json.RawMessage) (connector.Point, error) {
	p := connector.Point{Record: connector.Record{ChunkID: id}}
	var doc map[string]json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(source))
	if err := dec.Decode(&doc); err != nil {
		return p, connector.Errorf(connector.ClassTransient, "document %s: %w", id, err)
	}
	text := func(field string) (out string) {
		_ = json.Unmarshal(doc[field], &out) // somebody else's value of another type is no text
		return out
	}
	rest := text(restField)
	if rest == "" {
		return p, connector.Errorf(connector.ClassConflict, "document %s was not written by kbsync: it has no field %s", id, restField)
	}
	if err := payload.DecodeRest([]byte(rest), &p.Record); err != nil {
		return p, fmt.Errorf("document %s: %w", id, err)
	}
	p.Content, p.Context = text(s.names["content"]), text(s.names["context"])
	p.Source, p.Path, p.DocID = text(s.names["source"]), text(s.names["path"]), text(s.names["doc_id"])
	p.EmbedText = p.Context + p.Content
	if _, own := doc[s.names["embed_text"]]; own {
		p.EmbedText = text(s.names["embed_text"])
	}
	if v, ok := doc[s.names["vector"]]; ok {
		if err := json.Unmarshal(v, &p.Vector); err != nil {
			return p, connector.Errorf(connector.ClassConflict, "document %s: its vector: %w", id, err)
		}
	}
	return p, nil
}

// filter is what a search adds to its conditions; ok is false if nothing can match.
func (s *Sink) filter(filter connector.Filter) (out []any, ok bool) {
	for _, c := range filter {
		field, terms := termsField, payload.ConditionTerms(c)
		if slices.Contains(payload.RecordFields(), c.Field) {
			field, terms = s.names[c.Field], nil
			if c.Field == "chunk_id" {
				field = idField
			}
			for _, v := range c.Values {
				if text, isText := v.(string); isText {
					terms = append(terms, text)
				}
			}
		}
		if len(terms) == 0 {
			return nil, false
		}
		out = append(out, map[string]any{"terms": map[string]any{field: terms}})
	}
	return out, true
}
