package connector

import (
	"crypto/sha1" //nolint:gosec // UUIDv5 is defined over SHA-1 (RFC 9562); no security rests on it.
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// UUID is a 128-bit identifier (RFC 9562).
type UUID [16]byte

// rootNamespace is the fixed namespace under which every pipeline's own one lies.
var rootNamespace = UUID{0x6b, 0x62, 0x73, 0x79, 0x6e, 0x63, 0x50, 0x00, 0x80, 0x00, 0x6e, 0x61, 0x6d, 0x65, 0x73, 0x70}

// NewUUID5 is the version 5 UUID of name under namespace (RFC 9562 section 5.5).
func NewUUID5(namespace UUID, name string) UUID {
	h := sha1.New() //nolint:gosec // see the import
	h.Write(namespace[:])
	h.Write([]byte(name))
	var u UUID
	copy(u[:], h.Sum(nil))
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u
}

// String is the canonical form, 36 characters in lower case.
func (u UUID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// MarshalText is String.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the canonical form.
func (u *UUID) UnmarshalText(b []byte) error {
	v, err := ParseUUID(string(b))
	*u = v
	return err
}

// ParseUUID reads the canonical form, in either case.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		if _, err := hex.Decode(u[:], []byte(s[0:8]+s[9:13]+s[14:18]+s[19:23]+s[24:36])); err == nil {
			return u, nil
		}
	}
	return UUID{}, fmt.Errorf("connector: %q is no UUID", s)
}

// PipelineNamespace is the namespace of all ids of the pipeline of that name.
func PipelineNamespace(pipeline string) UUID { return NewUUID5(rootNamespace, pipeline) }

// DocID identifies a document by pipeline, source name and path inside the source. The parts are joined by
// NUL, which no name may hold, so that no two triples collide.
func DocID(pipeline, source, path string) UUID {
	return NewUUID5(PipelineNamespace(pipeline), "doc\x00"+source+"\x00"+path)
}

// ChunkIDByContent is the default chunk id: document, hash of what is embedded, and the n-th (from 0)
// occurrence of that hash in the document, so that an edit changes only the ids of the chunks it touches.
func ChunkIDByContent(pipeline string, doc UUID, contentHash string, n int) UUID {
	return NewUUID5(PipelineNamespace(pipeline), doc.String()+contentHash+strconv.Itoa(n))
}

// ChunkIDByPosition is the id under `ids: position`: document and index.
func ChunkIDByPosition(pipeline string, doc UUID, index int) UUID {
	return NewUUID5(PipelineNamespace(pipeline), doc.String()+"_chunk_"+strconv.Itoa(index))
}

// ContentHash is the SHA-256 of the embedded text, in lower-case hex.
func ContentHash(embedText string) string {
	sum := sha256.Sum256([]byte(embedText))
	return hex.EncodeToString(sum[:])
}
