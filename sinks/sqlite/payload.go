package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/payload"
)

// parseID reads a UUID in its canonical form; no other form would come back as it was.
func parseID(s string) ([]byte, error) {
	id := make([]byte, 16)
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		if _, err := hex.Decode(id, []byte(s[0:8]+s[9:13]+s[14:18]+s[19:23]+s[24:36])); err == nil && formatID(id) == s {
			return id, nil
		}
	}
	return nil, connector.Errorf(connector.ClassInvalid, "chunk id %q is not a UUID in lower case", s)
}

func formatID(id []byte) string {
	var u connector.UUID
	copy(u[:], id)
	return u.String()
}

// encodeSpans is JSON, or NULL for nil.
func encodeSpans(spans []connector.Span) any {
	if spans == nil {
		return nil
	}
	b := []byte{'['}
	for i, s := range spans {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(s.Start), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(s.End), 10)
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

func decodeSpans(raw []byte) ([]connector.Span, error) {
	if raw == nil {
		return nil, nil
	}
	spans := []connector.Span{}
	if err := json.Unmarshal(raw, &spans); err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	return spans, nil
}

// encodeMetadata is JSON without white space, keys in order, or NULL for nil. Floats keep a point or an exponent, so
// that they come back as floats and whole numbers as int64.
func encodeMetadata(m map[string]any) (any, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	b, err := payload.AppendJSON(nil, m)
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "metadata: %w", err)
	}
	return string(b), nil
}

func decodeMetadata(raw []byte) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	v, err := payload.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("metadata is a %T", v)
	}
	return m, nil
}
