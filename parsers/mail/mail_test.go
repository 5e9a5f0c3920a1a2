package mail

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

func opened(tb testing.TB, set func(*Config)) connector.Container {
	tb.Helper()
	c := defaults()
	if set != nil {
		set(&c)
	}
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p.(connector.Container)
}

func mailbox0(tb testing.TB, set func(*MailboxConfig)) connector.Container {
	tb.Helper()
	c := MailboxConfig{MaxMembers: DefaultMaxMessages, MaxSize: DefaultMaxSize}
	if set != nil {
		set(&c)
	}
	p, err := MailboxPlugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p.(connector.Container)
}

// seen is a line for each element, without the fields of the header that are dropped.
func seen(tb testing.TB, p connector.Parser, data string) string {
	tb.Helper()
	els, err := parsertest.Collect(context.Background(), p, "x.eml", strings.NewReader(data))
	if err != nil {
		return "error: " + err.Error()
	}
	if err := parsertest.CheckElements(els); err != nil {
		tb.Error(err)
	}
	var b strings.Builder
	for _, el := range els {
		if el.Kind == connector.KindDropped {
			if el.Reason != connector.DropMarkup {
				fmt.Fprintf(&b, "- %s: %q\n", el.Reason, el.Text)
			}
			continue
		}
		fmt.Fprintf(&b, "%s %q\n", el.Kind, strings.TrimSuffix(el.Text, "\n\n"))
	}
	return b.String()
}

// listing is a line for each member: its path, and its content or why there is none.
func listing(tb testing.TB, p connector.Container, data string) (string, error) {
	tb.Helper()
	var b strings.Builder
	paths := map[string]bool{}
	for m, err := range p.Members(context.Background(), parsertest.Document("x", len(data)), strings.NewReader(data), int64(len(data))) {
		if err != nil {
			return b.String(), err
		}
		if m.Path == "" || strings.ContainsAny(m.Path, "/\x00\\") || strings.Trim(m.Path, ".") == "" || paths[m.Path] || m.Version == "" || (m.Reason == "") != (m.Open != nil) {
			tb.Errorf("member %+v", m)
		}
		paths[m.Path] = true
		if m.Reason != "" {
			fmt.Fprintf(&b, "%s: %s\n", m.Path, m.Reason)
			continue
		}
		r, err := m.Open(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || r.Close() != nil || int64(len(content)) != m.Size {
			tb.Errorf("%s: %d bytes, size %d, %v", m.Path, len(content), m.Size, err)
		}
		fmt.Fprintf(&b, "%s = %q\n", m.Path, content)
	}
	return b.String(), nil
}

func encoded(tb testing.TB, enc encoding.Encoding, s string) string {
	tb.Helper()
	out, err := enc.NewEncoder().String(s)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

const english = "Received: from mx.example.com by mail.example.org; Mon, 1 Jan 2024 10:00:00 +0000\r\nFrom: \"Smith, Ann\" <ann@example.com>\r\nTo: Bob <bob@example.org>,\r\n\tcarol@example.org\r\nSubject: Re: Budget for\r\n =?utf-8?Q?caf=C3=A9?= =?utf-8?Q?_sentinelsubject?=\r\nDate: Mon, 1 Jan 2024 11:00:00 +0100\r\nMessage-ID: <1@example.com>\r\nIn-Reply-To: <0@example.org>\r\nReferences: <a@example.org> <0@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"outer\"\r\n\r\nThis is a message in MIME format.\r\n--outer\r\n" +
	"Content-Type: multipart/alternative; boundary=outer-2\r\n\r\n--outer-2\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nHello Bob,=20\r\n\r\nthe budget is sentinel=\r\nplain. It is 5=80=20%.\r\n\r\nOn Sun, Dec 31, 2023 at 10:00 AM\r\nBob <bob@example.org> wrote:\r\n\r\n> What is the budget?\r\n> sentinelquoted\r\n\r\nAnn\r\n-- \r\nAnn Smith, sentinelsignature\r\n\r\n--outer-2\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hello Bob, the budget is plain.</p>\r\n--outer-2--\r\n" +
	"--outer\r\nContent-Type: text/csv; name=\"budget.csv\"\r\nContent-Disposition: attachment; filename*0=\"bud\"; filename*1=\"get.csv\"\r\nContent-Transfer-Encoding: base64\r\n\r\nYSxiCjEs\r\nMgo=\r\n--outer\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner one\r\n\r\nInner text.\r\n--outer--\r\n"

func chinese(tb testing.TB) string {
	gbk := func(s string) string { return encoded(tb, simplifiedchinese.GBK, s) }
	subject, half := gbk("答复: 第一季度财务报告"), 9 // in the midst of a character
	return "From: =?gb2312?B?" + b64(gbk("王小明")) + "?= <wang@example.cn>\nTo: =?GBK?B?" + b64(gbk("李四")) + "?= <li@example.cn>\nSubject: =?gb2312?B?" + b64(subject[:half]) + "?=\n =?gb2312?B?" + b64(subject[half:]) + "?=\nDate: Tue, 2 Jan 2024 09:30:00 +0800\nMessage-ID: <2@example.cn>\nMIME-Version: 1.0\n" +
		"Content-Type: multipart/mixed; boundary=X\n\n--X\nContent-Type: text/plain; charset=\"gb2312\"\nContent-Transfer-Encoding: base64\n\n" + b64(gbk("各位好：\n\n报告见附件，请查收。\n\n在 2024年1月1日，李四 <li@example.cn> 写道：\n\n> 请把报告发给我。\n\n祝好\n")) +
		"\n--X\nContent-Type: application/pdf; name=\"=?gb2312?B?" + b64(gbk("财务报告.pdf")) + "?=\"\nContent-Disposition: attachment; filename=\"=?gb2312?B?" + b64(gbk("财务报告.pdf")) + "?=\"\nContent-Transfer-Encoding: base64\n\nJVBERg==\n--X\nContent-Type: image/png\nContent-Disposition: inline; filename*=UTF-8''%E5%9B%BE%E7%89%87.png\nContent-ID: <img1>\nContent-Transfer-Encoding: base64\n\niVBORw==\n--X--\n"
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return opened(t, nil) }, []parsertest.Case{
		{Name: "english", Path: "a.eml", Input: english, Sentinels: []string{"café sentinelsubject", "sentinelplain", "sentinelquoted", "sentinelsignature", "MIME format"}},
		{Name: "chinese", Path: "a.eml", Input: chinese(t), Sentinels: []string{"第一季度财务报告", "请查收", "请把报告发给我"}},
		{Name: "empty"},
	})
	parsertest.Run(t, func() connector.Parser { return mailbox0(t, nil) }, []parsertest.Case{{Name: "mbox", Path: "a.mbox", Input: box}, {Name: "empty"}})
}

