package modelfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Fingerprint names, in 16 hexadecimal digits, all that decides what vector a text gets: the config, the weights and the vocabulary. Two
// models of one name that were pruned or quantised otherwise have two; a model and what Parse reads of it have one.
func (m *Model) Fingerprint() (string, error) {
	c := m.Config
	c.Notice = ""
	config, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("modelfile: fingerprint: %w", err)
	}
	sections, err := vocabularySections(&m.Vocabulary)
	if err != nil {
		return "", err
	}
	v := &m.Vocabulary
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s %g %d %v %t\n", config, v.Kind, v.UnknownScore, []int32{v.Begin, v.End, v.Pad, v.Unknown}, v.Others, v.Lowercase)
	for _, s := range sections {
		_, _ = fmt.Fprintf(h, "%q %08x\n", s.Name, checksum(s.data))
	}
	for i := range m.Tensors {
		t := &m.Tensors[i]
		sum, ok := m.sums[t.Name]
		if !ok {
			sum = checksum(t.Data)
		}
		_, _ = fmt.Fprintf(h, "%q %s %d %d %08x\n", t.Name, t.Encoding, t.Rows, t.Cols, sum)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
