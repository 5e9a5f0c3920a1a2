package acceptance

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// readings state in which order real documents are read: the beginnings of their paragraphs, titles and captions, as people read them.
// What is listed as a title must be a heading; what is gone must be dropped.
var readings = []struct {
	file   string
	order  []string
	titles []string
	gone   []string
}{
	{
		file: "docling/pdf/sources/2305.03393v1-pg9.pdf",
		order: []string{
			"order to compute the TED score.", "5.1 Hyper Parameter Optimization", "We have chosen the PubTabNet data set", "However OTSL yields a 2x speed up",
			"Table 1. HPO performed", "# enc-layers", "0.938 0.952", "5.2 Quantitative Results", "We picked the model parameter configuration",
			"even on difficult financial tables", "Additionally, the results show", "a result of the reduced sequence representation.",
		},
		titles: []string{"5.1 Hyper Parameter Optimization", "5.2 Quantitative Results"},
	},
	{
		file: "docling/pdf/sources/code_and_formula.pdf",
		order: []string{
			"JavaScript Code Example", "consetetur sadipscing elitr, sed diam nonumy eirmod tempor", "sed diam voluptua. At vero eos", "Duis autem vel eum iriure", "Listing 1: Simple JavaScript Program",
			"function add", "return a + b", "console", "Lorem ipsum dolor", "Formula", "Lorem ipsum", "+ 8 = 12", "Duis autem vel",
		},
		titles: []string{"JavaScript Code Example", "Formula"},
		gone:   []string{"1"},
	},
	{
		file: "docling/pdf/sources/multi_page.pdf",
		order: []string{
			"The Evolution of the Word Processor", "The concept of the word processor predates", "Pre-Digital Era", "The origins of word processing", "During this period",
			"The Birth of Word Processing", "• IBM MT/ST", "• Wang Laboratories", "These machines were primarily", "The Rise of Personal Computers", "• WordStar (1978)",
			"• Microsoft Word (1983)", "Other notable software", "The Modern Era", "Future of Word Processing", "Specialized Word Processing Tools", "• Legal Document Processors",
			"Key Features That Changed", "1. Undo/Redo", "5. Real-Time Collaboration", "The Cultural Impact", "self-publishing, blogging", "Word Processors in a Post-Digital Era",
			"A Glimpse Into the Future", "• Hyper-Personalization", "The journey of the word processor", "connect with one another.",
		},
		titles: []string{"The Evolution of the Word Processor", "The Modern Era (1990s - Present)", "A Glimpse Into the Future"},
	},
	{
		file: "docling/pdf/sources/normal_4pages.pdf", // Korean, two columns, tables, footnotes
		order: []string{
			"들어가며", "기준 현재", "이와 관련하여 세계보건기구", "한편 코로나-19가 전", "통상 질병보험금에 비해", "보험실무상 어떤 보험사는", "따라서 코로나-19와 관련하여",
			"코로나-19 관련 보험 현황", "다만, 갑작스러운 국내 유입", "[표 1] 감염병예방법", "구분", "U코드", "기존 생명보험에서 재해로", "그러나 제1급 감염병에", "문제점", "개선과제", "맺으며",
		},
		gone: []string{"이슈와 논점"},
	},
	{
		file: "unstructured/pdf/multi-column-2p.pdf",
		order: []string{
			"Dense Passage Retrieval for Open-Domain", "Abstract", "Open-domain question answering relies on", "1 Introduction", "Open-domain question answering (QA) (Voorhees, 1999)",
			"Retrieval in open-domain QA is usually", "However, it is generally believed", "the objective function. Second, because", "In this paper, we address the question",
			"Our contributions are twofold.", "2 Background", "The problem of open-domain QA studied", "to cover a wide variety of domains", "3 Dense Passage Retriever (DPR)", "We focus our research", "3.1 Overview",
			"Our dense passage retriever (DPR) uses a dense encoder",
		},
		titles: []string{"Dense Passage Retrieval for Open-Domain Question Answering", "Abstract", "1 Introduction", "2 Background", "3.1 Overview"},
	},
	{
		file: "unstructured/pdf/layout-parser-paper-fast.pdf",
		order: []string{
			"LayoutParser: A Unified Toolkit for Deep Learning Based Document Image Analysis", "Abstract. Recent advances", "Keywords:", "1 Introduction", "including document image classification [11, 37], layout detection",
			"However, there are several practical difficulties", "LayoutParser provides a unified toolkit", "1. An off-the-shelf toolkit", "4. A DL model hub", "The library implements simple", "LayoutParser is well aligned",
		},
		titles: []string{"LayoutParser: A Unified Toolkit for Deep Learning Based Document Image Analysis", "1 Introduction"},
		gone:   []string{"2 Z. Shen et al."},
	},
	{
		file:  "unstructured/pdf/list-item-example.pdf",
		order: []string{"Module One", "What are product types?", "Module Two", "● How will the product meet market needs?", "● Design considerations", "● Technology and tools selection"},
	},
	{file: "unstructured/pdf/header-test-doc.pdf", order: []string{"I Am A Header", "Title", "Here is a lovely sentences.", "I Am A Footer"}, titles: []string{"Title"}},
}

