package wordpieces

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// small is a little Unigram vocabulary with the parts of XLM-RoBERTa's.
func small(tb testing.TB) Tokenizer {
	tb.Helper()
	v := &Vocabulary{Kind: Unigram, Name: "small", Begin: 0, Pad: 1, End: 2, Unknown: 3, UnknownScore: -30, Pieces: []string{"<s>", "<pad>", "</s>", "<unk>"}, Scores: make([]float32, 4)}
	add := func(score float32, pieces ...string) {
		for _, p := range pieces {
			v.Pieces, v.Scores = append(v.Pieces, p), append(v.Scores, score)
		}
	}
	add(-3, Mark+"hello", Mark+"wor", "ld", "中文", Mark+"fi", "é")
	add(-8, strings.Split(Mark+"abcdefghijklmnopqrstuvwxyz中文<>/", "")...)
	v.Charmap = []Mapping{{'\x01', ""}, {'\t', " "}, {'\n', " "}, {'´', " \u0301"}, {'\u3000', " "}, {'ﬁ', "fi"}, {'﷽', "a b"}, {'\uFFFD', " "}}
	tok, err := New(v)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

func uncased(tb testing.TB) Tokenizer {
	tb.Helper()
	v := &Vocabulary{Kind: WordPiece, Name: "uncased", Pad: 0, Unknown: 1, Begin: 2, End: 3, Lowercase: true}
	v.Pieces = append([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "wor", "##ld", "cafe", "中", "文", ",", "[", "]", "=", "##s", "sep"}, strings.Split("abcdefghijklm", "")...)
	tok, err := New(v)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// show writes ids and what they stand for.
func show(tok Tokenizer, text string, limit int) string {
	var v *Vocabulary
	switch t := tok.(type) {
	case *unigram:
		v = t.v
	case *bert:
		v = t.v
	}
	ids, spans := tok.Encode(text, limit)
	var out []string
	for i, id := range ids {
		out = append(out, v.Pieces[id]+"="+text[spans[i].Start:spans[i].End])
	}
	return strings.Join(out, "|")
}

func TestUnigram(t *testing.T) {
	tok := small(t)
	for _, c := range []struct{ text, want string }{
		{"", "<s>=|</s>="},
		{"hello world", "<s>=|▁hello=hello|▁wor=wor|ld=ld|</s>="},
		{"  hello \t\n  world ", "<s>=|▁hello=hello|▁wor=wor|ld=ld|▁= |</s>="},
		{"中文", "<s>=|▁=|中文=中文|</s>="},
		{"ﬁn", "<s>=|▁fi=ﬁ|n=n|</s>="},
		{"e\u0301", "<s>=|▁=|é=e\u0301|</s>="},         // composed first
		{"q\u0301", "<s>=|▁=|q=q|<unk>=\u0301|</s>="},  // nothing to compose
		{"a☃☃☂b", "<s>=|▁=|a=a|<unk>=☃☃☂|b=b|</s>="},   // one run, one unknown piece
		{"</s>", "<s>=|▁=|<=<|/=/|s=s|>=>|</s>="},      // a text cannot end itself
		{"x\u3000y", "<s>=|▁=|x=x|▁=\u3000|y=y|</s>="}, // white space of any width
		{"\x01", "<s>=|</s>="},                         // nothing is left
		{"a﷽c", "<s>=|▁=|a=a|a=﷽|▁=﷽|b=﷽|c=c|</s>="},   // a character with a space in it
		{"a\xffb", "<s>=|▁=|a=a|▁=\xff|b=b|</s>="},     // what isn't UTF-8
		{"a´b", "<s>=|▁=|a=a|▁=´|<unk>=´|b=b|</s>="},   // an accent of its own
	} {
		if got := show(tok, c.text, 0); got != c.want {
			t.Errorf("%q: %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestWordPiece(t *testing.T) {
	tok := uncased(t)
	for _, c := range []struct{ text, want string }{
		{"", "[CLS]=|[SEP]="},
		{"Hello,  WORLD", "[CLS]=|hello=Hello|,=,|wor=WOR|##ld=LD|[SEP]="},
		{"Café cafe\u0301", "[CLS]=|cafe=Café|cafe=cafe|[SEP]="},
		{"中文s", "[CLS]=|中=中|文=文|[UNK]=s|[SEP]="},
		{"[SEP]", "[CLS]=|[=[|sep=SEP|]=]|[SEP]="},
		{"a≠b", "[CLS]=|a=a|==≠|b=b|[SEP]="},
		{"hel\u00adlo\x00", "[CLS]=|hello=hel\u00adlo|[SEP]="},
		{"xyz a", "[CLS]=|[UNK]=xyz|a=a|[SEP]="},
		{"a\u0085b", "[CLS]=|[UNK]=a\u0085b|[SEP]="},
	} {
		if got := show(tok, c.text, 0); got != c.want {
			t.Errorf("%q: %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, tok := range []Tokenizer{small(t), uncased(t)} {
		text := "hello world 中文 hello"
		all, spans := tok.Encode(text, 0)
		for limit := -1; limit < len(all)+3; limit++ {
			want := len(all)
			if limit > 0 {
				want = min(want, max(limit, 2))
			}
			ids, s := tok.Encode(text, limit)
			if len(ids) != want || len(s) != want || ids[want-1] != all[len(all)-1] || !slices.Equal(ids[:want-1], all[:want-1]) || !slices.Equal(s[:want-1], spans[:want-1]) {
				t.Errorf("%s: %d: %v %v", tok.Name(), limit, ids, s)
			}
			if got := tok.AppendIDs([]int32{77}, text, limit); !slices.Equal(got, append([]int32{77}, ids...)) {
				t.Errorf("%s: AppendIDs %d: %v", tok.Name(), limit, got)
			}
		}
	}
}

// laws checks what holds for every text.
func laws(tb testing.TB, tok Tokenizer, text string, i, j int) {
	tb.Helper()
	ids, spans := tok.Encode(text, 0)
	if len(ids) != len(spans) || len(ids) != tok.Count(text) {
		tb.Fatalf("%q: %d ids, %d spans, counted %d", text, len(ids), len(spans), tok.Count(text))
	}
	var last connector.Span
	for _, s := range spans {
		if s.Start < last.Start || s.End < s.Start || s.End > len(text) || s.End < last.End {
			tb.Fatalf("%q: span %v after %v", text, s, last)
		}
		last = s
	}
	if got, want := tok.Ruler(text).Count(i, j), tok.Count(text[i:j]); got != want {
		tb.Fatalf("%q: %d:%d (%q) measures %d, want %d", text, i, j, text[i:j], got, want)
	}
}

// odd is what texts are made of in tests.
const odd = "hello|world| |  |\n|\t|中|文|。|é|e\u0301|´|ﬁ|﷽|☃|\x01|\xff|\u3000|\u200b|가|ㄱ|\u1100\u1161|か\u3099|👩\u200d👩|\ufffd|A|ß|İ|≠|</s>|▁|[CLS]|\u0301\u0302|, |x"

func TestLaws(t *testing.T) {
	parts := strings.Split(odd, "|")
	r := rand.New(rand.NewPCG(1, 2))
	for _, tok := range []Tokenizer{small(t), uncased(t)} {
		for range 20000 {
			var b strings.Builder
			for range r.IntN(14) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			i := r.IntN(b.Len() + 1)
			laws(t, tok, b.String(), i, i+r.IntN(b.Len()-i+1))
		}
	}
}

func FuzzLaws(f *testing.F) {
	for i, s := range strings.Split(odd, "|") {
		f.Add(s+" hello"+s, uint16(i), uint16(3))
	}
	all := []Tokenizer{small(f), uncased(f)}
	f.Fuzz(func(t *testing.T, text string, i, n uint16) {
		from := int(i) % (len(text) + 1)
		to := from + int(n)%(len(text)-from+1)
		for _, tok := range all {
			laws(t, tok, text, from, to)
		}
	})
}

// TestHostile cuts texts of up to a megabyte without any place to rest; what isn't linear would not end.
func TestHostile(t *testing.T) {
	for _, tok := range []Tokenizer{small(t), uncased(t)} {
		for _, s := range []string{"a", " ", "中", "☃", "\u0301", "e\u0301", "\xff", "﷽", "hello ", "\u1161", "\x00"} {
			size := 1 << 17
			if s == "a" || s == "中" {
				size = 1 << 20
			}
			text := strings.Repeat(s, size/len(s))
			if n := tok.Count(text); n > len(text)*2+2 {
				t.Errorf("%s: %q: %d", tok.Name(), s, n)
			}
			if ids := tok.AppendIDs(nil, text, 512); len(ids) > 512 {
				t.Errorf("%s: %q: %d ids", tok.Name(), s, len(ids))
			}
		}
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	text := strings.Repeat("hello world 中文 xyz\n", 1000)
	for _, tok := range []Tokenizer{small(t), uncased(t)} {
		ids := tok.AppendIDs(nil, text, 0)
		if n := testing.AllocsPerRun(10, func() { ids = tok.AppendIDs(ids[:0], text, 0) }); n > 20 {
			t.Errorf("%s: %.0f allocations for %d pieces", tok.Name(), n, len(ids))
		}
	}
}

func TestTrie(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	keys := map[string]int32{}
	var entries []entry
	for len(keys) < 20000 {
		b := make([]byte, 1+r.IntN(6))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		if _, ok := keys[string(b)]; !ok {
			keys[string(b)] = int32(len(keys))
			entries = append(entries, entry{string(b), int32(len(entries))})
		}
	}
	tr := newTrie(append(entries, entries[0]))
	find := func(key string) int32 {
		node := int32(0)
		for i := range len(key) {
			if node = tr.step(node, key[i]); node < 0 {
				return -1
			}
		}
		return tr.id(node)
	}
	for key, id := range keys {
		if got := find(key); got != id {
			t.Fatalf("%q is %d, want %d", key, got, id)
		}
		if _, ok := keys[key+"x"]; !ok && find(key+"x") >= 0 {
			t.Fatalf("%q was found", key+"x")
		}
	}
	if len(tr.cells) > 40*len(keys) {
		t.Errorf("%d cells for %d keys", len(tr.cells), len(keys))
	}
	if empty := newTrie(nil); empty.step(0, 'a') >= 0 {
		t.Error("an empty trie has a child")
	}
}

func TestUnsoundVocabularies(t *testing.T) {
	nan := float32(0)
	for _, v := range []Vocabulary{
		{},
		{Kind: "bytes", Pieces: []string{"a"}},
		{Kind: Unigram, Pieces: []string{"a"}},
		{Kind: Unigram, Pieces: []string{"a"}, Scores: []float32{nan / nan}},
		{Kind: Unigram, Pieces: []string{"a"}, Scores: []float32{0}, End: 1},
		{Kind: Unigram, Pieces: []string{"a"}, Scores: []float32{0}, Pad: -1},
		{Kind: Unigram, Pieces: []string{"a"}, Scores: []float32{0}, Others: []int32{5}},
		{Kind: Unigram, Pieces: []string{"a"}, Scores: []float32{0}, Charmap: []Mapping{{'b', ""}, {'a', ""}}},
		{Kind: Unigram, Pieces: []string{"a", strings.Repeat("b", maxPiece+1)}, Scores: []float32{0, 0}},
	} {
		if _, err := New(&v); err == nil {
			t.Errorf("%+v was taken", v)
		}
	}
}
