package main

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
)

func newParse(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "parse FILE",
		Short: "Show what the parser sees in a file",
		Long: `Show what the parser sees in a file. No network is used and nothing is stored.

  text      the exact parsed text, which the spans of chunks refer to
  jsonl     one element a line: kind, level, title, page, span, language; and what was dropped, with the reason
  markdown  a rendering for people
  html      a page for people: the pages as they look, with the elements marked on them; a list of elements where a format has no pages`,
		Example: `  kbsync parse page.html
  kbsync parse table.csv --format jsonl
  kbsync parse report.pdf --format html > report.html
  kbsync parse main.go --format jsonl | jq -r 'select(.symbol) | .symbol.name'`,
		Args: cobra.ExactArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error { return a.parse(cmd, args[0]) }),
	}
	formats(cmd, "text, jsonl, markdown or html", "text", "jsonl", "json", "markdown", "html")
	return cmd
}

func (a *app) parse(cmd *cobra.Command, path string) error {
	ctx := cmd.Context()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s is a folder: name a file", path)
	}
	v, file, err := a.preview(ctx, nil)
	if err != nil {
		return err
	}
	w, err := newPaths(ctx, a, v, file, []string{path})
	if err != nil {
		return errors.Join(err, v.Close())
	}
	show := a.parsedText
	switch format(cmd) {
	case "jsonl", "json":
		show = a.parsedLines
	case "markdown":
		show = a.parsedMarkdown
	}
	members, wanted := 0, ""
	err = w.each(ctx, path, func(f found) error {
		if wanted != "" && strings.HasPrefix(f.doc.Path, wanted+"/") {
			members++
			return nil
		}
		wanted = f.doc.Path
		x, elements, err := v.Elements(ctx, f.source, f.caps, f.doc)
		if err != nil {
			return err
		}
		if x.Skip != "" {
			a.note("skipped: %s: %s", f.doc.Path, x.Skip)
			w.failed++
			return nil
		}
		if x.Degraded != "" {
			a.remark("%s: %s", f.doc.Path, x.Degraded)
		}
		if format(cmd) == "html" {
			return a.parsedHTML(f.doc.Path, x, elements, v.Pictures(ctx, f.source, f.caps, f.doc, pictureWidth))
		}
		return show(elements)
	})
	if members > 0 {
		a.note("%s holds %d documents of its own: name one, as %s/PATH, to see it, or use kbsync chunk", wanted, members, path)
	}
	if err == nil && w.failed > 0 {
		err = failedFiles(w.failed)
	}
	return errors.Join(err, w.Close(), v.Close())
}

func (a *app) parsedText(elements iter.Seq2[connector.Element, error]) error {
	for e, err := range elements {
		if err != nil {
			return err
		}
		if e.Kind == connector.KindDropped {
			continue
		}
		if _, err := a.out.WriteString(e.Text); err != nil {
			return err
		}
	}
	return nil
}

// element is an element as `parse --format jsonl` prints it.
type element struct {
	Kind     connector.Kind       `json:"kind"`
	Level    int                  `json:"level,omitempty"`
	Title    string               `json:"title,omitempty"`
	Page     int                  `json:"page,omitempty"`
	PageEnd  int                  `json:"page_end,omitempty"`
	Box      *connector.Box       `json:"box,omitempty"`
	Span     connector.Span       `json:"span"`
	Language string               `json:"language,omitempty"`
	Atom     bool                 `json:"atom,omitempty"`
	Children int                  `json:"children,omitempty"`
	Table    *table               `json:"table,omitempty"`
	Symbol   *symbol              `json:"symbol,omitempty"`
	Front    map[string]any       `json:"front_matter,omitempty"`
	About    map[string]any       `json:"properties,omitempty"`
	Reason   connector.DropReason `json:"reason,omitempty"`
	Text     string               `json:"text"`
}

type table struct {
	ID       int        `json:"id"`
	Header   [][]string `json:"header"`
	FirstRow int        `json:"first_row"`
	Rows     int        `json:"rows"`
	Caption  string     `json:"caption,omitempty"`
	Sheet    string     `json:"sheet,omitempty"`
}

type symbol struct {
	Kind string   `json:"kind"`
	Name string   `json:"name"`
	Path []string `json:"path"`
}

func (a *app) parsedLines(elements iter.Seq2[connector.Element, error]) error {
	for e, err := range elements {
		if err != nil {
			return err
		}
		out := element{
			Kind: e.Kind, Level: e.Level, Title: e.Title, Page: e.Page, PageEnd: e.PageEnd, Box: e.Box, About: e.Properties, Span: e.Span, Language: e.Language, Atom: e.Atom,
			Children: len(e.Children), Front: e.Front, Reason: e.Reason, Text: e.Text,
		}
		if t := e.Table; t != nil {
			out.Table = &table{t.ID, t.Header, t.FirstRow, len(t.Rows), t.Caption, t.Sheet}
		}
		if s := e.Symbol; s != nil {
			out.Symbol = &symbol{s.Kind, s.Name, s.Path}
		}
		if err := a.line(out); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) parsedMarkdown(elements iter.Seq2[connector.Element, error]) error {
	table, page := 0, 0
	for e, err := range elements {
		if err != nil {
			return err
		}
		if e.Page != page && e.Page > 0 {
			page = e.Page
			a.printf("<!-- page %d -->\n\n", page)
		}
		switch {
		case e.Kind == connector.KindDropped:
			a.printf("<!-- dropped, %s: %s -->\n\n", e.Reason, strings.ReplaceAll(short(e.Text, 60), "--", "- -"))
		case e.Kind == connector.KindHeading:
			a.printf("%s %s\n\n", strings.Repeat("#", max(1, min(e.Level, 6))), plainLine(e.Title))
		case e.Kind == connector.KindTable && e.Table != nil:
			a.markdownTable(e.Table, e.Table.ID != table)
			table = e.Table.ID
		case e.Kind == connector.KindFrontMatter:
			a.fence("yaml", e.Text)
		case e.Kind == connector.KindSymbol, e.Kind == connector.KindRecord, e.Kind == connector.KindCode && !fenced(e.Text):
			a.fence(e.Language, e.Text)
		case strings.TrimSpace(e.Text) != "":
			a.printf("%s\n\n", strings.Trim(e.Text, "\n"))
		}
	}
	return nil
}

func fenced(s string) bool {
	s = strings.TrimLeft(s, " \t")
	return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~")
}

// fence prints a code block whose fence is longer than any in it.
func (a *app) fence(language, text string) {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	a.printf("%s%s\n%s\n%s\n\n", marks, strings.ToLower(language), strings.Trim(text, "\n"), marks)
}

func (a *app) markdownTable(t *connector.Table, first bool) {
	row := func(cells []string) {
		for _, c := range cells {
			a.printf("| %s ", strings.ReplaceAll(plainLine(c), "|", `\|`))
		}
		a.printf("|\n")
	}
	if first {
		columns := 1
		if len(t.Rows) > 0 {
			columns = max(1, len(t.Rows[0].Cells))
		}
		head := make([]string, columns)
		if len(t.Header) > 0 {
			head = t.Header[0]
		}
		row(head)
		a.printf("%s|\n", strings.Repeat("| --- ", max(1, len(head))))
		for _, h := range t.Header[min(1, len(t.Header)):] {
			row(h)
		}
	}
	for _, r := range t.Rows {
		row(r.Cells)
	}
	a.printf("\n")
}

// short is the beginning of a text on one line.
func short(s string, runes int) string {
	s = plainLine(s)
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return fmt.Sprintf("%s…", string([]rune(s)[:runes]))
}
