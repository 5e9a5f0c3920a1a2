package modelfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

func vocabularySections(v *wordpieces.Vocabulary) ([]section, error) {
	var pieces, lengths, scores, chars []byte
	for i, p := range v.Pieces {
		if len(p) > math.MaxUint16 {
			return nil, fmt.Errorf("modelfile: the piece %d has %d bytes", i, len(p))
		}
		pieces = append(pieces, p...)
		lengths = binary.LittleEndian.AppendUint16(lengths, uint16(len(p)))
	}
	for _, s := range v.Scores {
		scores = binary.LittleEndian.AppendUint32(scores, math.Float32bits(s))
	}
	for _, m := range v.Charmap {
		if len(m.To) > math.MaxUint8 {
			return nil, fmt.Errorf("modelfile: U+%04X becomes %d bytes", m.From, len(m.To))
		}
		chars = append(append(binary.LittleEndian.AppendUint32(chars, uint32(m.From)), byte(len(m.To))), m.To...)
	}
	return []section{
		{Name: piecesSection, data: pieces}, {Name: lengthsSection, data: lengths},
		{Name: scoresSection, data: scores}, {Name: charmapSection, data: chars},
	}, nil
}

func parseVocabulary(v *wordpieces.Vocabulary, meta *vocabularyMeta, sections map[string][]byte) error {
	*v = wordpieces.Vocabulary{
		Kind: meta.Kind, Name: meta.Name, UnknownScore: meta.UnknownScore, Begin: meta.Begin, End: meta.End, Pad: meta.Pad,
		Unknown: meta.Unknown, Others: meta.Others, Lowercase: meta.Lowercase,
	}
	lengths, scores := sections[lengthsSection], sections[scoresSection]
	if meta.Pieces < 0 || meta.Pieces > maxRows || len(lengths) != 2*meta.Pieces {
		return fmt.Errorf("%d bytes of lengths for %d pieces", len(lengths), meta.Pieces)
	}
	if meta.Kind == wordpieces.Unigram && len(scores) != 4*meta.Pieces {
		return fmt.Errorf("%d bytes of scores for %d pieces", len(scores), meta.Pieces)
	}
	text := string(sections[piecesSection]) // one string, which all pieces share
	v.Pieces = make([]string, meta.Pieces)
	for i := range v.Pieces {
		n := int(binary.LittleEndian.Uint16(lengths[2*i:]))
		if n > len(text) {
			return fmt.Errorf("piece %d has %d bytes where %d are left", i, n, len(text))
		}
		v.Pieces[i], text = text[:n], text[n:]
	}
	if len(scores) > 0 {
		v.Scores = make([]float32, len(scores)/4)
		for i := range v.Scores {
			v.Scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(scores[4*i:]))
		}
	}
	r := &reader{data: sections[charmapSection]}
	for r.pos < len(r.data) && r.err == nil {
		from := rune(r.u32())
		v.Charmap = append(v.Charmap, wordpieces.Mapping{From: from, To: strings.Clone(string(r.bytes(int(r.u8()))))})
	}
	return r.err
}
