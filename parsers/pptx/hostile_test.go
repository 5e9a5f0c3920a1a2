package pptx

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

// rewritten is a package with replacements in all of its parts.
func rewritten(tb testing.TB, doc string, pairs ...string) string {
	tb.Helper()
	z, err := zip.NewReader(strings.NewReader(doc), int64(len(doc)))
	if err != nil {
		tb.Fatal(err)
	}
	var members []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			tb.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		members = append(members, f.Name, strings.NewReplacer(pairs...).Replace(string(data)))
	}
	return ziptest.Pack(tb, members...)
}

func deep(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }

// TestHostile: whatever is wrong with a presentation is one error that says so, or is left out; nothing panics.
func TestHostile(t *testing.T) {
	good := english(t)
	for _, c := range []struct{ name, input, says string }{
		{"no main part", ziptest.Pack(t, "a.txt", "x"), "no part ppt/presentation.xml"},
		{"another format", "%PDF-1.7 and so on", "no zip package"},
		{"encrypted", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1....", "without a password"},
		{"malformed", rewritten(t, good, "</p:spTree></p:cSld></p:sld>", "</p:spTree></p:sld>"), "malformed XML"},
		{"nesting", packed(t, page{tree: deep("<p:grpSp>", "</p:grpSp>", 100_000)}), "nested"},
		{"bomb", packed(t, page{tree: strings.Repeat(" ", 40<<20)}), "zip bomb"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.pptx", strings.NewReader(c.input))
		if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for i := range 16 {
		if err := parsertest.CheckSound(fresh(t, nil), "x.pptx", good[:len(good)*i/16]); err != nil {
			t.Error(err)
		}
	}
	for name, tree := range map[string]string{
		"groups":    deep("<p:grpSp>"+box(0, 0, 1, 1, para("x")), "</p:grpSp>", 3000),
		"equations": box(0, 0, 1, 1, "<a:p><a14:m><m:oMath>"+deep("<m:f><m:num><m:r><m:t>x</m:t></m:r>", "</m:num></m:f>", 2000)+"</m:oMath></a14:m></a:p>"),
		"choices":   deep("<mc:AlternateContent><mc:Choice>", "</mc:Choice></mc:AlternateContent>", 3000) + box(0, 0, 1, 1, para("x")),
		"span":      frame(0, 0, 1, 1, `<a:tbl><a:tr>`+tc(` gridSpan="2000000000"`, "x")+tc(` hMerge="1"`, "y")+`</a:tr><a:tr>`+tc("", "z")+`</a:tr></a:tbl>`),
		"places":    box(1<<40, -1<<40, -5, 0, para("x")) + box(0, 0, 0, 0, para("y")),
		"levels":    ph("", "1", item(-5, "", "x"), item(99, auto1("arabicPeriod"), "y"), item(0, `<a:buAutoNum type="alphaLcPeriod" startAt="2000000000"/>`, "z")),
		"frames":    frame(0, 0, 1, 1, deep("<a:tbl><a:tr><a:tc><a:txBody>"+para("x"), "</a:txBody></a:tc></a:tr></a:tbl>", 1500)),
		"many":      strings.Repeat(box(5, 5, 10, 10, para("x")), 3000),
		"charts":    strings.Repeat(frame(0, 0, 1, 1, `<c:chart r:id="c1"/>`), 3000),
	} {
		doc := packed(t, page{tree: tree, chart: testChart})
		if err := parsertest.CheckSound(fresh(t, nil), "x.pptx", doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.pptx", strings.NewReader(doc)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRelationships: parts that are not there, or name each other in a circle, end nothing.
func TestRelationships(t *testing.T) {
	for name, doc := range map[string]string{
		"missing": rewritten(t, english(t), "../slideLayouts/", "../none/", "../charts/", "../../x/", "../notesSlides/", "../gone/", `Target="commentAuthors.xml"`, `Target="x.xml"`),
		"circle":  rewritten(t, english(t), "../slideMasters/slideMaster1.xml", "title.xml"),
		"self":    rewritten(t, english(t), `../notesSlides/n4.xml`, "slide4.xml", "../comments/c4.xml", "slide4.xml"),
		"laughs":  rewritten(t, english(t), `<?xml version="1.0"?>`, `<!DOCTYPE p [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>`, "Agenda", "Agenda &b;"),
	} {
		if got := parsed(t, doc, nil); !strings.Contains(got, "page 1: Sentineltitle") || strings.Contains(got, "haha") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// fixtures are the presentations among the shared data.
func fixtures(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(shareddata.Dir(tb), "fixtures"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".pptx" {
			var data []byte
			data, err = os.ReadFile(path)
			out[filepath.Base(path)] = string(data)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestFixtures holds real presentations to the contract.
func TestFixtures(t *testing.T) {
	for name, data := range fixtures(t) {
		if err := parsertest.CheckAll(fresh(t, nil), name, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzTree(f *testing.F) {
	for _, tree := range []string{
		ph("title", "", para("x")) + ph("", "1", item(0, "", "a"), item(1, auto1("arabicPeriod"), "b")) + box(1, 2, 3, 4, para("y")),
		frame(0, 0, 1, 1, `<a:tbl><a:tblPr firstRow="1"/><a:tr>`+tc(` gridSpan="2"`, "x")+tc(` hMerge="1"`, "")+`</a:tr><a:tr>`+tc(` vMerge="1"`, "z")+tc("", "w")+`</a:tr></a:tbl>`) + frame(0, 0, 1, 1, `<c:chart r:id="c1"/>`),
		`<p:grpSp><p:grpSpPr><a:xfrm><a:off x="1" y="2"/><a:chExt cx="3" cy="0"/></a:xfrm></p:grpSpPr>` + box(1, 2, 3, 4, para("y")) + `</p:grpSp><mc:AlternateContent><mc:Choice/></mc:AlternateContent>`,
	} {
		f.Add(tree)
	}
	f.Fuzz(func(t *testing.T, tree string) {
		if err := parsertest.CheckSound(fresh(t, nil), "x.pptx", packed(t, page{tree: tree, chart: testChart, notes: notesOf("n")})); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkPPTX measures a presentation from its bytes to its elements, per byte of the XML of its slides.
func BenchmarkPPTX(b *testing.B) {
	var pages []page
	size := 0
	for i := range 300 {
		tree := ph("title", "", para(fmt.Sprintf("Slide %d", i)))
		for k := range 10 {
			tree += box(20+k%2*300, 50+k/2*60, 250, 50, para("Some words of a sentence, 以及中文。"), item(1, `<a:buChar char="•"/>`, "and an item of a list that goes on"))
		}
		size += len(tree)
		pages = append(pages, page{tree: tree})
	}
	doc := packed(b, pages...)
	parser := fresh(b, nil)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range parser.Parse(context.Background(), parsertest.Document("x.pptx", len(doc)), bytes.NewReader([]byte(doc))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
