package ical

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func fresh(tb testing.TB) connector.Parser {
	tb.Helper()
	c := defaults()
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const (
	calendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:团队日历\r\nBEGIN:VEVENT\r\nDTSTART;TZID=Asia/Shanghai:20240301T100000\r\nSUMMARY:周会\\, 第一\r\n 次\r\n" +
		"ATTENDEE;CN=\"Li: Lei\":mailto:lilei@example.com\r\nDESCRIPTION:Line one\\nline two\r\nATTACH;ENCODING=BASE64;VALUE=BINARY:AAAA\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	card = "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=GBK;ENCODING=QUOTED-PRINTABLE:=D5=C5;=C8=FD=\n;;\nFN:Zhang San\nTEL;CELL:123\nitem1.EMAIL:a@b.c\nPHOTO;ENCODING=b;TYPE=JPEG:AAAA\nEND:VCARD\n"
)

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t) }, []parsertest.Case{
		{Name: "calendar", Input: calendar, Sentinels: []string{"团队日历", "周会, 第一次", "2024-03-01 10:00:00", "Asia/Shanghai", "Li: Lei", "-PT15M", "attach"}},
		{Name: "card", Input: card, Sentinels: []string{"张, 三", "Zhang San", "123", "a@b.c", "photo"}},
		{Name: "empty"},
	})
}

func TestElements(t *testing.T) {
	for data, want := range map[string]string{
		calendar: `heading "团队日历" dropped "VERSION: 2.0" dropped "attach: " record "周会, 第一次\ndtstart: 2024-03-01 10:00:00 (tzid: Asia/Shanghai)\nattendee: mailto:lilei@example.com (cn: Li: Lei)\ndescription: Line one\nline two\nalarm trigger: -PT15M" `,
		card:     `dropped "VERSION: 2.1" dropped "photo: (type: JPEG)" record "Zhang San\nn: 张, 三\ntel: 123 (cell)\nemail: a@b.c" `,
	} {
		els, err := parsertest.Collect(context.Background(), fresh(t), "x.ics", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, el := range els {
			got += fmt.Sprintf("%s %q ", el.Kind, strings.TrimSuffix(el.Text, "\n\n"))
		}
		if got != strings.ReplaceAll(want, `"attach: "`, `"attach:"`) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Damage at any place loses no more than the line it is in.
func TestHostile(t *testing.T) {
	for _, doc := range []string{calendar, card} {
		for i := range doc {
			if err := parsertest.CheckSound(fresh(t), "x.ics", doc[:i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := parsertest.CheckSound(fresh(t), "x.ics", strings.Repeat("BEGIN:VEVENT\nSUMMARY:x\n", 20_000)); err != nil {
		t.Error(err)
	}
}

func FuzzICal(f *testing.F) {
	f.Add(calendar)
	f.Add(card)
	f.Fuzz(func(t *testing.T, data string) {
		if err := parsertest.CheckSound(fresh(t), "x.ics", data); err != nil {
			t.Error(err)
		}
	})
}
