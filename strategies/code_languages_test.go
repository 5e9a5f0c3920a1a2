//go:build cgo

package strategies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// codeLanguages has a type with a base, a documented and decorated method that is too long for one chunk, and a short one, in every language with
// types; STATEMENTS stands for many lines. What belongs together and what a context shows is the same for all.
var codeLanguages = []struct {
	name, text string
	statement  string   // with %d
	own        []string // together at the start of the method's first chunk
	context    []string // in the context of the method's later chunks
	symbol     string
}{
	{"a.py", "class Account(Base):\n    \"\"\"账户。\"\"\"\n    # about it\n    @cached\n    def total(self, a):\n        \"\"\"求和。\"\"\"\nSTATEMENTS    def short(self):\n        return 1\n",
		"        value%d = compute(a)\n", []string{"# about it", "@cached", "def total", "求和"}, []string{"class Account(Base)", "def total(self, a)", "求和"}, "Account.total"},
	{"a.go", "package bank\n\n// Account is one.\ntype Account struct{ Base }\n\n// Total 求和。\n//\n//go:noinline\nfunc (a *Account) Total(b int) int {\nSTATEMENTS\treturn 1\n}\n\nfunc (a *Account) Short() {}\n",
		"\tvalue%d := compute(b)\n", []string{"// Total 求和。", "//go:noinline", "func (a *Account) Total"}, []string{"func (a *Account) Total(b int) int", "求和"}, "bank.Account.Total"},
	{"a.java", "package bank;\n\n/** 账户。 */\npublic class Account extends Base implements I {\n    /** 求和。 */\n    @Override\n    public int total(int a) {\nSTATEMENTS        return 1;\n    }\n    int small() { return 1; }\n}\n",
		"        int value%d = compute(a);\n", []string{"求和", "@Override", "int total"}, []string{"class Account extends Base implements I", "int total(int a)", "求和"}, "bank.Account.total"},
	{"a.kt", "package bank\n\n/** 账户。 */\nclass Account(val x: Int) : Base() {\n    /** 求和。 */\n    @Cached\n    fun total(a: Int): Int {\nSTATEMENTS        return 1\n    }\n    fun small() = 1\n}\n",
		"        val value%d = compute(a)\n", []string{"求和", "@Cached", "fun total"}, []string{"class Account(val x: Int) : Base()", "fun total(a: Int): Int", "求和"}, "bank.Account.total"},
	{"a.scala", "package bank\n\n/** 账户。 */\nclass Account(x: Int) extends Base with I {\n  /** 求和。 */\n  @cached\n  def total(a: Int): Int = {\nSTATEMENTS    1\n  }\n  def small = 1\n}\n",
		"    val value%d = compute(a)\n", []string{"求和", "@cached", "def total"}, []string{"class Account(x: Int) extends Base with I", "def total(a: Int): Int", "求和"}, "bank.Account.total"},
	{"a.cs", "namespace Bank\n{\n    /// <summary>账户。</summary>\n    public class Account : Base\n    {\n        /// <summary>求和。</summary>\n        [Cached]\n        public int Total(int a)\n        {\nSTATEMENTS            return 1;\n        }\n        int Small() { return 1; }\n    }\n}\n",
		"            var value%d = Compute(a);\n", []string{"求和", "[Cached]", "int Total"}, []string{"namespace Bank", "class Account : Base", "int Total(int a)", "求和"}, "Bank.Account.Total"},
	{"a.cpp", "namespace bank {\n// 账户。\nclass Account : public Base {\n public:\n  // 求和。\n  [[nodiscard]] int total(int a) {\nSTATEMENTS    return 1;\n  }\n  int small() { return 1; }\n};\n}\n",
		"    int value%d = compute(a);\n", []string{"求和", "[[nodiscard]]", "int total"}, []string{"namespace bank", "class Account : public Base", "int total(int a)", "求和"}, "bank.Account.total"},
	{"a.rs", "/// 账户。\npub struct Account { x: i32 }\n\nimpl Base for Account {\n    /// 求和。\n    #[inline]\n    fn total(&self, a: i32) -> i32 {\nSTATEMENTS        1\n    }\n    fn small(&self) {}\n}\n",
		"        let value%d = compute(a);\n", []string{"求和", "#[inline]", "fn total"}, []string{"impl Base for Account", "fn total(&self, a: i32) -> i32", "求和"}, "Account.total"},
	{"a.rb", "module Bank\n  # 账户。\n  class Account < Base\n    # 求和。\n    sig { params(a: Integer).void }\n    def total(a)\nSTATEMENTS    end\n    def small\n      1\n    end\n  end\nend\n",
		"      value%d = compute(a)\n", []string{"求和", "sig {", "def total"}, []string{"module Bank", "class Account < Base", "def total(a)", "求和"}, "Bank.Account.total"},
	{"a.php", "<?php\nnamespace Bank;\n\n/** 账户。 */\nclass Account extends Base implements I\n{\n    /** 求和。 */\n    #[Cached]\n    public function total(int $a): int\n    {\nSTATEMENTS        return 1;\n    }\n    function small() { return 1; }\n}\n",
		"        $value%d = compute($a);\n", []string{"求和", "#[Cached]", "function total"}, []string{"class Account extends Base implements I", "function total(int $a): int", "求和"}, "Bank.Account.total"},
	{"a.ts", "/** 账户。 */\n@Injectable()\nexport class Account extends Base {\n  /** 求和。 */\n  @Cached()\n  total(a: number): number {\nSTATEMENTS    return 1;\n  }\n  small() { return 1; }\n}\n",
		"    const value%d = compute(a);\n", []string{"求和", "@Cached()", "total(a: number)"}, []string{"class Account extends Base", "total(a: number): number", "求和"}, "Account.total"},
	{"a.tsx", "export class Account extends Base {\n  /** 求和。 */\n  total(a: number) {\nSTATEMENTS    return <p>1</p>;\n  }\n  small() { return 1; }\n}\n",
		"    const value%d = compute(a);\n", []string{"求和", "total(a: number)"}, []string{"class Account extends Base", "total(a: number)", "求和"}, "Account.total"},
	{"a.js", "class Account extends Base {\n  /** 求和。 */\n  async total(a) {\nSTATEMENTS    return 1;\n  }\n  small() { return 1; }\n}\n",
		"    const value%d = compute(a);\n", []string{"求和", "async total"}, []string{"class Account extends Base", "async total(a)", "求和"}, "Account.total"},
	{"a.vue", "<template>\n  <p>你好</p>\n</template>\n\n<script lang=\"ts\">\nexport class Account extends Base {\n  /** 求和。 */\n  total(a: number) {\nSTATEMENTS    return 1;\n  }\n  small() { return 1; }\n}\n</script>\n",
		"    const value%d = compute(a);\n", []string{"求和", "total(a: number)"}, []string{"<script", "class Account extends Base", "total(a: number)", "求和"}, "Account.total"},
	{"a.hs", "module Bank where\n\n-- | 账户。\ninstance Base Account where\n  -- | 求和。\n  total a = do\nSTATEMENTS    return a\n  small = 1\n",
		"    value%d <- compute a\n", []string{"求和", "total a"}, []string{"instance Base Account where", "total a", "求和"}, "Bank.Base.total"},
	{"a.lua", "-- 账户。\nlocal Account = {}\n\n-- 求和。\nfunction Account:total(a)\nSTATEMENTS  return 1\nend\n\nfunction Account:small() end\n",
		"  local value%d = compute(a)\n", []string{"求和", "function Account:total"}, []string{"function Account:total(a)", "求和"}, "Account.total"},
	{"a.c", "#include <x.h>\n\n/* 求和。 */\n__attribute__((noinline))\nstatic int total(int a)\n{\nSTATEMENTS  return 1;\n}\n\nint small(void) { return 1; }\n",
		"  int value%d = compute(a);\n", []string{"求和", "__attribute__", "int total"}, []string{"static int total(int a)", "求和"}, "total"},
	{"a.sh", "#!/bin/bash\n\n# 求和。\ntotal() {\nSTATEMENTS  return 1\n}\n\nsmall() { echo 1; }\n",
		"  value%d=$(compute \"$1\")\n", []string{"求和", "total() {"}, []string{"total() {", "求和"}, "total"},
}

