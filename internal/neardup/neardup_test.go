package neardup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func open(tb testing.TB, threshold float64) *Index {
	tb.Helper()
	x, err := New(threshold)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

const (
	english = "The warranty covers manufacturing defects of batteries and chargers that show within two years of the purchase. " +
		"A claim is made in the shop or by mail, with the receipt and a short description of what happened. " +
		"We repair the device, replace it, or pay the price back, whichever is quickest for the customer and for us. " +
		"Damage by water, by drops or by parts of other makers is your own affair, and so is ordinary wear of the surface."
	chinese = "员工入职满一年后享有带薪年假，年假天数按照工龄计算，具体标准由人力资源部门公布。员工申请年假时，应当提前五个工作日在系统中提交申请，" +
		"并由直属主管审批。年假原则上应当在当年度内休完，因工作原因确实需要结转的，经部门负责人同意后可以结转到下一年度的第一季度。"
)

// TestNear compares pairs of texts: which are near, and which differ in what makes another statement.
func TestNear(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		near bool
	}{
		"same":              {english, english, true},
		"case and spaces":   {english, strings.ToUpper(strings.ReplaceAll(english, ". ", ".\n\n")), true},
		"one word":          {english, strings.Replace(english, "quickest", "cheapest", 1), true},
		"a number":          {english, strings.Replace(english, "purchase", "purchase in 2023", 1), false},
		"a version":         {english + " v1.2", english + " v1.3", false},
		"a percentage":      {english + " It costs 5", english + " It costs 5 %", false},
		"a minus":           {english + " at 5 degrees", english + " at -5 degrees", false},
		"a negation":        {english, strings.Replace(english, "is your", "is not your", 1), false},
		"an n't":            {english + " It does work", english + " It doesn't work", false},
		"other text":        {english, strings.Repeat("Use kubectl to see the pods of the ingress controller and its routes. ", 4), false},
		"Chinese":           {chinese, strings.Replace(chinese, "具体标准", "详细标准", 1), true},
		"Chinese full":      {chinese, strings.ReplaceAll(chinese, "，", ","), true},
		"Chinese numeral":   {chinese, strings.Replace(chinese, "五个工作日", "三个工作日", 1), false},
		"Chinese negation":  {chinese, strings.Replace(chinese, "可以结转", "不可结转", 1), false},
		"Chinese and other": {chinese, english, false},
		"too short":         {"one two three", "one two three", false},
		"tables of years":   {strings.Repeat("| sales | north | south |\n", 20) + "| 2023 | 14 | 15 |", strings.Repeat("| sales | north | south |\n", 20) + "| 2024 | 14 | 15 |", false},
	} {
		x := open(t, DefaultThreshold)
		if _, near := x.Add(1, c.a); near {
			t.Errorf("%s: near to nothing", name)
		}
		if of, near := x.Add(2, c.b); near != c.near || near && of != 1 {
			t.Errorf("%s: near is %v, want %v", name, near, c.near)
		}
	}
}

func TestThreshold(t *testing.T) {
	for _, bad := range []float64{0, 0.5, 1.1, -1} {
		if _, err := New(bad); err == nil {
			t.Errorf("threshold %v was taken", bad)
		}
	}
	changed := strings.NewReplacer("quickest", "cheapest", "receipt", "bill").Replace(english)
	for threshold, want := range map[float64]bool{0.8: true, 0.95: false} {
		x := open(t, threshold)
		x.Add(1, english)
		if _, near := x.Add(2, changed); near != want {
			t.Errorf("two words changed, threshold %v: near is %v", threshold, near)
		}
	}
}

// texts makes n texts of w words, every third one a copy of an earlier one with a word changed.
func texts(n, w int) []string {
	r := rand.New(rand.NewPCG(1, uint64(w)))
	word := func() string {
		b := make([]byte, 4)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	out := make([]string, n)
	for i := range out {
		words := make([]string, w)
		for j := range words {
			words[j] = word()
		}
		if i%3 == 2 {
			copy(words, strings.Fields(out[r.IntN(i)]))
			words[r.IntN(w)] = word()
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}

// TestRecall compares what the bands find with a comparison of all pairs.
func TestRecall(t *testing.T) {
	list := texts(900, 90)
	x, all := open(t, DefaultThreshold), open(t, DefaultThreshold)
	var kept []*text
	found, want := 0, 0
	for i, s := range list {
		sh, marks := shingles(s)
		tx := &text{id: i, shingles: sh, marks: marks}
		near := false
		for _, k := range kept {
			near = near || all.jaccard(tx, k) >= DefaultThreshold
		}
		if near {
			want++
		} else {
			kept = append(kept, tx)
		}
		if _, got := x.Add(i, s); got {
			found++
			if !near {
				t.Errorf("text %d is near to nothing", i)
			}
		}
	}
	if want < 200 || found < want {
		t.Errorf("%d of %d near texts were found", found, want)
	}
}

// TestWork counts comparisons: they grow with the number of texts, also where all of them share most of their words.
func TestWork(t *testing.T) {
	count := func(n int) int {
		x := open(t, DefaultThreshold)
		r := rand.New(rand.NewPCG(3, 3))
		base := strings.Fields(texts(1, 200)[0])
		for i := range n {
			words := append([]string{}, base...)
			for range 12 { // too much for a copy, too little for another band
				words[r.IntN(len(words))] = fmt.Sprintf("w%c%c%c", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26))
			}
			x.Add(i, strings.Join(words, " "))
		}
		return x.compared
	}
	few, many := count(300), count(1200)
	if many > 1200*maxCandidates || many > few*6 {
		t.Errorf("%d comparisons for 300 texts, %d for 1200", few, many)
	}
}

// TestMemory adds more than is kept: the oldest texts are forgotten, and all that led to them.
func TestMemory(t *testing.T) {
	x := open(t, DefaultThreshold)
	x.most = 20_000
	n := 0
	for i := 0; x.oldest < 3; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 5))
		var sb strings.Builder
		for range 1000 {
			fmt.Fprintf(&sb, "%c%c%c ", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26))
		}
		x.Add(i, sb.String())
		if n++; n > 60 {
			t.Fatal("nothing is forgotten")
		}
	}
	keys := 0
	for _, b := range x.buckets {
		keys += len(b)
	}
	if x.kept > x.most || keys != len(x.texts)*bands {
		t.Errorf("%d shingles are kept, %d keys of %d texts", x.kept, keys, len(x.texts))
	}
}

func FuzzAdd(f *testing.F) {
	f.Add(english, chinese)
	f.Add("a\xff 3.14, -5 don't 第三条", "ภาษา 1,000")
	f.Fuzz(func(t *testing.T, a, b string) {
		x := open(t, DefaultThreshold)
		x.Add(1, a)
		if sh, _ := shingles(a); len(sh) >= minShingles {
			if of, near := x.Add(2, a); !near || of != 1 {
				t.Fatal("a text is not near to itself")
			}
		}
		of, near := x.Add(3, b)
		if y := open(t, DefaultThreshold); near && of == 1 {
			y.Add(3, b)
			if _, back := y.Add(1, a); !back {
				t.Fatal("near is not symmetric")
			}
		}
	})
}
