package parquet

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "write golden files anew")

func fresh(tb testing.TB) connector.Parser {
	tb.Helper()
	c := defaults()
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

type place struct {
	City string   `parquet:"city"`
	Tags []string `parquet:"tags,list"`
}

type entry struct {
	ID     int64            `parquet:"id"`
	Name   string           `parquet:"name"`
	Price  int64            `parquet:"price,decimal(2:18)"`
	Born   int32            `parquet:"born,date"`
	At     time.Time        `parquet:"at,timestamp(millisecond)"`
	Score  *float64         `parquet:"score,optional"`
	Ok     bool             `parquet:"ok"`
	Raw    []byte           `parquet:"raw"`
	Places []place          `parquet:"places,list"`
	Count  map[string]int32 `parquet:"count"`
	Plain  []int32          `parquet:"plain"`
}

func written[T any](tb testing.TB, rows []T) string {
	tb.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func english(tb testing.TB) string {
	score := 2.5
	at := time.Date(2024, 5, 6, 7, 8, 9, 250e6, time.UTC)
	return written(tb, []entry{
		{1, "sentinelone", 12345, 19844, at, &score, true, []byte("text"), []place{{"Oslo", []string{"a", "b"}}, {"Rome", nil}}, map[string]int32{"x": 1}, []int32{1, 2}},
		{2, "two\nlines\tand a tab", -5, -1, at, nil, false, []byte{0, 1, 2}, nil, nil, nil},
	})
}

func chinese(tb testing.TB) string {
	type row struct {
		Title string `parquet:"标题"`
		Year  int32  `parquet:"年份"`
	}
	return written(tb, []row{{"红楼梦", 1791}, {"西游记", 1592}})
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t) }, []parsertest.Case{
		{Name: "english", Input: english(t), Sentinels: []string{"sentinelone", "Oslo", "123.45", "2024-05-01", "2024-05-06 07:08:09.25"}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"红楼梦", "年份"}},
		{Name: "empty"},
	})
}

// TestGolden compares what files become with testdata.
func TestGolden(t *testing.T) {
	for name, data := range map[string]string{"english": english(t), "chinese": chinese(t)} {
		els, err := parsertest.Collect(context.Background(), fresh(t), "x.parquet", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range els {
			fmt.Fprintf(&b, "== %s %s\n%s", e.Kind, e.Reason, e.Text)
			if e.Table != nil {
				for _, r := range e.Table.Rows {
					fmt.Fprintf(&b, "%q\n", r.Cells)
				}
			}
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != b.String() {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// Every row of a large file comes, in order, in more than one part.
func TestManyRows(t *testing.T) {
	type row struct {
		N int64  `parquet:"n"`
		S string `parquet:"s"`
	}
	all := make([]row, 50_000)
	for i := range all {
		all[i] = row{int64(i), fmt.Sprintf("row %d", i)}
	}
	els, err := parsertest.Collect(context.Background(), fresh(t), "x.parquet", strings.NewReader(written(t, all)))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	n := 0
	for _, e := range els {
		for _, r := range e.Table.Rows {
			if r.Cells[1] != fmt.Sprintf("row %d", n) {
				t.Fatalf("row %d is %q", n, r.Cells)
			}
			n++
		}
	}
	if n != len(all) || len(els) < 2 {
		t.Errorf("%d rows in %d parts", n, len(els))
	}
}

// Files that cannot be read say why; whatever byte is damaged, nothing panics.
func TestErrors(t *testing.T) {
	whole := english(t)
	for _, c := range []struct{ name, data, want string }{
		{"truncated", whole[:len(whole)/2], "cut short"},
		{"no parquet", "hello, this is text", "PAR1"},
		{"encrypted", "PAR1" + whole + "PARE", "encrypted"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t), "x.parquet", strings.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for i := range len(whole) {
		for _, x := range []byte{0xFF, whole[i] ^ 0x55} {
			b := []byte(whole)
			b[i] = x
			if err := parsertest.CheckSound(fresh(t), "x.parquet", string(b)); err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
}

func FuzzParquet(f *testing.F) {
	f.Add([]byte(english(f)))
	f.Add([]byte(chinese(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := parsertest.CheckSound(fresh(t), "x.parquet", string(data)); err != nil {
			t.Error(err)
		}
	})
}