// TestCodeContextOfEveryLanguage: doc comments and decorators stay with their owner, and every piece of a method that is cut stands below the type
// with its bases, the enclosing namespaces, its own signature and its own doc comment.
func TestCodeContextOfEveryLanguage(t *testing.T) {
	for _, l := range codeLanguages {
		t.Run(l.name, func(t *testing.T) {
			var body strings.Builder
			for i := range 60 {
				fmt.Fprintf(&body, l.statement, i)
			}
			text := strings.Replace(l.text, "STATEMENTS", body.String(), 1)
			chunks := lawful(t, openCode(t, 600), codeElements(t, l.name, text))
			pieces, first := 0, false
			for _, c := range chunks {
				if c.Metadata["symbol"] != l.symbol {
					continue
				}
				if c.Metadata["symbol_kind"] != "method" && c.Metadata["symbol_kind"] != "function" {
					t.Errorf("kind %v", c.Metadata["symbol_kind"])
				}
				if !strings.Contains(c.Text, "value") {
					continue
				}
				pieces++
				if strings.Contains(c.Text, "value0 ") || strings.Contains(c.Text, "value0=") {
					first = true
					missingWords(t, "the first chunk", c, c.Text, l.own)
				} else {
					missingWords(t, "the context", c, c.Context, l.context)
				}
			}
			if pieces < 3 || !first {
				t.Errorf("%d pieces of %s, the first among them: %t", pieces, l.symbol, first)
				for _, c := range chunks {
					t.Logf("%v %q %q", c.Metadata, c.Context, c.Text)
				}
			}
		})
	}
}

