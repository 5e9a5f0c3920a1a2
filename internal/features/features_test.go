package features

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestUnits(t *testing.T) {
	for text, want := range map[string]string{
		"He said: it's 3.14, v1.2 of fmt.Println.": "s s - n t - t",
		"HTTP getUserName snake_case x86 I":        "t t t t s",
		"10GB 12% 1,000 2026-01-02 12th 0x1F":      "n n n n n n n n",
		"internationalization matters":             "t -",
		"他说频率是百分之三十":                               "is is it it i i i i n",
		"TCP 连接":                                   "t i i",
		"Grüße ßtraße Ωmega":                       "- - -",
		"  \n\t—…。":                                "",
		"a" + strings.Repeat("b", 300):             "t t",
		"\xff\xfe ok":                              "-",
	} {
		var got []string
		Units(text, func(u Unit) {
			s := ""
			for k, class := range []Class{Ideograph, Number, Term, Story} {
				if u.Class&class != 0 {
					s += string("ints"[k])
				}
			}
			got = append(got, map[bool]string{true: "-", false: s}[s == ""])
		})
		if s := strings.Join(got, " "); strings.ReplaceAll(s, "in", "n") != want {
			t.Errorf("%q: %s, want %s", text, s, want)
		}
	}
	var a, b uint64
	Units("Word", func(u Unit) { a = u.Hash })
	Units("wORD", func(u Unit) { b = u.Hash })
	if a != b {
		t.Error("case makes another unit")
	}
}

func TestStoryWords(t *testing.T) {
	for _, w := range strings.Fields("i he she they we you him her his them us me my our said was were had then asked went came told thought") {
		Units(w, func(u Unit) {
			if u.Class != Story {
				t.Errorf("%s is %d", w, u.Class)
			}
		})
	}
}

// TestBag: a window that slid has the figures of one that was filled at once, and these are what the formulas say.
func TestBag(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var units []Unit
	for range 3000 {
		units = append(units, Unit{uint64(rng.IntN(200)), []Class{0, Ideograph, Term, Number, Story}[rng.IntN(5)]})
	}
	var slid Bag
	for k, u := range units {
		slid.Add(u)
		if k >= 500 {
			slid.Remove(units[k-500])
		}
	}
	var fresh Bag
	counts := map[uint64]int{}
	for _, u := range units[2500:] {
		fresh.Add(u)
		counts[u.Hash]++
	}
	sum := 0.0
	for _, c := range counts {
		sum -= float64(c) / 500 * math.Log2(float64(c)/500)
	}
	if math.Abs(fresh.Entropy()-sum) > 2e-3 || math.Abs(fresh.TypeToken()-math.Log(float64(len(counts)))/math.Log(500)) > 1e-3 {
		t.Errorf("entropy %v, want %v; C %v", fresh.Entropy(), sum, fresh.TypeToken())
	}
	say := func(b *Bag) string {
		return fmt.Sprint(b.Size(), b.Entropy(), b.TypeToken(), b.Evenness(), b.Terms(), b.Numbers(), b.Narration(), b.Chinese(), b.Density())
	}
	if say(&slid) != say(&fresh) {
		t.Errorf("slid %s, fresh %s", say(&slid), say(&fresh))
	}
	var none Bag
	if s := say(&none); s != "0 0 0 0 0 0 0 0 0" {
		t.Errorf("nothing: %s", s)
	}
	none.Add(Unit{})
	if s := say(&none); s != "1 0 0 0 0 0 0 0 0" {
		t.Errorf("one: %s", s)
	}
}

func TestLog2(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 7, 1000, 1 << 20, 1<<31 - 1, 1 << 40} {
		if got := float64(log2(n)) / (1 << logBits); math.Abs(got-math.Log2(float64(n))) > 1e-4 {
			t.Errorf("log2(%d) = %v", n, got)
		}
	}
}

func TestMeter(t *testing.T) {
	els := []connector.Element{
		{Kind: connector.KindHeading, Level: 2, Text: "## Head\n"},
		{Kind: connector.KindText, Text: "Anna: where is it?\nBob: here.\nAnna: thanks. It is https://a.b now\n\n"},
		{Kind: connector.KindDropped, Text: "<script>"},
		{Kind: connector.KindCode, Text: "code()\n\n"},
		{Kind: connector.KindSymbol, Text: "func f()\n"},
		{Kind: connector.KindList, Text: "- one\n- two\n"},
		{Kind: connector.KindTable, Text: "|a|\n|-|\n"},
		{Kind: connector.KindRecord, Text: "x: y\n", Table: &connector.Table{Header: [][]string{{"speaker", "text"}}}},
	}
	var m Meter
	total := 0
	for i := range els {
		m.Add(&els[i])
		if els[i].Kind != connector.KindDropped {
			total += len(els[i].Text)
		}
	}
	f := m.Features(true)
	if f.Bytes != total || f.Elements != 7 || !f.Complete || f.Headings != 1 || f.HeadingDepth != 2 || f.Sentence == 0 {
		t.Errorf("%+v", f)
	}
	for name, c := range map[string][2]float64{
		"code": {f.Code, 17}, "declarations": {f.Declarations, 9}, "tables": {f.Tables, 13}, "turns": {f.Turns, 5}, "lists": {f.Lists, 12}, "prose": {f.Prose, 67},
	} {
		if math.Abs(c[0]-c[1]/float64(total)) > 1e-4 {
			t.Errorf("%s: %v, want %v of %d bytes", name, c[0], c[1], total)
		}
	}
	if f.Dialogue != share(2, 5) {
		t.Errorf("dialogue %v", f.Dialogue)
	}
	if f := new(Meter).Features(true); f != (Features{Complete: true}) {
		t.Errorf("nothing: %+v", f)
	}
	var long Meter
	long.Add(&connector.Element{Kind: connector.KindText, Text: strings.Repeat("天", Window)})
	long.Add(&connector.Element{Kind: connector.KindText, Text: "more"})
	if f := long.Features(true); f.Complete || f.Bytes > Window || f.Chinese != 1 {
		t.Errorf("long: %+v", f)
	}
}

func TestSpeaker(t *testing.T) {
	for line, want := range map[string]string{
		"Anna: hello": "Anna", "张三：你好": "张三", "Dr. No: yes": "Dr. No", "http://x": "", "nothing": "", ": x": "", "Anna:": "", "One two three four: x": "", "a-b: c": "",
		strings.Repeat("a", 25) + ": x": "",
	} {
		if got, _ := speaker(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// FuzzMeter measures any text: shares are shares, and parts do not matter to the counts.
func FuzzMeter(f *testing.F) {
	f.Add("He said 3.14 of fmt.Println, 他说频率。\nAnna: x\n")
	f.Add("\xff’’.'._%,,1,1")
	f.Fuzz(func(t *testing.T, text string) {
		var m Meter
		m.Add(&connector.Element{Kind: connector.KindText, Text: text})
		got := m.Features(true)
		for _, x := range []float64{got.Code, got.Prose, got.Terms, got.Numbers, got.TypeToken, got.Narration, got.Dialogue, got.Chinese} {
			if x < 0 || x > 1 || math.IsNaN(x) {
				t.Fatalf("%+v", got)
			}
		}
		if d := m.bag.Density(); d < 0 || d > 100 || got.Entropy < 0 || got.Words > len(text) {
			t.Fatalf("density %d: %+v", d, got)
		}
	})
}