// TestPDFReadingOrder: real documents are read as people read them.
func TestPDFReadingOrder(t *testing.T) {
	dir := shareddata.Dir(t)
	for _, r := range readings {
		t.Run(filepath.Base(r.file), func(t *testing.T) {
			var text strings.Builder
			var titles, gone []string
			for _, el := range parsePDF(t, filepath.Join(dir, "fixtures", filepath.FromSlash(r.file))) {
				switch el.Kind {
				case connector.KindDropped:
					gone = append(gone, strings.Join(strings.Fields(el.Text), " "))
					continue
				case connector.KindHeading:
					titles = append(titles, el.Title)
				}
				text.WriteString(strings.Join(strings.Fields(el.Text), " "))
				text.WriteByte('\n')
			}
			rest := text.String()
			for i, phrase := range r.order {
				at := strings.Index(rest, phrase)
				if at < 0 {
					t.Fatalf("%q does not come after %q in\n%.3000s", phrase, r.order[max(i-1, 0)], text.String())
				}
				rest = rest[at+len(phrase):]
			}
			for _, title := range r.titles {
				if !slices.Contains(titles, title) {
					t.Errorf("%q is none of the headings %q", title, titles)
				}
			}
			for _, g := range r.gone {
				if !slices.Contains(gone, g) {
					t.Errorf("%q is not dropped: %q", g, gone)
				}
			}
		})
	}
}

// TestPDFTableCells: the cells of a table between lines, on a page of a paper (columns that group others, two lines of text in each row).
func TestPDFTableCells(t *testing.T) {
	want := strings.Split("# enc-layers|# dec-layers|Language|TEDs|mAP (0.75)|Inference time (secs)|simple|complex|all|"+
		"6|6|OTSL HTML|0.965 0.969|0.934 0.927|0.955 0.955|0.88 0.857|2.73 5.39|4|4|OTSL HTML|0.938 0.952|0.904 0.909|0.927 0.938|0.853 0.843|1.97 3.77|"+
		"2|4|OTSL HTML|0.923 0.945|0.897 0.901|0.915 0.931|0.859 0.834|1.91 3.81|4|2|OTSL HTML|0.952 0.944|0.92 0.903|0.942 0.931|0.857 0.824|1.22 2", "|")
	var got []string
	for _, el := range parsePDF(t, filepath.Join(shareddata.Dir(t), "fixtures", "docling", "pdf", "sources", "2305.03393v1-pg9.pdf")) {
		if el.Table == nil {
			continue
		}
		rows := slices.Clone(el.Table.Header)
		for _, r := range el.Table.Rows {
			rows = append(rows, r.Cells)
		}
		for _, r := range rows {
			for _, c := range r {
				if c != "" {
					got = append(got, c)
				}
			}
		}
	}
	left := slices.Clone(want)
	hits := 0
	for _, c := range got {
		if i := slices.Index(left, c); i >= 0 {
			left = slices.Delete(left, i, i+1)
			hits++
		}
	}
	if f1 := 2 * float64(hits) / float64(len(want)+len(got)); f1 < 0.95 {
		t.Errorf("F1 of the cells is %.3f; not found: %q\ngot %q", f1, left, got)
	}
}
