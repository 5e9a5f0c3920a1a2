package strategies

import (
	"bytes"
	"encoding/json"
	"strings"
)

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return ""
}

// render writes one row with its line end.
func (w *tableWriter) render(r *tableRow) string {
	switch w.t.mode {
	case "markdown":
		return markdownRow(r.cells)
	case "html":
		return htmlRow(r.cells)
	case "json":
		return jsonRow(r.names, r.cells) + "\n"
	}
	return w.recordText(w.pairs(r, 0, len(r.cells))) + "\n"
}

// recordText is a row of mode rows, given its cells. A row without a value has no text.
func (w *tableWriter) recordText(cells string) string {
	if cells == "" || w.s.c.Record == "{cells}" {
		return cells
	}
	head, tail, _ := strings.Cut(w.s.c.Record, "{cells}")
	return head + cells + tail
}

// text is a chunk's text of rows.
func (w *tableWriter) text(rows []tableRow) string {
	if len(rows) == 1 && w.t.mode != "html" {
		return strings.TrimSuffix(rows[0].text, "\n")
	}
	var b strings.Builder
	for i := range rows {
		b.WriteString(rows[i].text)
	}
	if w.t.mode == "html" {
		return htmlTable(w.t.names, b.String())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// htmlTable is a table of HTML around rows.
func htmlTable(names []string, rows string) string {
	var b strings.Builder
	b.WriteString("<table>\n")
	if len(names) > 0 {
		b.WriteString("<thead><tr>")
		for _, name := range names {
			b.WriteString("<th>" + escapeHTML(name) + "</th>")
		}
		b.WriteString("</tr></thead>\n")
	}
	b.WriteString("<tbody>\n")
	b.WriteString(rows)
	b.WriteString("</tbody>\n</table>")
	return b.String()
}

// escapeHTML escapes what would be markup.
func escapeHTML(s string) string {
	if !strings.ContainsAny(s, "<>&") {
		return s
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func htmlRow(cells []string) string {
	var b strings.Builder
	b.WriteString("<tr>")
	for _, cell := range cells {
		b.WriteString("<td>" + escapeHTML(cell) + "</td>")
	}
	b.WriteString("</tr>\n")
	return b.String()
}

// pairs writes cells [i, j) of a row by the template. Empty cells are left out.
func (w *tableWriter) pairs(r *tableRow, i, j int) string {
	var b strings.Builder
	for ; i < j; i++ {
		pair := w.pair(r, i)
		if pair == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(w.s.c.Separator)
		}
		b.WriteString(pair)
	}
	return b.String()
}

// pair writes one cell by the template; without a header, the value alone.
func (w *tableWriter) pair(r *tableRow, i int) string {
	value := r.cells[i]
	if strings.TrimSpace(value) == "" {
		return ""
	}
	name := nameOf(r.names, i)
	if name == "" {
		return value
	}
	t := w.s.c.Template
	head, tail, _ := strings.Cut(t, "{value}")
	return strings.Replace(head, "{header}", name, 1) + value + strings.Replace(tail, "{header}", name, 1)
}

// jsonRow writes cells as a JSON object with string values.
func jsonRow(names, cells []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for k, cell := range cells {
		if k > 0 {
			b.WriteString(", ")
		}
		b.WriteString(jsonString(orText(nameOf(names, k), columnName(k))) + ": " + jsonString(cell))
	}
	b.WriteByte('}')
	return b.String()
}

// columnName is the name of a column without one: a, b … z, then aa, as spreadsheets count.
func columnName(k int) string {
	name := ""
	for k++; k > 0; k = (k - 1) / 26 {
		name = string(rune('a'+(k-1)%26)) + name
	}
	return name
}

func jsonString(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// markdownHeader are the two lines above a Markdown table's rows; a table without names gets empty ones.
func markdownHeader(names []string, columns int) string {
	n := max(len(names), columns)
	cells := make([]string, n)
	copy(cells, names)
	rule := make([]string, n)
	for i := range rule {
		rule[i] = "---"
	}
	return markdownRow(cells) + markdownRow(rule)
}

func markdownRow(cells []string) string {
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// jsonFields are the top-level keys and values of a JSON object, in order: strings decoded, other values as they stand.
func jsonFields(text string) (names, cells []string, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for dec.More() {
		t, err := dec.Token()
		name, isKey := t.(string)
		if err != nil || !isKey {
			return nil, nil, false
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, false
		}
		value := string(raw)
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, nil, false
			}
		}
		names, cells = append(names, oneLine(name)), append(cells, value)
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') {
		return nil, nil, false
	}
	rest := text[dec.InputOffset():]
	return names, cells, strings.Trim(rest, " \t\r\n,]") == "" && len(names) > 0
}
