"""Sentences made of a small vocabulary by a fixed generator. Each has a number, so that order and loss show."""

ADJ = "steady narrow well-known remote end-to-end quiet inter|opera|ble double compre|hensive sparse con|fig|urable open read-only patient hori|zontal".split()
NOUN = ("index pipe|line regis|ter docu|men|ta|tion ledger window trans|for|ma|tion schedule archive meas|ure|ment column paper reader "
        "collec|tion require|ment boundary customer office effect affili|ate workflow").split()
VERB = "keeps follows replaces describes verifies defines reflects divides confirms observes".split()
PREP = "before after beside within without beyond under".split()
TAIL = ["and nothing is lost", "as the plan demands", "which a second run confirms", "so that the order can be checked", "in every case", "(see the table)"]

HAN_A = "稳定的 开放的 完整的 独立的 可配置的 常见的 严格的 简明的 分布式的 大小一致的".split()
HAN_N = "索引 目录 文档 合同 数据库 表格 流程 人口 手册 章节 工具 用户 文字 结果 边界 日志 力学模型".split()
HAN_V = "记录 检查 替换 说明 限制 覆盖 描述 验证 保留 汇总".split()
HAN_T = ["并保证内容不会丢失", "以便核对阅读顺序", "因此第二次运行结果相同", "这一点可以由“测试”证明", "（详见后文）", "其误差不超过百分之三"]


class Words:
    """A linear congruential generator (Knuth's MMIX), the same on every machine."""

    def __init__(self, seed):
        self.state = seed
        self.n = 0

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def pick(self, items):
        return items[self.below(len(items))]

    def en(self):
        """An English sentence; | marks where a word may be hyphenated."""
        self.n += 1
        return (f"Sentence {self.n} says that the {self.pick(ADJ)} {self.pick(NOUN)} {self.pick(VERB)} the {self.pick(ADJ)} "
                f"{self.pick(NOUN)} {self.pick(PREP)} the {self.pick(NOUN)}, {self.pick(TAIL)}.")

    def zh(self):
        """A Chinese sentence; Latin words and digits stand in some, without spaces."""
        self.n += 1
        extra = self.pick(["", "", "按照ISO标准，", "在2026年，", "对于API接口，"])
        return f"第{self.n}句{extra}{self.pick(HAN_A)}{self.pick(HAN_N)}{self.pick(HAN_V)}{self.pick(HAN_A)}{self.pick(HAN_N)}，{self.pick(HAN_T)}。"

    def paragraph(self, lang, n):
        return " ".join(self.en() for _ in range(n)) if lang == "en" else "".join(self.zh() for _ in range(n))
