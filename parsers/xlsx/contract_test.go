package xlsx

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "write golden files anew")

// made is a workbook that build fills.
func made(tb testing.TB, build func(f *excelize.File) error) string {
	tb.Helper()
	f := excelize.NewFile()
	defer func() { _ = f.Close() }()
	if err := build(f); err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// put writes rows from a cell on.
func put(f *excelize.File, sheet string, col, row int, rows ...[]any) error {
	for i, r := range rows {
		cell, err := excelize.CoordinatesToCellName(col, row+i)
		if err != nil {
			return err
		}
		if err := f.SetSheetRow(sheet, cell, &r); err != nil {
			return err
		}
	}
	return nil
}

// english has something of everything.
func english(tb testing.TB) string {
	return made(tb, func(f *excelize.File) error {
		const s = "Sales 2024"
		date, _ := f.NewStyle(&excelize.Style{NumFmt: 14})
		percent, _ := f.NewStyle(&excelize.Style{NumFmt: 10})
		money := `"$"#,##0.00`
		dollars, _ := f.NewStyle(&excelize.Style{CustomNumFmt: &money})
		return firstError(
			f.SetSheetName("Sheet1", s),
			f.SetDocProps(&excelize.DocProperties{Title: "Sentineltitle", Creator: "Ann"}),
			put(f, s, 1, 1, []any{"Quarterly report"}, []any{}, []any{"Region", "North", "", "South", ""}, []any{"", "units", "revenue", "units", "revenue"},
				[]any{"2024-01-01", 1200, 3.5, 7, 0.25}, []any{45323, 9, 1, 2, 0.5}),
			f.MergeCell(s, "B3", "C3"), f.MergeCell(s, "D3", "E3"), f.MergeCell(s, "A3", "A4"),
			f.SetCellStyle(s, "A6", "A6", date), f.SetCellStyle(s, "E5", "E6", percent), f.SetCellStyle(s, "C5", "C6", dollars),
			put(f, s, 8, 3, []any{"City", "Mayor"}, []any{"Oslo", "sentinelmayor"}, []any{"Rome", "line one\nline \"two\""}, []any{"Riga", `"quoted"`}),
			f.SetCellValue(s, "A9", "sentinelalone note under the tables."),
			f.SetCellFormula(s, "C9", "1/0"),
			f.AddComment(s, excelize.Comment{Cell: "B5", Author: "Bob", Text: "sentinelcomment"}),
			second(f, "Secret", "sentinelhidden"), f.SetSheetVisible("Secret", false),
		)
	})
}

func second(f *excelize.File, name, value string) error {
	_, err := f.NewSheet(name)
	return firstError(err, f.SetCellValue(name, "A1", value))
}

func chinese(tb testing.TB) string {
	return made(tb, func(f *excelize.File) error {
		return firstError(
			f.SetSheetName("Sheet1", "销售"),
			put(f, "销售", 1, 1, []any{"二〇二四年销售统计表"}, []any{"地区", "城市", "销量", "金额（万元）"}, []any{"华东", "上海", 120, 3.5}, []any{"", "杭州", 80, 2.25}, []any{"华南", "广州", 95, 1}),
			f.MergeCell("销售", "A1", "D1"), f.MergeCell("销售", "A3", "A4"),
			put(f, "销售", 1, 8, []any{"说明"}, []any{}, []any{"编号", "内容"}, []any{1, "数据来自财务部门"}, []any{2, "不含税"}),
		)
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t, defaults()) }, []parsertest.Case{
		{Name: "english", Input: english(t), Sentinels: []string{"sentinelmayor", "sentinelalone", "sentinelcomment", "Secret"}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"二〇二四年销售统计表", "不含税"}},
		{Name: "empty"},
	})
}

