package pgvector

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Columns that people have no use for.
const (
	colExact    = "kbsync_exact"    // metadata as JSON, where jsonb would change a number
	colTerms    = "kbsync_terms"    // what filters look for, but for
	colShifting = "kbsync_shifting" // what changes when a neighbour does: not indexed, so that such a change touches no index
	colWords    = "kbsync_words"    // the words' numbers, as the index looks for them
	colWeights  = "kbsync_weights"  // their weights in BM25
)

// sparseDimensions is how many numbers words have: pgvector takes 1,000,000,000, so the numbers of 31 bits lose two.
const sparseDimensions = 1 << 29

// field is a column whose name the configuration can change.
type field struct{ key, name, kind string }

func fields() []field {
	return []field{
		{"id", "id", "uuid"},
		{"doc_id", "doc_id", "text NOT NULL"},
		{"source", "source", "text NOT NULL"},
		{"path", "path", "text NOT NULL"},
		{"parent_id", "parent_id", "text NOT NULL"},
		{"content_hash", "content_hash", "text NOT NULL"},
		{"title", "title", "text"},
		{"section", "section", "text"},
		{"language", "language", "text"},
		{"uri", "uri", "text"},
		{"pipeline", "pipeline", "text"},
		{"page", "page", "int"},
		{"chunk_index", "chunk_index", "int"},
		{"total_chunks", "total_chunks", "int"},
		{"char_count", "char_count", "bigint NOT NULL"},
		{"token_count", "token_count", "bigint NOT NULL"},
		{"spans", "spans", "jsonb"},
		{"context_spans", "context_spans", "jsonb"},
		{"content", "content", "text NOT NULL"},
		{"context", "context", "text NOT NULL"},
		{"embed_text", "embed_text", "text"}, // NULL where it is context and content
		{"metadata", "metadata", "jsonb"},
		{"vector", "embedding", "vector"},
	}
}

// presets are the names that the Python packages langchain-postgres and llama-index-vector-stores-postgres read by default.
func presets() map[string]map[string]string {
	return map[string]map[string]string{
		"langchain":  {"id": "langchain_id", "content": "content", "vector": "embedding", "metadata": "langchain_metadata"},
		"llamaindex": {"id": "node_id", "content": "text", "vector": "embedding", "metadata": "metadata_"},
	}
}

// column is a column as it is written. UpdatePayload writes those of the payload.
type column struct {
	name, kind string
	payload    bool
}

// layout is the shape of the tables, by the configuration.
type layout struct {
	version string
	names   map[string]string // by key
	columns []column          // in the order of row.values
	idKind  string            // type of the id
	serial  string            // a further column that LlamaIndex wants
	words   bool
}

func (c *Config) layout() (*layout, error) {
	names := map[string]string{}
	for _, f := range fields() {
		names[f.key] = f.name
	}
	names, err := c.Fields.Resolve(names, presets())
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		name := names[key]
		switch {
		case len(name) > maxIdentifier || strings.ContainsRune(name, 0):
			return nil, fmt.Errorf("fields: the name for %s has more than %d bytes, or a NUL", key, maxIdentifier)
		case strings.HasPrefix(name, "kbsync_") || slices.Contains([]string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}, name):
			return nil, fmt.Errorf("fields: the name %q for %s is taken", name, key)
		}
	}
	version := "pgvector1"
	if c.Fields.Preset == "llamaindex" {
		version = versionLlamaIndex
	}
	return newLayout(version, names, c.Sparse != "none"), nil
}

// versionLlamaIndex is the shape for LlamaIndex, which reads ids as strings and wants a number as the key.
const versionLlamaIndex = "pgvector1-llamaindex"

func newLayout(version string, names map[string]string, words bool) *layout {
	l := &layout{version: version, names: names, idKind: "uuid", words: words}
	if version == versionLlamaIndex {
		l.idKind, l.serial = `varchar COLLATE "C"`, "id"
	}
	for _, f := range fields() {
		switch f.key {
		case "id":
			f.kind = l.idKind
		case "vector":
			continue
		}
		l.columns = append(l.columns, column{names[f.key], f.kind, true})
	}
	l.columns = append(l.columns, column{colExact, "text", true}, column{colTerms, "text[]", true}, column{colShifting, "text[]", true}, column{names["vector"], "vector", false})
	if l.words {
		l.columns = append(l.columns, column{colWords, "int[]", false}, column{colWeights, fmt.Sprintf("sparsevec(%d)", sparseDimensions), false})
	}
	return l
}

