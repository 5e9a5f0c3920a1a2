package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// recordVersion is raised when the metadata of records change shape: documents are cut again.
const recordVersion = 1

// piece is a chunk on its way from the strategy to the sink, as it is spooled for large documents.
type piece struct {
	ID        connector.UUID   `json:"i"`
	Parent    connector.UUID   `json:"p"`
	Content   string           `json:"t"`
	Context   string           `json:"c,omitempty"`
	Spans     []connector.Span `json:"s"`
	CtxSpans  []connector.Span `json:"x,omitempty"`
	Hash      []byte           `json:"h"` // SHA-256 of the embedded text
	Chars     int              `json:"r"`
	Tokens    int              `json:"k"`
	Headings  []string         `json:"g,omitempty"`
	Page      int              `json:"n,omitempty"`
	Language  string           `json:"l,omitempty"`
	LineStart int              `json:"a"`
	LineEnd   int              `json:"b"`
	StoreOnly bool             `json:"o,omitempty"`
	Late      bool             `json:"w,omitempty"`
	Metadata  map[string]any   `json:"m,omitempty"`
	Vector    []float32        `json:"v,omitempty"`
	Keywords  []string         `json:"-"` // found once the document is cut; nil: none are asked for

	// The group that it is in, and its place there: -1 if it only stands between members. Set once the document is cut.
	group *group
	place int
}

// size is the bytes of the embedded text.
func (c *piece) size() int { return len(c.Context) + len(c.Content) }

func (c *piece) embedText() string { return c.Context + c.Content }

// newPiece measures a chunk. Lines are filled in by the caller, who knows the text.
func newPiece(ch *connector.Chunk, tokens connector.Counter) piece {
	text := ch.EmbedText()
	sum := sha256.Sum256([]byte(text))
	c := piece{
		Content: ch.Text, Context: ch.Context, Spans: ch.Spans, CtxSpans: ch.ContextSpans, Hash: sum[:],
		Chars: utf8.RuneCountInString(ch.Text), Headings: clippedAll(ch.Headings), Page: ch.Page, Language: ch.Language,
		StoreOnly: ch.StoreOnly, Late: ch.Late, Metadata: ch.Metadata, Vector: ch.Vector,
	}
	if ch.Tokens > 0 && ch.TokenUnit == tokens.Name() {
		c.Tokens = ch.Tokens
	} else {
		c.Tokens = tokens.Count(text)
	}
	if ch.ForcedSplit || ch.Rendered || ch.Generated {
		c.Metadata = maps.Clone(c.Metadata)
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		flag(c.Metadata, "forced_split", ch.ForcedSplit)
		flag(c.Metadata, "rendered", ch.Rendered)
		flag(c.Metadata, "generated", ch.Generated)
	}
	return c
}

func flag(m map[string]any, key string, on bool) {
	if on {
		m[key] = true
	}
}

// base is what the records of one document share.
type base struct {
	pipeline, source, path string
	docID                  string
	metadata               map[string]any
	total, stored          int // chunks that are embedded, and those that are only stored
}

// newBase fills the metadata that belong to the document.
func newBase(file *config.File, source string, doc *connector.Document, f *facts, rt *route, title string, props map[string]any, modified time.Time) *base {
	b := &base{pipeline: file.Name, source: source, path: doc.Path, docID: connector.DocID(file.Name, source, doc.Path).String()}
	m := map[string]any{}
	for k, v := range props {
		m[k] = clipped(v)
	}
	maps.Copy(m, doc.Metadata)
	for _, key := range file.FrontMatter {
		if v, ok := f.Front[key]; ok {
			m[key] = v
		}
	}
	maps.Copy(m, rt.metadata)
	for k, v := range m {
		if clean, changed := withoutNUL(v); changed {
			m[k] = clean
		}
	}
	for _, own := range []map[string]any{props, doc.Metadata} {
		if t, ok := own["title"].(string); ok && title == "" {
			title = strings.TrimSpace(t)
		}
	}
	title = clip(strings.ReplaceAll(title, "\x00", ""))
	if title == "" {
		title = strings.TrimSuffix(path.Base(doc.Path), path.Ext(doc.Path))
	}
	m["source"], m["path"], m["uri"], m["title"] = source, doc.Path, doc.URI, title
	m["media_type"], m["language"], m["strategy"] = f.MediaType, f.Language, rt.kind
	m["doc_id"], m["pipeline"] = b.docID, file.Name
	m["modified_at"] = modified.UTC().Format(time.RFC3339Nano)
	flag(m, "degraded", f.Degraded != "")
	b.metadata = m
	return b
}

