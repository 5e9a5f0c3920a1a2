package milvus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Limits of Milvus, and of rows here.
const (
	maxDimensions = 32768
	maxVarChar    = 65535 // bytes
	maxHits       = 16384 // of a search or a query
	maxEf         = 32768
	maxName       = 255
	maxTerms      = 4096 // capacity of an array
	maxTermBytes  = 512
	maxText       = 2 << 20
	maxMetadata   = 1 << 20
	maxRow        = 4 << 20 // the log of Milvus takes messages of up to 5 MB
	batchItems    = 1000
	batchBytes    = 16 << 20
)

// Fields that people and other programs do not read have fixed names.
const (
	fieldSearchable = "kbsync_searchable" // false: the point is stored only, and its vector a placeholder
	fieldTerms      = "kbsync_terms"      // what metadata filters ask for
	fieldRest       = "kbsync_rest"       // what stands in no field of its own, as JSON in pieces
)

// fields are the names of the fields that the configuration may change.
type fields struct{ names map[string]string }

func (f fields) of(own string) string { return f.names[own] }

// visible are the string fields taken from the record and its metadata, with their limits in bytes.
func visible() []textField {
	return []textField{
		{"doc_id", 256}, {"source", 512}, {"path", 4096}, {"parent_id", 256}, {"content_hash", 256},
		{"title", 1024}, {"section", 2048}, {"language", 64}, {"uri", 4096}, {"pipeline", 256}, {"strategy", 64},
	}
}

type textField struct {
	own   string
	limit int
}

func limitOf(own string) int {
	for _, f := range visible() {
		if f.own == own {
			return f.limit
		}
	}
	return maxVarChar
}

func numeric() []string { return []string{"page", "chunk_index"} }

// fieldNames resolves the key fields.
func fieldNames(c *remote.Common) (fields, error) {
	own := map[string]string{"id": "id", "vector": "vector", "sparse": "sparse", "content": "content", "context": "context"}
	for _, f := range visible() {
		own[f.own] = f.own
	}
	for _, n := range numeric() {
		own[n] = n
	}
	names, err := c.Fields.Resolve(own, map[string]map[string]string{
		"langchain":  {"id": "pk", "content": "text"},
		"llamaindex": {"vector": "embedding", "content": "text", "sparse": "sparse_embedding"},
	})
	if err != nil {
		return fields{}, fmt.Errorf("milvus: %w", err)
	}
	for own, name := range names {
		if !identifier.MatchString(name) || len(name) > maxName || strings.HasPrefix(name, "kbsync_") {
			return fields{}, fmt.Errorf("milvus: fields: the name %q for %s: want letters, digits and underscores, at most %d, not starting with a digit or kbsync_", name, own, maxName)
		}
	}
	return fields{names}, nil
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	noLetter   = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// collectionName makes a name that Milvus takes: letters, digits and underscores. A name that has to be changed gets a hash of the
// original, so that two different ones never meet. Room for the generation is left.
func collectionName(configured string) string {
	const room = maxName - 20
	if identifier.MatchString(configured) && len(configured) <= room {
		return configured
	}
	sum := sha256.Sum256([]byte(configured))
	name := strings.Trim(noLetter.ReplaceAllString(configured, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "c" + name
	}
	return name[:min(len(name), room-9)] + "_" + hex.EncodeToString(sum[:4])
}

// mapping is what becomes of texts and metadata.
func mapping() *connector.Mapping {
	kept := map[connector.ValueKind]connector.Treatment{}
	for _, k := range []connector.ValueKind{connector.ValueNull, connector.ValueBool, connector.ValueInt, connector.ValueBigInt, connector.ValueFloat,
		connector.ValueString, connector.ValueDate, connector.ValueList, connector.ValueMixed, connector.ValueNested} {
		kept[k] = connector.TreatKept
	}
	return &connector.Mapping{
		Values:         kept,
		MaxTextBytes:   maxText,
		MaxRecordBytes: maxMetadata,
		Notes: []string{
			"title, section, page, language, chunk_index, uri, pipeline and strategy stand in fields of their own, clipped to the field's size",
			"every scalar at the top level of the metadata, or in a list there, can be filtered by exactly, whatever its name and type; at most 4,096 of them in a chunk",
			"a text over 65,535 bytes is cut in its VARCHAR field, the rest lies in kbsync_rest: it comes back whole",
			"ids are UUIDs in a VARCHAR; collection names are changed to letters, digits and underscores",
		},
	}
}
