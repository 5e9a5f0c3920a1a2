package mhtml

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

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

const english = "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.com/\r\nSubject: A page\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype=\"text/html\";\r\n\tboundary=\"--B\"\r\n\r\n" +
	"----B\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Location: https://example.com/\r\n\r\n<html><body><h1>Sentineltitle</h1><p class=3D\"x\">sentinel=\r\ntext caf=C3=A9</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>\r\n" +
	"----B\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\nContent-Location: https://example.com/sentinel.png\r\n\r\niVBORw0KGgo=\r\n----B--\r\n"

func chinese(tb testing.TB) string {
	page, err := simplifiedchinese.GBK.NewEncoder().String("<html><body><h1>标题</h1><p>这是一个保存的网页。</p></body></html>")
	if err != nil {
		tb.Fatal(err)
	}
	return "MIME-Version: 1.0\nSubject: =?utf-8?B?5qCH6aKY?=\nContent-Type: multipart/related; boundary=\"X\"\n\n--X\nContent-Type: text/html; charset=\"gb2312\"\nContent-Transfer-Encoding: base64\n\n" +
		base64.StdEncoding.EncodeToString([]byte(page)) + "\n--X--\n"
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t) }, []parsertest.Case{
		{Name: "english", Input: english, Sentinels: []string{"Sentineltitle", "sentineltext café", "sentinel.png"}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"标题", "保存的网页"}},
		{Name: "empty"},
	})
}

func TestElements(t *testing.T) {
	for data, want := range map[string]string{
		english:    `heading "Sentineltitle\n\n" text "sentineltext café\n\n" table "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n" dropped "https://example.com/sentinel.png" A page`,
		chinese(t): `heading "标题\n\n" text "这是一个保存的网页。\n\n" 标题`,
	} {
		els, err := parsertest.Collect(context.Background(), fresh(t), "x.mhtml", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, el := range els {
			got += fmt.Sprintf("%s %q ", el.Kind, el.Text)
		}
		if got += fmt.Sprint(els[0].Properties["title"]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Files that cannot be read say why.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"truncated", english[:len(english)-260], "cut short"},
		{"no header", "hello", "no saved page"},
		{"no page", strings.ReplaceAll(english, "text/html", "text/css"), "no page"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t), "x.mhtml", strings.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzMHTML(f *testing.F) {
	f.Add(english)
	f.Add(chinese(f))
	f.Fuzz(func(t *testing.T, data string) {
		if err := parsertest.CheckSound(fresh(t), "x.mhtml", data); err != nil {
			t.Error(err)
		}
	})
}