func missingWords(t *testing.T, what string, c connector.Chunk, in string, words []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(in, w) {
			t.Errorf("%s lacks %q: %q %q", what, w, c.Context, c.Text)
		}
	}
}

// TestCodeSymbols: small siblings that share a chunk are listed by their paths; a chunk of one symbol has that one's.
func TestCodeSymbols(t *testing.T) {
	text := "package bank;\n\nclass Account {\n    int one() { return 1; }\n    int two() { return 2; }\n    int big() {\n" + strings.Repeat("        compute(1);\n", 12) + "    }\n}\n"
	var got []string
	for _, c := range lawful(t, openCode(t, 300), codeElements(t, "A.java", text)) {
		got = append(got, fmt.Sprintf("%v %v %v", c.Metadata["symbol"], c.Metadata["symbol_kind"], c.Metadata["symbols"]))
	}
	want := "bank.Account class [bank.Account bank.Account.one bank.Account.two]|bank.Account.big method <nil>"
	if strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

// TestCodePacksSiblings: neighbours below one parent share a chunk while they fit; those of different parents do not.
func TestCodePacksSiblings(t *testing.T) {
	var b strings.Builder
	for _, class := range []string{"A", "B"} {
		fmt.Fprintf(&b, "class %s:\n", class)
		for i := range 12 {
			fmt.Fprintf(&b, "    def m%d(self):\n        return %d\n\n", i, i)
		}
	}
	chunks := lawful(t, openCode(t, 250), codeElements(t, "x.py", b.String()))
	for i, c := range chunks {
		if strings.Contains(c.Text, "class B") && strings.Index(c.Text, "class B") > 0 {
			t.Errorf("chunk %d holds members of both classes: %q", i, c.Text)
		}
		if n := strings.Count(c.Text, "def "); n < 3 && i%(len(chunks)/2) != len(chunks)/2-1 {
			t.Errorf("chunk %d of %d holds %d methods alone: %q", i, len(chunks), n, c.Text)
		}
	}
}
