package strategytest

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Blocks lays elements end to end: it sets their spans, and those of table rows from the rows' texts.
func Blocks(elements ...connector.Element) []connector.Element {
	at := 0
	for k := range elements {
		el := &elements[k]
		if el.Kind == connector.KindDropped {
			el.Span = connector.Span{Start: at, End: at}
			continue
		}
		el.Span = connector.Span{Start: at, End: at + len(el.Text)}
		if t := el.Table; t != nil {
			row := at + len(t.HeaderText)
			t.HeaderSpan = connector.Span{Start: at, End: row}
			for r := range t.Rows {
				end := row + strings.IndexByte(el.Text[row-at:], '\n') + 1
				t.Rows[r].Span = connector.Span{Start: row, End: end}
				row = end
			}
		}
		at = el.Span.End
	}
	return elements
}

// Prose makes one element of every paragraph.
func Prose(text string) []connector.Element {
	var out []connector.Element
	for text != "" {
		end := strings.Index(text, "\n\n")
		if end < 0 {
			end = len(text)
		} else {
			for end < len(text) && text[end] == '\n' {
				end++
			}
		}
		out = append(out, connector.Element{Kind: connector.KindText, Text: text[:end]})
		text = text[end:]
	}
	return Blocks(out...)
}

// Table makes a Markdown table with a number of rows.
func Table(rows int) connector.Element {
	const header = "| id | name | note |\n|---|---|---|\n"
	var b strings.Builder
	b.WriteString(header)
	t := &connector.Table{ID: 1, Header: [][]string{{"id", "name", "note"}}, HeaderText: header, FirstRow: 1}
	for n := range rows {
		id := strconv.Itoa(n + 1)
		cells := []string{id, "name " + id, "数据 " + id}
		t.Rows = append(t.Rows, connector.Row{Cells: cells})
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return connector.Element{Kind: connector.KindTable, Text: b.String(), Table: t}
}

// Fence makes a code block with a number of lines.
func Fence(lines int) connector.Element {
	var b strings.Builder
	b.WriteString("```go\n")
	for n := range lines {
		b.WriteString("\tfmt.Println(" + strconv.Itoa(n) + ") // 注释\n\n")
	}
	b.WriteString("```\n")
	return connector.Element{Kind: connector.KindCode, Text: b.String(), Language: "go", Atom: true}
}

// Heading makes a heading with a blank line below.
func Heading(level int, title string) connector.Element {
	return connector.Element{Kind: connector.KindHeading, Level: level, Title: title, Text: strings.Repeat("#", level) + " " + title + "\n\n"}
}

func text(s string) connector.Element { return connector.Element{Kind: connector.KindText, Text: s} }

const (
	english = "Mr. Smith bought v1.2.3 for $3.14, e.g. at https://example.com/a/b?c=d&e=f. He didn't wait! \"Why?\" she asked. (It was late.) "
	chinese = "他说：“今天天气不错。”然后走了；圆周率是3.14，版本号是v1.2.3！见https://example.com/甲。真的吗？是的……"
)

// Inputs are the suite's own: plain ones in two languages, and those that have broken chunkers before.
func Inputs() []Input {
	plain := func(name, s string) Input { return Input{Name: name, Elements: Prose(s)} }
	one := func(name, s string) Input { return Input{Name: name, Elements: Blocks(text(s))} }
	var deep []connector.Element
	for level := 1; level <= 6; level++ {
		deep = append(deep, Heading(level, strings.Repeat("A long title 长标题 ", 12)), text(strings.Repeat(english, 4)+"\n\n"))
	}
	return []Input{
		{Name: "no elements"},
		one("blank", " \n\t\n\u3000\u00a0\r\n"),
		one("one letter", "x"),
		one("short", "\n\n  short text  \n\n"),
		plain("English", strings.Repeat(strings.Repeat(english, 5)+"\n\n", 20)),
		plain("Chinese", strings.Repeat(strings.Repeat(chinese, 5)+"\n\n", 20)),
		plain("mixed, hard-wrapped", strings.Repeat("This line is wrapped\nin mid-sentence, 而且\n中英混排。\nNext one\n\n", 80)),
		one("same sentence six times", strings.Repeat("The same sentence stands here again. ", 6)),
		one("same sentence often", strings.Repeat("同样的一句话。", 900)),
		one("Chinese without punctuation", strings.Repeat("天地玄黄宇宙洪荒日月盈昃辰宿列张", 400)),
		one("base64", strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg", 400)),
		one("base64 in prose", "Here it is:\n\n"+strings.Repeat("QUJDREVGR0hJSktMTU5P", 500)+"\n\nThat was it. "+strings.Repeat(english, 20)),
		one("emoji", strings.Repeat("👨‍👩‍👧‍👦🇨🇳🇩🇪👍🏽é", 500)),
		one("emoji and Han", strings.Repeat("好的👍🏽，一家人👨‍👩‍👧‍👦很开心🇨🇳。", 300)),
		one("combining marks", strings.Repeat("Z̸̡͖a̷͖͗l̴̈́g̵o̶ ", 400)),
		one("CRLF", strings.Repeat("one line\r\nanother line\r\n\r\n", 300)),
		one("CR", strings.Repeat("one line\ranother line\r", 300)),
		one("special tokens", strings.Repeat("before <|endoftext|> after <|im_start|>. ", 200)),
		one("blank lines", "a"+strings.Repeat("\n", 3000)+"b"+strings.Repeat(" ", 3000)+"c"+strings.Repeat("\n \t\n", 1000)+"d"),
		one("indented", strings.Repeat("        indented code here\n\t\tand tabs\u00a0there\n", 200)),
		one("Japanese", strings.Repeat("これはテストです。「カタカナのコンピューター」は長い単語です！本当に？", 100)),
		one("Korean and Thai", strings.Repeat("한국어 문장입니다. ประโยคภาษาไทยไม่มีช่องว่าง ", 100)),
		one("punctuation", strings.Repeat("...!?。。。，，；", 500)),
		{Name: "headings", Elements: Blocks(deep...)},
		{Name: "table", Elements: Blocks(Heading(2, "Data"), text("Before the table.\n\n"), Table(60), text("\nAfter the table.\n"))},
		{Name: "fences", Elements: Blocks(Heading(1, "Code"), text(english+"\n\n"), Fence(3), text("\n"+chinese+"\n\n"), Fence(200), text("\nEnd.\n"))},
		{Name: "dropped", Elements: Blocks(text("Kept. "), connector.Element{Kind: connector.KindDropped, Text: "<script>", Reason: connector.DropScript}, text("Kept too.\n"))},
		{Name: "pages", Elements: Blocks(connector.Element{Kind: connector.KindText, Text: english, Page: 1}, connector.Element{Kind: connector.KindText, Text: chinese, Page: 2})},
	}
}
