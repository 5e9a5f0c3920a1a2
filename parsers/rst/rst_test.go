package rst

import (
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/lightmarkup"
	"github.com/kbsync/kbsync/internal/lightmarkup/lightmarkuptest"
)

func parser() *Parser { return New(lightmarkup.DefaultMaxTreeSize) }

func parse(t testing.TB, src string) []connector.Element {
	t.Helper()
	els := lightmarkuptest.Parse(t, parser(), src)
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return els
}

func TestOutline(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"blank", "\n  \n", "text"},
		{"sections", "Guide\n=====\n\none\n\nPart\n----\n\ntwo\n\nNext\n====\n", "heading1[Guide] text heading2[Part] text heading1[Next]"},
		{"overline is another style", "=====\nGuide\n=====\n\nPart\n====\n\nSub\n---\n", "heading1[Guide] heading2[Part] heading3[Sub]"},
		{"indented title", "=========\n  Guide\n=========\n", "heading1[Guide]"},
		{"Chinese titles", "概述\n====\n\n安装\n----\n文字\n\n快速\n--\n", "heading1[概述] heading2[安装] text heading2[快速]"},
		{"short marks are text", "A title\n==\n", "text"},
		{"seven levels", "a\n=\n\nb\n-\n\nc\n~\n\nd\n^\n\ne\n\"\n\nf\n'\n\ng\n.\n", "heading1[a] heading2[b] heading3[c] heading4[d] heading5[e] heading6[f] heading6[g]"},
		{"markup in a title", "The ``os.path`` *module* and :py:class:`~a.B` `x <http://y>`_ c_\n=====\n", "heading1[The os.path module and a.B x c]"},
		{"transition", "a\n\n-----\n\nb\n", "text break text"},
		{"bullets", "- one\n- two\n\n  more\n\n  * in\n  * deeper\n\n- three\n", "list1{item1 item1{text text list2{item2 item2}} item1}"},
		{"numbers", "1. one\n2. two\n   on\n\n#. auto\n", "list1{item1 item1 item1}"},
		{"no list", "A. Einstein was a really\ngreat mind.\n", "text"},
		{"letters", "(a) one\n(b) two\n\niv) x\n", "list1{item1 item1} list1{item1}"},
		{"a list in a list on one line", "* - a\n  - b\n* - c\n", "list1{item1{list2{item2 item2}} item1{list2{item2}}}"},
		{"definitions", "term : class\n  What it is.\n\n  More.\nother\n  x\n\npara\n", "definition{item1{text text} item1} text"},
		{"fields", "para\n\n:name: value\n:other: x\n  y\n", "text definition{item1 item1}"},
		{"options", "-v, --verbose  Tell more\n--all          All\n\n               of it\n", "definition{item1 item1}"},
		{"a role is no field", ":ref:`x` is a link\n", "text"},
		{"quote", "para\n\n    quoted\n\n    more\n\npara\n", "text quote{text text} text"},
		{"literal", "Say::\n\n    code\n\n    more\n\nend\n", "text code! text"},
		{"literal alone", "::\n\n  code\n\nend\n", "code! text"},
		{"quoted literal", "Say::\n\n> a\n> b\n\nend\n", "text code! text"},
		{"title in a literal", "x::\n\n   Title\n   =====\n", "text code!"},
		{"code", ".. code-block:: python\n   :linenos:\n   :caption: a.py\n\n   x = 1\n\n   y = 2\n\nend\n", "code[a.py]:python! text"},
		{"highlight", ".. highlight:: c\n\nx::\n\n  int y;\n\n.. code-block::\n\n  z;\n", "text text code:c! code:c!"},
		{"literalinclude", ".. literalinclude:: a.rb\n   :language: ruby\n", "code:ruby!"},
		{"doctest", ">>> 1 + 1\n2\n\nx\n", "code:python! text"},
		{"math", ".. math::\n\n   a^2\n", "math!"},
		{"image", ".. image:: a.png\n   :alt: A cat\n", "image[A cat]"},
		{"figure", ".. figure:: a.png\n   :alt: x\n\n   图一：系统\n   结构\n\n   Legend.\n", "image[图一：系统结构]"},
		{"note", ".. note::\n   A thing.\n\n   - a\n   - b\n\nx\n", "quote{text list1{item1 item1}} text"},
		{"note on one line", ".. note:: A thing.\n", "quote"},
		{"class", ".. py:class:: A(b)\n   :module: m\n\n   Text.\n\n   .. py:method:: c()\n\n      More::\n\n         code\n", "text{text text{text code!}}"},
		{"footnotes", ".. [1] One.\n.. [#x] Two\n   lines.\n.. [CIT2002] A book.\n", "footnote footnote footnote"},
		{"target", ".. _here:\n\nTitle\n=====\n\n.. _a: http://b\n", "text heading1[Title] text"},
		{"comment", "a\n\n.. a comment\n   more of it\n\nb\n\n..\n\n   quote\n", "text dropped text dropped quote"},
		{"comment alone", ".. x\n", "dropped"},
		{"line block", "| a\n| b\n  c\n\nx\n", "text text"},
		{"raw", ".. raw:: html\n\n   <b>\n", "html"},
		{"substitution", ".. |x| replace:: y\n", "text"},
		{"grid", "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n\nx\n", "table#2 text"},
		{"simple", "=== ===\na   b\n=== ===\n1   2\n3   4\n=== ===\n\nx\n", "table#2 text"},
		{"table directive", ".. table:: 表一\n   :widths: auto\n\n   === ===\n   a   b\n   === ===\n   1   2\n   === ===\n", "table[表一]#1"},
		{"unclosed simple table", "=== ===\na   b\n\nx\n", "text text"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := lightmarkuptest.Outline(parse(t, c.src)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTables(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"grid", "+------+---+\n| a    | b |\n+======+===+\n| one  | 2 |\n| two  |   |\n+------+---+\n| 3 | 4    |\n+------+---+\n",
			`[["a" "b"]] [["one two" "2"] ["3" "4"]]`},
		{"grid, Chinese", "+--------+------+\n| 姓名   | 城市 |\n+========+======+\n| 张伟   | 北京 |\n|        | 上海 |\n+--------+------+\n", `[["姓名" "城市"]] [["张伟" "北京上海"]]`},
		{"grid, letters counted", "+------+------+\n| 姓名   | 城市   |\n+======+======+\n| 张伟   | 北京   |\n+------+------+\n", `[["姓名" "城市"]] [["张伟" "北京"]]`},
		{"grid, cell over columns", "+---+---+\n| a | b |\n+===+===+\n| both  |\n+---+---+\n", `[["a" "b"]] [["both" ""]]`},
		{"grid, cell over rows", "+---+---+\n| a | b |\n+===+===+\n| x | 1 |\n|   +---+\n|   | 2 |\n+---+---+\n| y | 3 |\n+---+---+\n", `[["a" "b"]] [["x" "1"] ["x" "2"] ["y" "3"]]`},
		{"grid without header", "+---+---+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n", `[] [["1" "2"] ["3" "4"]]`},
		{"simple", "=====  =====\ncol 1  col 2\n=====  =====\n1      a\n2      b\n       c\n\\      d\n=====  =====\n", `[["col 1" "col 2"]] [["1" "a"] ["2" "b c"] ["" "d"]]`},
		{"simple, Chinese", "====  ======\n姓名  城市\n====  ======\n张伟  北京\n李娜  哈尔滨市\n====  ======\n", `[["姓名" "城市"]] [["张伟" "北京"] ["李娜" "哈尔滨市"]]`},
		{"simple, cells over columns", "===  ===  ===\n  in      out\n--------  ---\na    b    c\n===  ===  ===\n1    2    3\n===  ===  ===\n", `[["in" "" "out"] ["a" "b" "c"]] [["1" "2" "3"]]`},
		{"simple without header", "=== ===\n1   2\n\n3   4\n=== ===\n", `[] [["1" "2"] ["3" "4"]]`},
		{"csv", ".. csv-table:: T\n   :header: \"a\", b\n   :widths: 1, 2\n\n   \"x, y\", 2\n   \"two\n   lines\", \"q\"\"q\"\n", `[["a" "b"]] [["x, y" "2"] ["two\nlines" "q\"q"]]`},
		{"csv, rows as header", ".. csv-table::\n   :header-rows: 1\n   :delim: ;\n\n   a;b\n   1;2\n", `[["a" "b"]] [["1" "2"]]`},
		{"list", ".. list-table:: T\n   :header-rows: 1\n\n   * - 名称\n     - 说明\n   * - a\n     - one\n       two\n\n   * - b\n     -\n", `[["名称" "说明"]] [["a" "one two"] ["b" ""]]`},
		{"in an item", "- x\n\n  === ===\n  1   2\n  === ===\n", `[] [["1" "2"]]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := lightmarkuptest.Table(parse(t, c.src)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
