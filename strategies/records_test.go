package strategies

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/parsers/ical"
)

// A record that fits a chunk is in one chunk, whole: dates of a calendar, people of an address book.
func TestRecordsStayWhole(t *testing.T) {
	var cal strings.Builder
	cal.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n")
	for i := range 40 {
		fmt.Fprintf(&cal, "BEGIN:VEVENT\r\nUID:%d\r\nSUMMARY:Meeting %d 会议\r\nDTSTART:20260101T100000Z\r\nLOCATION:Room %d\r\nDESCRIPTION:%sEnd%d.\r\nEND:VEVENT\r\n",
			i, i, i, strings.Repeat("What is spoken of. 讨论的内容。 ", 1+i%5), i)
	}
	cal.WriteString("END:VCALENDAR\r\n")
	plugin := ical.Plugin()
	parser, err := plugin.Open(context.Background(), plugin.Config(), connector.Env{})
	if err != nil {
		t.Fatal(err)
	}
	els, err := parsertest.Collect(context.Background(), parser, "a.ics", strings.NewReader(cal.String()))
	if err != nil {
		t.Fatal(err)
	}
	s := openLayoutOf(t, func(c *LayoutConfig) { c.MaxChars = 400 })
	var chunks []connector.Chunk
	for ch, err := range s.Chunks(context.Background(), parsertest.Document("a.ics", cal.Len()), func(yield func(connector.Element, error) bool) {
		for _, el := range els {
			if !yield(el, nil) {
				return
			}
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, ch)
	}
	if len(chunks) < 10 {
		t.Fatalf("%d chunks", len(chunks))
	}
	for i := range 40 {
		held := 0
		for _, ch := range chunks {
			if strings.Contains(ch.Text, fmt.Sprintf("Meeting %d 会议", i)) && strings.Contains(ch.Text, fmt.Sprintf("End%d.", i)) {
				held++
			}
		}
		if held != 1 {
			t.Errorf("record %d is whole in %d chunks", i, held)
		}
	}
}
