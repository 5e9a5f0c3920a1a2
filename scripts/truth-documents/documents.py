"""The documents: each a style, what runs over its pages, and a list of blocks."""

from words import Words, HAN_N, NOUN

CM = 37.795  # CSS pixels


def h(level, text, **more):
    return {"kind": "heading", "level": level, "text": text, **more}


def p(text, **more):
    return {"kind": "text", "text": text, **more}


def item(text, level=1, mark="•"):
    return {"kind": "item", "level": level, "text": text, "mark": mark}


def table(caption, rows, **more):
    return {"kind": "table", "caption": caption, "rows": rows, **more}


def paper(lang):
    w = Words(7 if lang == "en" else 8)
    zh = lang == "zh"
    title = "双栏论文中阅读顺序的确定方法" if zh else "On the Order of Reading in Papers of Two Columns"
    out = [h(1, title, span=True, css="title"), p("张三  李四".replace("  ", "、") if zh else "Ada Writer and Bob Reader", span=True, css="authors"),
           p(("摘要：" if zh else "Abstract. ") + w.paragraph(lang, 4), span=True, css="abstract")]
    names = ["引言", "相关工作", "方法", "实验结果", "讨论", "结论"] if zh else ["Introduction", "Related Work", "Method", "Results", "Discussion", "Conclusion"]
    for i, name in enumerate(names, 1):
        out.append(h(2, f"{i} {name}"))
        for k in range(5):
            out.append(p(w.paragraph(lang, 3 + w.below(4)), indent=True))
            if i == 3 and k == 1:
                head = ["方法", "召回率", "时间"] if zh else ["Method", "Recall", "Time"]
                out.append(table("表1：各方法的比较" if zh else "Table 1: The methods compared",
                                 [head] + [[f"{'方案' if zh else 'Scheme'} {chr(65 + r)}", f"0.{70 + r}", f"{12 + r} ms"] for r in range(5)]))
            if i == 4 and k == 2:
                out.append({"kind": "figure", "height": 120, "text": "图1：示意图，图中没有文字" if zh else "Figure 1: A picture without any text in it"})
    return {"name": f"paper-{lang}", "lang": lang, "style": "paper", "columns": 2, "width": 21, "height": 29.7, "margin": [2.2, 1.8],
            "gap": 0.8, "head": ["", "某某学报　第12卷" if zh else "Journal of Orders, Vol. 12"], "foot": ["", "{n}"], "first_head": False, "blocks": out}


def contract():
    w = Words(9)
    out = [h(1, "软件服务合同"), h(1, "Software Services Agreement")]
    out.append(table("", [["项目 Item", "内容 Content"], ["甲方 Party A", "远山科技有限公司"], ["乙方 Party B", "Riverbank Systems Ltd."], ["签订日期 Date", "2026年3月1日"]]))
    for i in range(1, 19):
        num = "一二三四五六七八九十"
        n = num[i - 1] if i <= 10 else "十" + num[i - 11]
        out.append(h(2, f"第{n}条 {w.pick(HAN_N)}与{w.pick(HAN_N)}"))
        out.append(p(w.paragraph("zh", 3 + w.below(3))))
        out.append(h(2, f"Article {i} The {w.pick(NOUN).replace('|', '')} and the {w.pick(NOUN).replace('|', '')}"))
        out.append(p(w.paragraph("en", 3 + w.below(3))))
    return {"name": "contract", "lang": "zh", "style": "contract", "columns": 1, "width": 21, "height": 29.7, "margin": [2.6, 2.6], "gap": 0,
            "head": ["合同编号 KB-2026-018", "Confidential 保密"], "foot": ["", "第 {n} 页 共 {m} 页 / Page {n} of {m}"], "first_head": True, "blocks": out}


def slides():
    w = Words(10)
    out = [h(1, "Quarterly Review 季度汇报", css="cover"), p("The data platform team, March 2026", css="sub")]
    for i in range(1, 13):
        out.append(h(2, f"{w.pick(NOUN).replace('|', '').capitalize()} and {w.pick(NOUN).replace('|', '')} in step {i}", fresh=True))
        for k in range(3):
            out.append(item(w.en().replace("|", "") if w.below(2) else w.zh()))
            if k == 1:
                out.append(item(f"Detail {i} of the {w.pick(NOUN).replace('|', '')}", 2, "–"))
                out.append(item(f"细节{i}：{w.pick(HAN_N)}", 2, "–"))
    return {"name": "slides", "lang": "en", "style": "slides", "columns": 1, "width": 33.867, "height": 19.05, "margin": [1.6, 1.8], "gap": 0,
            "head": ["", ""], "foot": ["Riverbank Systems", "{n}"], "first_head": True, "blocks": out}


def manual():
    w = Words(11)
    out = [h(1, "The Operator's Manual 操作手册", css="cover"), p("Release 4 of the platform, for operators and for auditors.", css="sub")]
    for c in range(1, 21):
        chapter = f"{c} {w.pick(NOUN).replace('|', '').capitalize()} and {w.pick(NOUN).replace('|', '')}"
        out.append(h(1, chapter, fresh=True, chapter=chapter))
        for s in range(1, 5):
            out.append(h(2, f"{c}.{s} The {w.pick(NOUN).replace('|', '')} {w.pick(['in use', 'at rest', 'in detail'])}"))
            for k in range(4):
                out.append(p(w.paragraph("en", 4 + w.below(5))))
            if s == 1:
                out.append(h(3, f"{c}.{s}.1 Notes on the {w.pick(NOUN).replace('|', '')}"))
                out.append(p(w.paragraph("en", 3), note=f"Note {c} refers to the {w.pick(NOUN).replace('|', '')} of the chapter, and to nothing else."))
                out.append(p(w.paragraph("zh", 5)))
            if s == 2:
                out.append(p("The steps are these:"))
                for k in range(1, 5):
                    out.append(item(w.en(), 1, f"{k}."))
                out.append(p(w.paragraph("en", 3)))
            if s == 3:
                out.append({"kind": "code", "text": f"def step_{c}(window):\n    for row in window:\n        if row.size > {c}:\n            yield row\n    return None"})
                out.append(p(w.paragraph("en", 5)))
            if s == 4:
                head = ["Key", "Meaning", "Default"]
                rows = [[f"option-{c}-{r}", f"what option {r} of chapter {c} means", str(r * c)] for r in range(1, 8 + 30 * (c % 5 == 2))]
                out.append(table(f"Table {c}: Options of the chapter", [head] + rows))
                out.append(p(w.paragraph("en", 4)))
    return {"name": "manual", "lang": "en", "style": "manual", "columns": 1, "width": 17, "height": 22, "margin": [2.4, 2.2], "gap": 0,
            "head": ["{chapter}", ""], "foot": ["", "{n}"], "first_head": False, "blocks": out}


def all_documents():
    return [paper("en"), paper("zh"), contract(), slides(), manual()]
