package quality

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed report.html
var page string

// names of the flags, for people.
func label(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// WriteText writes a report for a terminal; it lists at most most flagged chunks, all where most is 0.
func WriteText(w io.Writer, r *Report, most int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d chunks of %d documents", r.Chunks, r.Documents)
	if r.Parents > 0 {
		fmt.Fprintf(&b, ", and %d parents", r.Parents)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "; %d left out as copies", r.LeftOut)
	}
	t := r.Tokens
	fmt.Fprintf(&b, "\ntokens     mean %.1f, median %d, 5 %% up to %d, 95 %% up to %d, %d to %d", t.Mean, t.Median, t.P5, t.P95, t.Min, t.Max)
	if r.Unit != "" {
		fmt.Fprintf(&b, " (%s)", r.Unit)
	}
	b.WriteString("\n")
	for _, bar := range r.Bars() {
		fmt.Fprintf(&b, "  %11s %6d %s\n", bar.Label, bar.Chunks, strings.Repeat("█", (bar.Percent+2)/4))
	}
	for _, e := range []struct {
		name string
		ends Ends
	}{{"mid-sentence", r.Western}, {"mid-sentence (Chinese, Japanese)", r.Eastern}} {
		if e.ends.Chunks > 0 {
			fmt.Fprintf(&b, "%s: %d of %d chunks of prose, %.1f %%\n", e.name, e.ends.Mid, e.ends.Chunks, e.ends.Share*100)
		}
	}
	fmt.Fprintf(&b, "\nlooked at %d chunks closely:\n", r.Sampled)
	for _, kind := range Kinds() {
		fmt.Fprintf(&b, "  %-17s %d\n", label(kind), r.Flags[kind])
	}
	rowsText(&b, "strategy", r.Strategies)
	rowsText(&b, "file", r.Files)
	for i, it := range r.Flagged {
		if i == 0 {
			b.WriteString("\n")
		}
		if most > 0 && i == most {
			fmt.Fprintf(&b, "… and %d more: --format json lists all\n", len(r.Flagged)-most)
			break
		}
		fmt.Fprintf(&b, "%s:%d #%d (%d tokens)\n", it.Path, it.Line, it.Index, it.Tokens)
		for _, f := range it.Flags {
			fmt.Fprintf(&b, "  %s: %s\n", label(f.Kind), oneLine(f.Detail))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxRowsText bounds the rows of one table for a terminal.
const maxRowsText = 20

func rowsText(b *strings.Builder, what string, rows []*Row) {
	if len(rows) < 2 {
		return
	}
	fmt.Fprintf(b, "\nby %s: chunks, mean tokens, mid-sentence, flags\n", what)
	for i, r := range rows {
		if i == maxRowsText {
			fmt.Fprintf(b, "  … and %d more\n", len(rows)-i)
			return
		}
		fmt.Fprintf(b, "  %-32s %6d %8.1f %6.1f %% %5d\n", oneLine(r.Name), r.Chunks, r.Mean, r.Ends.Share*100, r.Flagged())
	}
}

// oneLine keeps control characters from a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r >= 0x80 && r < 0xA0 {
			return ' '
		}
		return r
	}, s)
}

// Bar is a bucket of the histogram as it is drawn.
type Bar struct {
	Label   string
	Chunks  int
	Percent int // of the highest
}

// Bars are the histogram's buckets.
func (r *Report) Bars() []Bar {
	most := 1
	for _, b := range r.Histogram {
		most = max(most, b.Chunks)
	}
	out := make([]Bar, len(r.Histogram))
	for i, b := range r.Histogram {
		out[i] = Bar{fmt.Sprintf("%d–%d", b.From, b.To), b.Chunks, (b.Chunks*100 + most/2) / most}
	}
	return out
}

// WriteHTML writes a report as one page that needs nothing else: no script, no font and no picture from anywhere.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"label": label, "kinds": Kinds, "percent": func(f float64) string { return fmt.Sprintf("%.1f %%", f*100) },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("quality: page: %w", err)
	}
	return t.Execute(w, r)
}