func TestElements(t *testing.T) {
	for _, c := range []struct{ name, data, want, members string }{
		{"english", english, `heading "Re: Budget for café sentinelsubject"
text "Hello Bob,"
text "the budget is sentinelplain. It is 5€ %."
- quoted history: "On Sun, Dec 31, 2023 at 10:00 AM\nBob <bob@example.org> wrote:\n\n> What is the budget?\n> sentinelquoted"
text "Ann"
- navigation or boilerplate: "--\nAnn Smith, sentinelsignature"
- repeated text: "Hello Bob, the budget is plain."
`, "budget.csv = \"a,b\\n1,2\\n\"\nInner-one.eml = \"Subject: Inner one\\r\\n\\r\\nInner text.\"\n"},
		{"chinese", chinese(t), `heading "答复: 第一季度财务报告"
text "各位好："
text "报告见附件，请查收。"
- quoted history: "在 2024年1月1日，李四 <li@example.cn> 写道：\n\n> 请把报告发给我。"
text "祝好"
`, "财务报告.pdf = \"%PDF\"\n图片.png = \"\\x89PNG\"\n"},
		{"HTML holds more", "Subject: x\nContent-Type: multipart/alternative; boundary=X\n\n--X\n\nYour program cannot show HTML.\n--X\nContent-Type: text/html\n\n<h2>News</h2><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>\n--X--\n",
			"heading \"x\"\n- repeated text: \"Your program cannot show HTML.\"\nheading \"News\"\ntable \"| a | b |\\n| --- | --- |\\n| 1 | 2 |\\n| 3 | 4 |\"\n", ""},
		{"HTML reply", "Subject: Re: x\nContent-Type: text/html\n\n<p>Yes.</p><p>On Monday Bob wrote:</p><blockquote>Do you come?</blockquote><p>Bye</p>",
			"heading \"Re: x\"\ntext \"Yes.\"\n- quoted history: \"On Monday Bob wrote:\"\n- quoted history: \"Do you come?\"\ntext \"Bye\"\n", ""},
		{"Outlook", "Subject: x\nContent-Type: text/html\n\n<p>Yes.</p><div>From: Bob<br>Sent: Monday<br>To: Ann<br>Subject: x</div><p>Do you come?</p>",
			"heading \"x\"\ntext \"Yes.\"\n- quoted history: \"From: Bob\\nSent: Monday\\nTo: Ann\\nSubject: x\"\n- quoted history: \"Do you come?\"\n", ""},
		{"Chinese Outlook", "Subject: x\n\n好的。\n\n发件人: 李四\n发送时间: 2024年1月1日\n收件人: 王五\n主题: 开会\n\n明天开会。\n", "heading \"x\"\ntext \"好的。\"\n- quoted history: \"发件人: 李四\\n发送时间: 2024年1月1日\\n收件人: 王五\\n主题: 开会\\n\\n明天开会。\"\n", ""},
		{"QQ", "Subject: x\n\n收到\n\n------------------ 原始邮件 ------------------\n发件人: a\n内容\n", "heading \"x\"\ntext \"收到\"\n- quoted history: \"------------------ 原始邮件 ------------------\\n发件人: a\\n内容\"\n", ""},
		{"forwarded", "Subject: Fwd: x\n\nFYI\n\n-----Original Message-----\nFrom: a\n\nThe news.\n", "heading \"Fwd: x\"\ntext \"FYI\"\ntext \"-----Original Message-----\\nFrom: a\"\ntext \"The news.\"\n", ""},
		{"only a quotation", "Subject: Re: x\n\n> hello\n", "heading \"Re: x\"\nquote \"> hello\"\n", ""},
		{"no reply", "Subject: x\n\nHe said:\n\n> hello\n\nbye\n", "heading \"x\"\ntext \"He said:\"\nquote \"> hello\"\ntext \"bye\"\n", ""},
		{"flowed", "Subject: x\nContent-Type: text/plain; format=flowed\n\nThis is one \nparagraph.\n Stuffed.\n中文的一行 \n继续。\n", "heading \"x\"\ntext \"This is one paragraph.\\nStuffed.\\n中文的一行继续。\"\n", ""},
		{"flowed, delsp", "Subject: x\nContent-Type: text/plain; format=flowed; delsp=yes\n\nwork \nflow\n> a \n> b\n", "heading \"x\"\ntext \"workflow\\n> ab\"\n", ""},
		{"ISO-2022-JP", "Subject: =?ISO-2022-JP?B?" + b64(encoded(t, japanese.ISO2022JP, "会議")) + "?=\nContent-Type: text/plain; charset=iso-2022-jp\n\n" + encoded(t, japanese.ISO2022JP, "明日の会議です。") + "\n", "heading \"会議\"\ntext \"明日の会議です。\"\n", ""},
		{"Big5", "Subject: =?big5?Q?" + strings.NewReplacer("=", "=3D", "?", "=3F", "_", "=5F").Replace(encoded(t, traditionalchinese.Big5, "會議紀錄")) + "?=\nContent-Type: text/plain; charset=big5\n\n" + encoded(t, traditionalchinese.Big5, "這是會議紀錄。") + "\n", "heading \"會議紀錄\"\ntext \"這是會議紀錄。\"\n", ""},
		{"undeclared GBK", encoded(t, simplifiedchinese.GBK, "Subject: 关于明天会议的通知\nFrom: a@b\n\n明天上午十点开会，请大家准时参加。\n"), "heading \"关于明天会议的通知\"\ntext \"明天上午十点开会，请大家准时参加。\"\n", ""},
		{"UTF-7", "Subject: x\nContent-Type: text/plain; charset=utf-7\n\nHi +Zg5ZKQ- 1 +- 1\n", "heading \"x\"\ntext \"Hi 明天 1 + 1\"\n", ""},
		{"HZ", "Subject: x\nContent-Type: text/plain; charset=hz-gb-2312\n\nThis ~{<:Ky2;~}.\n", "heading \"x\"\ntext \"This 己所不.\"\n", ""},
		{"UTF-16", utf16LE("Subject: 主题\r\nContent-Type: multipart/mixed; boundary=X\r\n\r\n--X\r\n\r\n正文\r\n--X\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nabc\r\n--X--\r\n"), "heading \"主题\"\ntext \"正文\"\n", "a.txt = \"abc\"\n"},
		{"digest", "Subject: x\nContent-Type: multipart/digest; boundary=X\n\n--X\n\nSubject: one\n\n1\n--X\n\nSubject: one\n\n2\n--X--\n", "heading \"x\"\n", "one.eml = \"Subject: one\\n\\n1\"\none (2).eml = \"Subject: one\\n\\n2\"\n"},
		{"no last boundary", "Subject: x\nContent-Type: multipart/mixed; boundary=X\n\n--X\n\none\n--X\nContent-Type: text/plain\n\ntwo", "heading \"x\"\ntext \"one\"\ntext \"two\"\n", ""},
		{"no boundary", "Subject: x\nContent-Type: multipart/mixed; boundary=X\n\nhello\n", "heading \"x\"\ntext \"hello\"\n", ""},
		{"broken base64", "Subject: x\nContent-Transfer-Encoding: base64\n\naGVs*bG8", "heading \"x\"\n- undecodable bytes: \"text/plain: 1 characters that have no place in base64\"\ntext \"hello\"\n", ""},
		{"broken quoted-printable", "Subject: x\nContent-Transfer-Encoding: quoted-printable\n\na=ZZ b=\nc =4", "heading \"x\"\ntext \"a=ZZ bc =4\"\n", ""},
		{"encrypted", "Subject: x\nContent-Type: multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=X\n\n--X\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--X\nContent-Type: application/octet-stream; name=encrypted.asc\n\n-----BEGIN PGP MESSAGE-----\n--X--\n", "heading \"x\"\n- embedded object without text: \"an encrypted mail\"\n", "part-1.bin: encrypted\nencrypted.asc: encrypted\n"},
		{"S/MIME", "Subject: x\nContent-Type: application/pkcs7-mime; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nMIAG\n", "heading \"x\"\n- embedded object without text: \"smime.p7m\"\n", "smime.p7m: encrypted, or signed in one piece, by S/MIME\n"},
		{"signed", "Subject: x\nContent-Type: multipart/signed; boundary=X\n\n--X\n\nhello\n--X\nContent-Type: application/pgp-signature; name=s.asc\n\nxx\n--X--\n", "heading \"x\"\ntext \"hello\"\n- embedded object without text: \"s.asc\"\n", ""},
		{"names", "Subject: x\nContent-Type: multipart/mixed; boundary=X\n\n--X\nContent-Disposition: attachment; filename=\"../../etc/passwd\"\n\n1\n--X\nContent-Disposition: attachment; filename=\"C:\\\\temp\\\\a.txt\"\n\n2\n--X\nContent-Disposition: attachment; filename=a.txt\n\n3\n--X\nContent-Type: image/png\n\n4\n--X\nContent-Disposition: attachment; filename=\"..\"\n\n5\n--X--\n", "heading \"x\"\n", "passwd = \"1\"\na.txt = \"2\"\na (2).txt = \"3\"\npart-4.png = \"4\"\npart-5.txt = \"5\"\n"},
		{"Apple Mail", "22\nSubject: x\n\nhello\n12345<plist>", "heading \"x\"\ntext \"hello\\n1234\"\n", ""},
	} {
		if got := seen(t, opened(t, nil), c.data); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if got, err := listing(t, opened(t, nil), c.data); err != nil || got != c.members {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.members)
		}
	}
}

