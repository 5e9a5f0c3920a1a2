package modelfile

import (
	"math"
	"reflect"
	"testing"
)

func TestQuantize(t *testing.T) {
	m := small()
	q, err := m.Quantize()
	if err != nil {
		t.Fatal(err)
	}
	worst, eighths := 0.0, 0
	for i := range m.Tensors {
		a, b := m.Tensors[i].Floats(), q.Tensors[i].Floats()
		if q.Tensors[i].Encoding == Q8 {
			eighths++
		}
		for j := range a {
			worst = max(worst, math.Abs(float64(a[j]-b[j])))
		}
	}
	if worst > 0.5/127+1e-6 || worst == 0 || eighths != 1+2*6 {
		t.Errorf("off by %g, %d matrices", worst, eighths)
	}
	if back, err := Parse(written(t, q)); err != nil || !reflect.DeepEqual(back.Tensors, q.Tensors) {
		t.Error(err)
	}
}

func TestPrune(t *testing.T) {
	m := small()
	keep, err := Scripts([]string{"Latin", "Han"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Prune(keep)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"<s>", "<pad>", "</s>", "<unk>", "<mask>", "п", "▁", "▁hello", "中文"}
	v := &p.Vocabulary
	if !reflect.DeepEqual(v.Pieces, want) || v.UnknownScore != -20 || v.Others[0] != 4 {
		t.Errorf("%q", v.Pieces)
	}
	was, _ := m.Tensor(WordTable)
	is, _ := p.Tensor(WordTable)
	for i, piece := range v.Pieces {
		for j, old := range m.Vocabulary.Pieces {
			if old == piece && (!reflect.DeepEqual(was.Row(j, make([]float32, 32)), is.Row(i, make([]float32, 32))) || m.Vocabulary.Scores[j] != v.Scores[i]) {
				t.Errorf("%q has another row", piece)
			}
		}
	}
	if len(m.Vocabulary.Pieces) != 10 || was.Rows != 10 {
		t.Error("the model itself was changed")
	}
	if _, err := Scripts([]string{"Latvian"}); err == nil {
		t.Error("a script that isn't")
	}
	size, _ := m.Size()
	if s, err := m.Shrink(size); err != nil || s != m {
		t.Error(err)
	}
	if _, err := m.Shrink(1000); err == nil {
		t.Error("nothing fits in 1000 bytes")
	}
}

func TestFingerprint(t *testing.T) {
	m := small()
	want, err := m.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(written(t, m))
	if err != nil {
		t.Fatal(err)
	}
	back.Config.Notice = "another"
	if got, err := back.Fingerprint(); err != nil || got != want || len(got) != 16 {
		t.Errorf("%q, %v: want %q", got, err, want)
	}
	seen := map[string]bool{want: true}
	for i, change := range []func(*Model){
		func(m *Model) { m.Config.Pooling = "cls" },
		func(m *Model) { m.Config.QueryPrefix = "q: " },
		func(m *Model) { m.Vocabulary.Scores[5]-- },
		func(m *Model) { m.Vocabulary.Pieces[5] = "文中" },
		func(m *Model) { m.Vocabulary.End = 1 },
		func(m *Model) { m.Tensors[3].Data[0] ^= 1 },
	} {
		m := small()
		change(m)
		got, err := m.Fingerprint()
		if err != nil || seen[got] {
			t.Errorf("change %d: %q, %v", i, got, err)
		}
		seen[got] = true
	}
}
