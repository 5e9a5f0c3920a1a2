package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// UnstructuredConfig is the configuration of unstructured.
type UnstructuredConfig struct {
	Service   `yaml:",inline"`
	Strategy  string            `yaml:"strategy" enum:"auto,fast,hi_res,ocr_only" doc:"how PDF files and pictures are read"`
	Languages []string          `yaml:"languages" doc:"the languages of the OCR, as Tesseract names them: [eng, chi_sim]"`
	Options   map[string]string `yaml:"options" doc:"further fields of the request, such as hi_res_model_name"`
}

// Validate checks the configuration.
func (c *UnstructuredConfig) Validate() error {
	if err := c.Service.Validate(); err != nil {
		return err
	}
	return reserved(c.Options, "files", "strategy", "languages", "output_format", "chunking_strategy", "include_page_breaks", "coordinates")
}

// Unstructured is the registry entry of the Unstructured API: POST /general/v0/general, answered with a list of elements.
func Unstructured() connector.ParserPlugin {
	cfg := UnstructuredConfig{Service: serviceDefaults("http://localhost:8000"), Strategy: "auto"}
	return connector.Define("unstructured", "Documents read by the Unstructured API", cfg,
		func(ctx context.Context, c *UnstructuredConfig, env connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("unstructured: %w", err)
			}
			fields := []field{{"strategy", c.Strategy}, {"output_format", "application/json"}}
			if _, set := c.Options["pdf_infer_table_structure"]; !set {
				fields = append(fields, field{"pdf_infer_table_structure", "true"})
			}
			if _, set := c.Options["skip_infer_table_types"]; !set {
				fields = append(fields, field{"skip_infer_table_types", "[]"})
			}
			for _, l := range c.Languages {
				fields = append(fields, field{"languages", l})
			}
			return openService(ctx, api{kind: "unstructured", auth: "unstructured-api-key", method: "POST", path: "/general/v0/general", file: "files",
				fields: append(fields, sorted(c.Options)...), header: map[string]string{"Accept": "application/json"}, blocks: unstructuredBlocks}, &c.Service, env)
		})
}

// unstructuredElement is one element of an answer.
type unstructuredElement struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Metadata struct {
		Page  int    `json:"page_number"`
		HTML  string `json:"text_as_html"`
		Depth int    `json:"category_depth"`
	} `json:"metadata"`
}

// unstructuredBlocks writes the elements of an answer.
func unstructuredBlocks(body []byte, w *blocks.Writer) error {
	var elements []unstructuredElement
	if err := json.Unmarshal(body, &elements); err != nil {
		return malformed("%v", err)
	}
	for _, e := range elements {
		b := blocks.Block{Kind: connector.KindText, Text: e.Text, Page: max(0, e.Metadata.Page)}
		switch e.Type {
		case "Title":
			b.Kind, b.Level = connector.KindHeading, depth(e.Metadata.Depth)
		case "ListItem":
			b.Kind, b.Level, b.List = connector.KindItem, depth(e.Metadata.Depth), 1
			b.Marker, b.Text = marker(e.Text)
		case "Table":
			if t := htmlTable(e.Metadata.HTML); t != nil {
				b.Kind, b.Table, b.Text = connector.KindTable, t, ""
			}
		case "CodeSnippet":
			b.Kind = connector.KindCode
		case "Formula":
			b.Kind = connector.KindMath
		case "Image":
			b.Kind = connector.KindImage
		case "Header", "Footer", "PageNumber":
			b.Kind, b.Reason = connector.KindDropped, connector.DropFurniture
		}
		if b.Kind == connector.KindTable || hasText(b.Text) {
			w.Add(b)
		}
		if err := w.Err(); err != nil {
			return err
		}
	}
	return nil
}

// depth is a level from 1, of a depth from 0.
func depth(n int) int { return min(max(n, 0), 31) + 1 }

var numbered = regexp.MustCompile(`^(\d{1,4}[.)]|[（(][一二三四五六七八九十百\d]{1,4}[)）]|[一二三四五六七八九十百]{1,4}、)\s*`)

// marker divides an item from the number that it starts with.
func marker(text string) (string, string) {
	text = strings.TrimSpace(text)
	if m := numbered.FindString(text); m != "" && len(m) < len(text) {
		return strings.TrimSpace(m), text[len(m):]
	}
	return "-", text
}

// htmlTable reads the one table of some HTML; nil if there is none, or more than that.
func htmlTable(html string) *blocks.Table {
	if html == "" {
		return nil
	}
	t := &blocks.Table{}
	id, tables := 0, 0
	for _, el := range htmltext.Elements(html, nil, htmltext.Options{KeepBoilerplate: true}) {
		switch {
		case el.Kind == connector.KindDropped:
			continue
		case el.Table == nil:
			return nil
		case tables == 0 || el.Table.ID != id:
			id = el.Table.ID
			if tables++; tables > 1 {
				return nil
			}
			for _, row := range el.Table.Header {
				t.Rows = append(t.Rows, cells(row, true))
			}
		}
		for _, row := range el.Table.Rows {
			t.Rows = append(t.Rows, cells(row.Cells, false))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func cells(texts []string, head bool) blocks.Row {
	row := blocks.Row{Head: head}
	for _, s := range texts {
		row.Cells = append(row.Cells, blocks.Cell{Blocks: []blocks.Block{{Kind: connector.KindText, Text: s}}})
	}
	return row
}