func utf16LE(s string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestProperties(t *testing.T) {
	for data, want := range map[string]string{
		english:    `{"date":"2024-01-01T11:00:00+01:00","from":"Smith, Ann \u003cann@example.com\u003e","in_reply_to":"\u003c0@example.org\u003e","message_id":"\u003c1@example.com\u003e","references":["\u003ca@example.org\u003e","\u003c0@example.org\u003e"],"subject":"Re: Budget for café sentinelsubject","to":["Bob \u003cbob@example.org\u003e","carol@example.org"]}`,
		chinese(t): `{"date":"2024-01-02T09:30:00+08:00","from":"王小明 \u003cwang@example.cn\u003e","message_id":"\u003c2@example.cn\u003e","subject":"答复: 第一季度财务报告","to":["李四 \u003cli@example.cn\u003e"]}`,
	} {
		els, err := parsertest.Collect(context.Background(), opened(t, nil), "x.eml", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(els[0].Properties)
		if err != nil || string(got) != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	got := seen(t, opened(t, func(c *Config) { c.Quoted, c.Signatures = "keep", "keep" }), "Subject: Re: x\n\nyes\n\n> no?\n-- \nAnn\n")
	if want := "heading \"Re: x\"\ntext \"yes\"\ntext \"> no?\\n-- \\nAnn\"\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, set := range []func(*Config){func(c *Config) { c.MaxSize = 0 }, func(c *Config) { c.Quoted = "x" }, func(c *Config) { c.Signatures = "" }} {
		c := defaults()
		set(&c)
		if _, err := Plugin().Open(context.Background(), &c, connector.Env{}); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"no mail", "hello world\n", "no mail"},
		{"large", "Subject: x\n\n" + strings.Repeat("x", 2000), "max_size"},
		{"parts", "Subject: x\nContent-Type: multipart/mixed; boundary=X\n\n" + strings.Repeat("--X\n\n", 11_000), "parts"},
	} {
		p := opened(t, func(c *Config) { c.MaxSize = 100_000 })
		if c.name == "large" {
			p = opened(t, func(c *Config) { c.MaxSize = 1000 })
		}
		_, err := parsertest.Collect(context.Background(), p, "x.eml", strings.NewReader(c.data))
		_, other := listing(t, p, c.data)
		for _, err := range []error{err, other} {
			if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// Whatever is wrong with a mail, nothing panics and every part is text, dropped or a member.
func TestHostile(t *testing.T) {
	nested := ""
	for i := range 200 {
		nested += fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	for name, data := range map[string]string{
		"nested":       "Subject: x\n" + nested + "\nsentinel\n",
		"one boundary": "Subject: x\n" + strings.Repeat("Content-Type: multipart/mixed; boundary=b\n\n--b\n", 1000) + "\nsentinel\n",
		"fields":       "Subject: x\n" + strings.Repeat("X: y\n", 50_000) + "\nsentinel\n",
		"words":        "Subject: " + strings.Repeat("=?utf-8?B?", 50_000) + "\n\nsentinel\n",
		"addresses":    "From: " + strings.Repeat("<,(\"", 50_000) + "\n\nsentinel\n",
		"parameters":   "Subject: x\nContent-Disposition: inline; " + strings.Repeat("filename*0*=x;", 50_000) + "\n\nsentinel\n",
		"quotes":       "Subject: Re: x\n\nsentinel\n" + strings.Repeat("From: a\nSent: b\n", 20_000),
		"attributions": "Subject: Re: x\n\nsentinel\n" + strings.Repeat("On a wrote:\n\n", 3_000),
	} {
		els, err := parsertest.Collect(context.Background(), opened(t, nil), "x.eml", strings.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := parsertest.CheckElements(els); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := parsertest.CheckSentinels(els, []string{"sentinel"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := listing(t, opened(t, nil), data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range 40 {
		for _, data := range []string{english, chinese(t)} {
			cut := data[:len(data)*i/40]
			if err := parsertest.CheckSound(opened(t, nil), "x.eml", cut); err != nil {
				t.Error(err)
			}
			if _, err := listing(t, opened(t, nil), cut); err != nil && connector.ClassOf(err) != connector.ClassInvalid {
				t.Error(err)
			}
		}
	}
}

const box = "From ann@example.com Mon Jan  1 10:00:00 2024\nSubject: Hello, world\nDate: Mon, 1 Jan 2024 10:00:00 +0000\nMessage-ID: <1@x>\n\nOne.\n>From here on\n>>From twice\nFrom now on it goes.\n\n" +
	"From bob@example.com Tue Jan  2 10:00:00 2024\nSubject: =?utf-8?B?5Lya6K6u?=\nDate: Tue, 2 Jan 2024 10:00:00 +0000\n\nTwo.\n"

func TestMailbox(t *testing.T) {
	one := "20240101-Hello-world-2bdda61b.eml = \"Subject: Hello, world\\nDate: Mon, 1 Jan 2024 10:00:00 +0000\\nMessage-ID: <1@x>\\n\\nOne.\\nFrom here on\\n>From twice\\nFrom now on it goes.\\n\"\n"
	two := "20240102-会议-HASH.eml = \"Subject: =?utf-8?B?5Lya6K6u?=\\nDate: Tue, 2 Jan 2024 10:00:00 +0000\\n\\nTwo.\\n\"\n"
	counted := "From a Mon Jan  1 10:00:00 2024\nContent-Length: 62\n\nx\n\nFrom b Mon Jan  1 10:00:00 2024\n>From c\nThis is no message.\n\nFrom d Mon Jan  1 10:00:00 2024\nSubject: y\n\nz\n"
	for _, c := range []struct{ name, data, want string }{
		{"two", box, one + two},
		{"appended", box + "\nFrom c Wed Jan  3 10:00:00 2024\nSubject: c\n\nThree.\n\n", one + two + "c-HASH.eml = \"Subject: c\\n\\nThree.\\n\"\n"},
		{"counted", counted, "HASH.eml = \"Content-Length: 62\\n\\nx\\n\\nFrom b Mon Jan  1 10:00:00 2024\\n>From c\\nThis is no message.\\n\"\ny-HASH.eml = \"Subject: y\\n\\nz\\n\"\n"},
		{"miscounted", strings.Replace(counted, "62", "61", 1), "HASH.eml = \"Content-Length: 61\\n\\nx\\n\"\nHASH.eml = \"From c\\nThis is no message.\\n\"\ny-HASH.eml = \"Subject: y\\n\\nz\\n\"\n"},
		{"empty", "\n\n", ""},
		{"twins", strings.Repeat("From a Mon Jan  1 10:00:00 2024\n\nx\n\n", 2), "HASH.eml = \"\\nx\\n\"\nHASH (2).eml = \"\\nx\\n\"\n"},
		{"long line", "From a Mon Jan  1 10:00:00 2024\nSubject: l\n\n" + strings.Repeat("x", 200_000) + "\n", "l-HASH.eml = \"Subject: l\\n\\n" + strings.Repeat("x", 200_000) + "\\n\"\n"},
	} {
		got, err := listing(t, mailbox0(t, nil), c.data)
		if err != nil || masked(got) != masked(c.want) {
			t.Errorf("%s: %v\n%.3000s\nwant\n%.3000s", c.name, err, got, c.want)
		}
	}
	if _, err := listing(t, mailbox0(t, nil), "Subject: x\n\nhello\n"); connector.ClassOf(err) != connector.ClassInvalid {
		t.Error(err)
	}
	if _, err := listing(t, mailbox0(t, func(c *MailboxConfig) { c.MaxMembers = 1 }), box); connector.ClassOf(err) != connector.ClassInvalid {
		t.Error(err)
	}
	got, err := listing(t, mailbox0(t, func(c *MailboxConfig) { c.MaxSize = 100 }), box)
	if err != nil || !strings.Contains(got, "larger than max_size") || !strings.Contains(got, "Two.") {
		t.Errorf("%q, %v", got, err)
	}
}

// masked is a listing with digests in names that tests cannot know left out.
func masked(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if at := strings.Index(l, ".eml"); at >= 8 {
			stem := l[:at]
			number := ""
			if k := strings.Index(stem, " ("); k >= 0 {
				stem, number = stem[:k], stem[k:]
			}
			if !strings.HasSuffix(stem, "HASH") && len(stem) >= 8 {
				stem = stem[:len(stem)-8] + "HASH"
			}
			lines[i] = stem + number + l[at:]
		}
	}
	return strings.Join(lines, "\n")
}

func FuzzMail(f *testing.F) {
	f.Add(english)
	f.Add(chinese(f))
	f.Add(box)
	f.Fuzz(func(t *testing.T, data string) {
		if err := parsertest.CheckSound(opened(t, nil), "x.eml", data); err != nil {
			t.Error(err)
		}
		for _, p := range []connector.Container{opened(t, nil), mailbox0(t, nil)} {
			if _, err := listing(t, p, data); err != nil && connector.ClassOf(err) != connector.ClassInvalid {
				t.Error(err)
			}
		}
	})
}