// TestGolden compares what workbooks become with testdata.
func TestGolden(t *testing.T) {
	for name, data := range map[string]string{"english": english(t), "chinese": chinese(t)} {
		els, err := parsertest.Collect(context.Background(), fresh(t, defaults()), "x.xlsx", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range els {
			fmt.Fprintf(&b, "== %s %d %q", e.Kind, e.Level, e.Title)
			if e.Table != nil {
				fmt.Fprintf(&b, " table %d of %q, header %q", e.Table.ID, e.Table.Sheet, e.Table.Header)
			}
			if e.Properties != nil {
				fmt.Fprintf(&b, " author %v, title %v", e.Properties["author"], e.Properties["title"])
			}
			fmt.Fprintf(&b, " %s\n%s\n", e.Reason, strings.TrimRight(e.Text, "\n"))
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := firstError(os.MkdirAll("testdata", 0o755), os.WriteFile(file, []byte(b.String()), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != b.String() {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

func TestHidden(t *testing.T) {
	c := defaults()
	c.Hidden = true
	els, err := parsertest.Collect(context.Background(), fresh(t, c), "x.xlsx", strings.NewReader(english(t)))
	if err != nil || !strings.Contains(parsertest.Text(els), "sentinelhidden") {
		t.Errorf("hidden sheets are not read: %v", err)
	}
}

// packed is a workbook whose sheet is the given XML.
func packed(tb testing.TB, sheet string, more map[string]string) string {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	parts := map[string]string{
		"[Content_Types].xml":        `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":                `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   sheet,
	}
	for name, text := range more {
		parts[name] = text
	}
	for name, text := range parts {
		w, err := z.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// Workbooks that cannot be read say why.
func TestErrors(t *testing.T) {
	whole := english(t)
	row := `<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row>`
	small := defaults()
	small.MaxUnpacked = 1 << 20
	for _, c := range []struct{ name, data, want string }{
		{"encrypted", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("x", 600), "encrypted"},
		{"truncated", whole[:len(whole)/2], "cut short"},
		{"no zip", "hello", "no workbook"},
		{"bomb", packed(t, row+strings.Repeat(" ", 2<<20)+`</sheetData></worksheet>`, nil), "max_unpacked"},
		{"xml cut short", packed(t, row, nil), "cut short"},
		{"xml broken", packed(t, row+`<row r="2"><c <></c></row><row r="3"><c r="A3"><v>3</v></c></row></sheetData></worksheet>`, nil), "breaks off after row"},
		{"deep", packed(t, row+strings.Repeat("<c>", 50_000)+`</sheetData></worksheet>`, nil), "nested"},
		{"no workbook", packed(t, row, map[string]string{"xl/workbook.xml": "<x/"}), "workbook"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t, small), "x.xlsx", strings.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A million empty rows and a cell in the last column cost little, and the rows around them are kept.
func TestSparse(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<worksheet><sheetData>`)
	for i := 1; i <= 1_000_000; i++ {
		if i == 1 || i == 1_000_000 {
			fmt.Fprintf(&b, `<row r="%d"><c r="A%d"><v>%d</v></c><c r="XFD%d"><v>77</v></c></row>`, i, i, i, i)
			continue
		}
		fmt.Fprintf(&b, `<row r="%d"/>`, i)
	}
	b.WriteString(`</sheetData></worksheet>`)
	els, err := parsertest.Collect(context.Background(), fresh(t, defaults()), "x.xlsx", strings.NewReader(packed(t, b.String(), nil)))
	if text := parsertest.Text(els); err != nil || !strings.Contains(text, "1\t77") || !strings.Contains(text, "1000000\t77") || len(text) > 200 {
		t.Errorf("%v: %.300q", err, text)
	}
}

// Two million cells are streamed: the heap in use stays small while the rows come.
func TestTwoMillionCells(t *testing.T) {
	data := large(t, 200_000)
	p := fresh(t, defaults())
	var peak uint64
	rows, n := 0, 0
	for el, err := range p.Parse(context.Background(), parsertest.Document("x.xlsx", len(data)), strings.NewReader(data)) {
		if err != nil {
			t.Fatal(err)
		}
		if el.Table != nil {
			rows += len(el.Table.Rows)
		}
		if n++; n%50 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	}
	t.Logf("%d rows, at most %d MiB in use", rows, peak>>20)
	if rows != 199_999 || peak > 200<<20 {
		t.Errorf("%d rows, at most %d MiB in use", rows, peak>>20)
	}
}

// large is a workbook of n rows of 10 cells.
func large(tb testing.TB, n int) string {
	return made(tb, func(f *excelize.File) error {
		w, err := f.NewStreamWriter("Sheet1")
		if err != nil {
			return err
		}
		for i := 1; i <= n; i++ {
			cells := make([]any, 10)
			for j := range cells {
				if cells[j] = i * j; i == 1 {
					cells[j] = fmt.Sprintf("name%d", j)
				}
			}
			if err := w.SetRow(fmt.Sprintf("A%d", i), cells); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

func FuzzXLSX(f *testing.F) {
	f.Add(`<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="C1"><v>1</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells></worksheet>`)
	f.Fuzz(func(t *testing.T, sheet string) {
		if err := parsertest.CheckSound(fresh(t, defaults()), "x.xlsx", packed(t, sheet, nil)); err != nil {
			t.Error(err)
		}
	})
}