// layoutOf is the shape of an existing table, which may differ from that of the configuration: a live table is queried, and read for
// its vectors, while the next one is built. It reads what [remote.Common.Layout] wrote.
func layoutOf(written string) (*layout, error) {
	head, names, _ := strings.Cut(written, " {")
	version, sparse, _ := strings.Cut(head, " sparse=")
	all := map[string]string{}
	if err := json.Unmarshal([]byte("{"+names), &all); err != nil || version != "pgvector1" && version != versionLlamaIndex {
		return nil, connector.Errorf(connector.ClassConflict, "the table was made by another version of kbsync, with layout %q: upgrade kbsync", written)
	}
	for _, f := range fields() {
		if all[f.key] == "" {
			return nil, connector.Errorf(connector.ClassConflict, "the table's layout %q has no %s", written, f.key)
		}
	}
	return newLayout(version, all, sparse != "none"), nil
}

// id and vector are the quoted names of columns.
func (l *layout) id() string     { return quote(l.names["id"]) }
func (l *layout) vector() string { return quote(l.names["vector"]) }

// idType is the type of the id, to cast parameters to.
func (l *layout) idType() string { return strings.Fields(l.idKind)[0] }

// ddl makes a table. A row's texts, metadata and vector lie beside it (a small toast_tuple_target), and half of a page stays free:
// so a change of positions alone finds room on the row's own page and touches no index (a "heap-only tuple"), and filters read
// little.
func (l *layout) ddl(schema, table string, dimensions int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (", quote(schema, table))
	if l.serial != "" {
		fmt.Fprintf(&b, "%s bigint GENERATED ALWAYS AS IDENTITY, ", quote(l.serial))
	}
	for i, c := range l.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(c.name) + " " + l.kind(c, dimensions))
	}
	fmt.Fprintf(&b, ", CONSTRAINT %s PRIMARY KEY (%s)", quote(indexName(table, "pkey")), l.id())
	b.WriteString(") WITH (fillfactor = 50, toast_tuple_target = 512)")
	return b.String()
}

func (l *layout) kind(c column, dimensions int) string {
	if c.kind == "vector" {
		return fmt.Sprintf("vector(%d)", dimensions)
	}
	return c.kind
}

// incoming makes the temporary table that batches are copied into; its rows are left whole.
func (l *layout) incoming(columns []column, dimensions int) string {
	defs := make([]string, len(columns))
	for i, c := range columns {
		defs[i] = quote(c.name) + " " + l.kind(c, dimensions)
	}
	return "CREATE TEMP TABLE kbsync_incoming (" + strings.Join(defs, ", ") + ") WITH (toast_tuple_target = 8160) ON COMMIT DROP"
}

// payload are the columns that UpdatePayload writes.
func (l *layout) payload() []column {
	return slices.DeleteFunc(slices.Clone(l.columns), func(c column) bool { return !c.payload })
}

// assignments are those of an UPDATE of t by n. An equal value stays the old one, byte for byte: only then is it neither stored
// anew beside the row nor taken for a change by the indexes.
func assignments(columns []column, n string) string {
	out := make([]string, 0, len(columns))
	for _, c := range columns[1:] {
		name := quote(c.name)
		out = append(out, fmt.Sprintf("%[1]s = CASE WHEN t.%[1]s IS DISTINCT FROM %[2]s.%[1]s THEN %[2]s.%[1]s ELSE t.%[1]s END", name, n))
	}
	return strings.Join(out, ", ")
}

// differs is the condition under which a row is written at all.
func differs(columns []column, n string) string {
	out := make([]string, 0, len(columns))
	for _, c := range columns[1:] {
		out = append(out, fmt.Sprintf("t.%[1]s IS DISTINCT FROM %[2]s.%[1]s", quote(c.name), n))
	}
	return strings.Join(out, " OR ")
}

func list(columns []column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = quote(c.name)
	}
	return strings.Join(out, ", ")
}

func namesOf(columns []column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.name
	}
	return out
}
