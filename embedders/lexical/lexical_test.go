package lexical

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedtest"
)

func open(tb testing.TB, dims int) *Embedder {
	tb.Helper()
	e, err := Open(Config{Dimensions: dims})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func embed(tb testing.TB, e *Embedder, text string) []float32 {
	tb.Helper()
	v, err := e.EmbedQuery(tb.Context(), text)
	if err != nil {
		tb.Fatalf("%q: %v", text, err)
	}
	return v
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestNearer(t *testing.T) {
	e := open(t, 0)
	for _, tt := range []struct{ text, near, far string }{
		{"How do I rotate the API key?", "Rotating API keys: open the console and press rotate.", "Bananas are rich in potassium."},
		{"重庆大学在哪里？", "重庆大学位于中国重庆市。", "香蕉含有丰富的钾。"},
		{"vector database", "databases for vectors", "a recipe for soup"},
		{"ＦＵＬＬ Ｗｉｄｔｈ", "full width", "half empty"},
		{"обновление индекса", "индекс обновлён", "погода завтра"},
	} {
		v := embed(t, e, tt.text)
		if near, far := cosine(v, embed(t, e, tt.near)), cosine(v, embed(t, e, tt.far)); near < far+0.1 {
			t.Errorf("%q: %.3f to %q, %.3f to %q", tt.text, near, tt.near, far, tt.far)
		}
	}
}

func TestUnitVectors(t *testing.T) {
	e := open(t, 64)
	for _, text := range []string{"a", "!!!", "。", "🦊", "猫", "\u200d", "\xff", "the", "x²", "0", strings.Repeat("word ", 100_000), strings.Repeat("z", 1<<20)} {
		if n := cosine(embed(t, e, text), embed(t, e, text)); math.Abs(n-1) > 1e-5 {
			t.Errorf("%.20q: squared length %v", text, n)
		}
	}
}

func TestBlankIsRefused(t *testing.T) {
	e := open(t, 64)
	for _, text := range []string{"", " \n\t\u3000"} {
		if _, err := e.EmbedQuery(t.Context(), text); connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	vectors, err := e.Embed(t.Context(), []string{"a", "", "b"})
	var batch *connector.BatchError
	if !errors.As(err, &batch) || len(batch.Items) != 1 || batch.Items[1] == nil || len(vectors) != 3 || vectors[0] == nil || vectors[1] != nil || vectors[2] == nil {
		t.Errorf("%v, %v", vectors, err)
	}
}

// A vector must be the same on every machine and in every release of this version: this digest never changes unless version does.
func TestGolden(t *testing.T) {
	e := open(t, DefaultDimensions)
	h := sha256.New()
	for _, text := range []string{"The quick brown fox jumps over the lazy dog, and the dog sleeps.", "敏捷的棕色狐狸跳过了懒狗。Go语言 1.26", "!!!"} {
		for _, x := range embed(t, e, text) {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
	}
	const want = "08de96b332121c9e"
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want {
		t.Errorf("digest %s, want %s: raise version if the change is meant", got, want)
	}
}

func TestDamped(t *testing.T) {
	for n := uint32(1); n < 100_000; n = n*3/2 + 1 {
		if got, want := float64(damped(n))/16, 1+math.Log(float64(n)); math.Abs(got-want) > 0.25 {
			t.Errorf("damped(%d) = %v, want about %v", n, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	for dims, ok := range map[int]bool{0: true, 15: false, 16: true, 16384: true, 16385: false, -1: false} {
		if _, err := Open(Config{Dimensions: dims}); (err == nil) != ok {
			t.Errorf("dimensions %d: %v", dims, err)
		}
	}
	p := Plugin()
	e, err := p.Open(t.Context(), p.Config(), connector.Env{})
	if err != nil || e.Model().Dimensions != DefaultDimensions {
		t.Errorf("%+v, %v", e, err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	for _, tt := range []struct{ name, text string }{
		{"en", strings.Repeat("Every chunk of a document gets a vector, and the vectors of equal models may be compared with each other; nothing else can be. ", 8)},
		{"zh", strings.Repeat("每个文档片段都会得到一个向量，只有同一模型的向量才能相互比较，否则结果毫无意义。", 8)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			e := open(b, 0)
			texts := slices.Repeat([]string{tt.text}, 32)
			b.SetBytes(int64(len(texts) * len(tt.text)))
			for b.Loop() {
				if _, err := e.Embed(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestConformance(t *testing.T) {
	for _, dims := range []int{0, 64, 1024} {
		embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, dims) }, embedtest.Options{})
	}
}
