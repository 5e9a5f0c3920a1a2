package weaviate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// maxName leaves room for the generation in a class name, of which 255 characters are allowed.
const maxName = 200

// className is the class for a collection: as it is but for a capital first letter where it is a GraphQL name. Other
// characters become underscores, and a hash of the name tells apart what would be equal then.
func className(collection string) string {
	var b strings.Builder
	changed := false
	for _, r := range collection {
		switch {
		case r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
			changed = true
		}
	}
	name := b.String()
	switch {
	case name != "" && name[0] >= 'a' && name[0] <= 'z':
		name = strings.ToUpper(name[:1]) + name[1:]
	case name == "" || name[0] < 'A' || name[0] > 'Z':
		name, changed = "C"+name, true
	}
	if changed || len(name) > maxName {
		sum := sha256.Sum256([]byte(collection))
		hash := "_" + hex.EncodeToString(sum[:4])
		name = name[:min(len(name), maxName-len(hash))] + hash
	}
	return name
}

// kbsync's own names of the fields. Those that begin with kbsync_ in the database are for kbsync alone.
const (
	fieldContent     = "content"
	fieldContext     = "context"
	fieldEmbedText   = "embed_text"
	fieldDocID       = "doc_id"
	fieldSource      = "source"
	fieldPath        = "path"
	fieldParentID    = "parent_id"
	fieldContentHash = "content_hash"
	fieldRecord      = "record"     // the exact rest of the record, as JSON
	fieldTerms       = "terms"      // what filters look for
	fieldWords       = "words"      // what lexical search looks for
	fieldSearchable  = "searchable" // false for store-only points
	fieldVector      = "vector"     // a named vector, or the class's unnamed one
)

// metadataTexts and metadataInts are the keys of metadata that stand in properties of their own, if their values have that type.
func metadataTexts() []string { return []string{"section", "language", "pipeline", "title", "uri"} }
func metadataInts() []string  { return []string{"page", "chunk_index"} }

func defaultNames() map[string]string {
	names := map[string]string{
		fieldRecord: "kbsync_record", fieldTerms: "kbsync_terms", fieldWords: "kbsync_words", fieldSearchable: "kbsync_searchable", fieldVector: "",
	}
	for _, list := range [][]string{
		{fieldContent, fieldContext, fieldEmbedText, fieldDocID, fieldSource, fieldPath, fieldParentID, fieldContentHash}, metadataTexts(), metadataInts(),
	} {
		for _, f := range list {
			names[f] = f
		}
	}
	return names
}

// presets: langchain-weaviate and llama-index-vector-stores-weaviate both read the text from "text" (LangChain by its text_key),
// every other property as metadata, and the unnamed vector.
func presets() map[string]map[string]string {
	return map[string]map[string]string{
		"langchain":  {fieldContent: "text"},
		"llamaindex": {fieldContent: "text"},
	}
}

var propertyName = regexp.MustCompile(`^[_a-z][_0-9A-Za-z]{0,230}$`)

func reservedNames() []string { return []string{"id", "_id", "_additional", "vector", "vectors"} }

// fieldNames resolves the configured names.
func fieldNames(f remote.Fields) (map[string]string, error) {
	names, err := f.Resolve(defaultNames(), presets())
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	for _, own := range slices.Sorted(maps.Keys(names)) {
		name := names[own]
		switch {
		case own == fieldVector && name == "":
		case !propertyName.MatchString(name):
			return nil, fmt.Errorf("weaviate: fields: the name %q for %s: want a small letter or _, then letters, digits and _ (Weaviate makes the first letter small)", name, own)
		case own != fieldVector && slices.Contains(reservedNames(), name):
			return nil, fmt.Errorf("weaviate: fields: the name %q for %s is reserved by Weaviate", name, own)
		}
	}
	return names, nil
}

// mapping is what becomes of texts and metadata.
func mapping() *connector.Mapping {
	values := map[connector.ValueKind]connector.Treatment{}
	for _, kind := range []connector.ValueKind{
		connector.ValueNull, connector.ValueBool, connector.ValueInt, connector.ValueBigInt, connector.ValueFloat, connector.ValueString,
		connector.ValueDate, connector.ValueList, connector.ValueMixed, connector.ValueNested,
	} {
		values[kind] = connector.TreatKept
	}
	return &connector.Mapping{
		Values:         values,
		MaxTextBytes:   maxTextBytes,
		MaxRecordBytes: maxBlobBytes,
		Notes: []string{
			"section, language, pipeline, title and uri as texts, page and chunk_index as whole numbers below 2^53 stand in properties of their own too",
			"filters on metadata compare exactly, by kbsync_terms",
			"ids are UUIDs",
			"a class name is the collection with a capital first letter; other characters than letters, digits and _ become _ and a hash",
			"a request is at most 100 MiB by the server's default",
		},
	}
}