// What a document says about itself, and the headings above a chunk, go into the metadata of each chunk, so that they have bounds: bytes of a
// text, and items of a list. The whole of a heading stands in the content.
const (
	maxSaid      = 1000
	maxSaidItems = 100
)

// clip is s with at most maxSaid bytes.
func clip(s string) string {
	if len(s) <= maxSaid {
		return s
	}
	n := maxSaid - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// clippedAll are headings within the bound; those that are take no copy.
func clippedAll(list []string) []string {
	if !slices.ContainsFunc(list, func(s string) bool { return len(s) > maxSaid }) {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = clip(s)
	}
	return out
}

// clipped is a property within the bounds.
func clipped(v any) any {
	switch v := v.(type) {
	case string:
		return clip(v)
	case []any:
		out := make([]any, min(len(v), maxSaidItems))
		for i := range out {
			out[i] = clipped(v[i])
		}
		return out
	}
	return v
}

// withoutNUL removes NUL from strings, at any depth: parsers remove it from texts, but front matter and tags can spell it, and some databases
// cannot store it. The value that it is given stays as it is.
func withoutNUL(v any) (clean any, changed bool) {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", ""), strings.Contains(v, "\x00")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			c, one := withoutNUL(v[i])
			out[i], changed = c, changed || one
		}
		return out, changed
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			c, one := withoutNUL(e)
			key := strings.ReplaceAll(k, "\x00", "")
			out[key], changed = c, changed || one || key != k
		}
		return out, changed
	}
	return v, false
}

// record is the piece at its place.
func (b *base) record(c *piece, at place) connector.Record {
	m := make(map[string]any, len(b.metadata)+len(c.Metadata)+14)
	maps.Copy(m, c.Metadata)
	maps.Copy(m, b.metadata) // the document's own keys win over a strategy's
	hash := hex.EncodeToString(c.Hash)
	parent := ""
	if c.Parent != (connector.UUID{}) {
		parent = c.Parent.String()
	}
	headings := c.Headings
	if headings == nil {
		headings = []string{}
	}
	m["section"], m["headings"] = strings.Join(c.Headings, " > "), headings
	m["page"], m["line_start"], m["line_end"] = c.Page, c.LineStart, c.LineEnd
	total := b.total
	if c.StoreOnly {
		total = b.stored
	}
	m["chunk_index"], m["total_chunks"] = at.index, total
	m["is_first_chunk"], m["is_last_chunk"] = at.index == 0, at.index == total-1
	m["parent_id"], m["prev_id"], m["next_id"], m["content_hash"] = parent, at.prev, at.next, hash
	if c.Language != "" {
		m["language"] = c.Language
	}
	if c.Keywords != nil {
		m[keywordsMetadata] = c.Keywords
	}
	return connector.Record{
		ChunkID: c.ID.String(), DocID: b.docID, Source: b.source, Path: b.path, Content: c.Content, Context: c.Context,
		EmbedText: c.embedText(), ParentID: parent, Spans: c.Spans, ContextSpans: nonNil(c.CtxSpans), CharCount: c.Chars, TokenCount: c.Tokens,
		ContentHash: hash, Metadata: m,
	}
}

// decodePiece reads a spooled piece; numbers keep their exact values.
func decodePiece(item []byte) (*piece, error) {
	pc := new(piece)
	d := json.NewDecoder(bytes.NewReader(item))
	d.UseNumber()
	if err := d.Decode(pc); err != nil {
		return nil, err
	}
	for k, v := range pc.Metadata {
		pc.Metadata[k] = plainNumbers(v)
	}
	return pc, nil
}

// plainNumbers turns json.Number into int64 or float64, at any depth.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

func nonNil(s []connector.Span) []connector.Span {
	if s == nil {
		return []connector.Span{}
	}
	return s
}

// payloadHash is the identity of all that a sink stores of a record beside its vector. The same record read back from a sink
// has the same hash: values are compared in their JSON form, keys in order.
func payloadHash(r *connector.Record) [16]byte {
	plain := *r
	plain.Spans, plain.ContextSpans = nonNil(r.Spans), nonNil(r.ContextSpans) // no list and an empty one are the same
	b, err := json.Marshal(plain)
	if err != nil {
		b = []byte(err.Error()) // metadata that JSON cannot hold never reach a sink
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}
