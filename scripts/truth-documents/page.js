// Sets the blocks of a document into pages of fixed size, and writes down which text stands on which page.
"use strict";
window.onerror = (message, _, line) => { document.documentElement.dataset.error = message + " (line " + line + ")"; };
const truth = [];
let body = null, notes = null, pages = [], chapter = "";
const px = (cm) => cm * 37.795;
const plain = (s) => s.replaceAll("|", "");
const shown = (s) => s.replaceAll("|", "\u00ad");

function node(tag, css, text) {
  const n = document.createElement(tag);
  n.className = css;
  if (text !== undefined) n.textContent = text;
  return n;
}

function newPage() {
  const page = node("div", "page");
  page.style.width = px(doc.width) + "px";
  page.style.height = px(doc.height) + "px";
  const [my, mx] = doc.margin.map(px);
  const width = px(doc.width) - 2 * mx;
  body = node("div", "body");
  notes = node("div", "notes");
  for (const n of [body, notes]) { n.style.left = mx + "px"; n.style.width = width + "px"; page.append(n); }
  notes.style.bottom = my + "px";
  body.style.top = my + "px";
  body.style.height = px(doc.height) - 2 * my + "px";
  if (doc.columns > 1) { body.style.columnCount = doc.columns; body.style.columnGap = px(doc.gap) + "px"; }
  document.body.append(page);
  pages.push({ page, chapter: () => "" });
  pages[pages.length - 1].chapter = chapter;
}

const fits = () => doc.columns > 1 ? body.scrollWidth <= body.clientWidth + 1 : body.scrollHeight <= body.clientHeight + 1;
const empty = () => body.children.length === 0;

function build(b, text, css) {
  switch (b.kind) {
    case "heading": return node("h" + b.level, b.css || "", text);
    case "item": {
      const n = node("div", "item level" + b.level + " " + css);
      n.append(node("span", "mark", b.mark + " "), document.createTextNode(text));
      return n;
    }
    case "code": return node("pre", "", text);
    case "figure": {
      const n = node("figure", "");
      const c = document.createElement("canvas");
      c.width = 300; c.height = b.height;
      const g = c.getContext("2d");
      g.fillStyle = "#8ac"; g.fillRect(0, 0, 300, b.height); g.fillStyle = "#246"; g.fillRect(40, 30, 120, b.height - 60);
      const i = document.createElement("img");
      i.src = c.toDataURL(); i.style.width = "90%"; i.style.height = b.height + "px";
      n.append(i, node("figcaption", "", text));
      return n;
    }
  }
  const n = node("p", (b.css || "") + (b.indent ? " indent " : " ") + css, text);
  if (b.note) n.append(node("sup", "", String(b.number)));
  return n;
}

const note = (b) => {
  const n = node("div", "note");
  n.append(node("sup", "", String(b.number)), document.createTextNode(" " + b.note));
  return n;
};

const here = () => pages.length;

function record(b, text, page, end) {
  const t = { kind: b.kind, text, page, end };
  if (b.level) t.level = b.level;
  if (b.kind === "item") t.text = b.mark + " " + text;
  if (b.kind === "figure") t.kind = "text";
  if (b.note) { t.text += b.number; }
  truth.push(t);
  if (b.note) truth.push({ kind: "footnote", text: b.number + " " + b.note, page, end: page });
}

// The most of a text that fits on the page: at least min pieces, not ending where a sentence does.
function part(b, pieces, css) {
  let lo = 0, hi = pieces.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    const n = build(b, pieces.slice(0, mid).join("").trimEnd(), css + " goes-on");
    body.append(n);
    if (fits()) lo = mid; else hi = mid - 1;
    n.remove();
  }
  while (lo > 0 && /[.。”）)，,：:;；-]\s*$/.test(pieces[lo - 1])) lo--;
  return lo;
}

function split(b) {
  const text = shown(b.text);
  return /\p{Script=Han}/u.test(text.slice(0, 6)) ? text.match(/[\w.]+|[^\s]\p{P}*|\s+/gu) : text.match(/\S+\s*/g);
}

function place(b) {
  if (b.chapter) chapter = b.chapter;
  if (b.fresh || here() === 0) newPage();
  if (b.kind === "table") return placeTable(b);
  const n = build(b, shown(b.text), "");
  if (b.span) { // above the columns
    const page = pages[here() - 1].page, top = parseFloat(body.style.top);
    n.style.cssText = `position:absolute;left:${body.style.left};top:${top}px;width:${body.style.width}`;
    page.append(n);
    const used = n.getBoundingClientRect().height + 14;
    body.style.top = top + used + "px";
    body.style.height = parseFloat(body.style.height) - used + "px";
    return record(b, plain(b.text), here(), here());
  }
  body.append(n);
  if (b.note) {
    notes.append(note(b));
    body.style.height = px(doc.height) - 2 * px(doc.margin[0]) - notes.getBoundingClientRect().height - 12 + "px";
  }
  if (fits()) return record(b, plain(b.text), here(), here());
  n.remove();
  if (b.note) {
    notes.lastChild.remove();
    body.style.height = px(doc.height) - 2 * px(doc.margin[0]) - (notes.children.length ? notes.getBoundingClientRect().height + 12 : 0) + "px";
  }
  const whole = b.kind !== "text" && b.kind !== "item" || b.note;
  const pieces = whole ? [] : split(b);
  const k = whole ? 0 : part(b, pieces, "");
  if (k < 12) { // a line or so
    if (!whole || !empty()) { lastHeading(); }
    newPage();
    for (const m of moved) body.append(m);
    moved = [];
    body.append(n);
    if (b.note) { notes.append(note(b)); body.style.height = px(doc.height) - 2 * px(doc.margin[0]) - notes.getBoundingClientRect().height - 12 + "px"; }
    if (!fits()) throw new Error("too large for a page: " + b.text);
    return record(b, plain(b.text), here(), here());
  }
  const first = here();
  body.append(build(b, pieces.slice(0, k).join("").trimEnd(), "goes-on"));
  newPage();
  const rest = build(b, pieces.slice(k).join(""), "rest");
  if (b.kind === "item") rest.querySelector(".mark").remove();
  body.append(rest);
  if (!fits()) throw new Error("too long: " + b.text);
  record(b, plain(b.text), first, here());
}

// A heading that would stand last on a page goes over to the next.
let moved = [];
function lastHeading() {
  for (let i = truth.length - 1; body.lastChild && /^H\d$/.test(body.lastChild.tagName); i--) {
    moved.unshift(body.lastChild);
    body.lastChild.remove();
    truth[i].page = truth[i].end = here() + 1;
  }
}

function placeTable(b) {
  const row = (cells, tag) => { const r = node("tr", ""); for (const c of cells) r.append(node(tag, "", c)); return r; };
  const start = () => {
    const t = node("table", "");
    t.append(row(b.rows[0], "th"));
    return t;
  };
  const caption = b.caption ? node("div", "caption", b.caption) : null;
  if (caption) body.append(caption);
  let t = start();
  body.append(t);
  for (const cells of b.rows.slice(1, 4)) t.append(row(cells, "td"));
  if (!fits()) {
    t.remove();
    if (caption) caption.remove();
    lastHeading();
    newPage();
    for (const m of moved) body.append(m);
    moved = [];
    if (caption) body.append(caption);
    body.append(t);
  }
  const first = here();
  for (const cells of b.rows.slice(4)) {
    const r = row(cells, "td");
    t.append(r);
    if (fits()) continue;
    r.remove();
    newPage();
    t = start();
    t.append(r);
    body.append(t);
  }
  truth.push({ kind: "table", text: b.caption, rows: b.rows, page: first, end: here() });
}

let number = 0;
for (const b of doc.blocks) { if (b.note) b.number = ++number; place(b); }
pages.forEach((p, i) => {
  const [my, mx] = doc.margin.map(px);
  const fill = (s) => s.replaceAll("{n}", String(i + 1)).replaceAll("{m}", String(pages.length)).replaceAll("{chapter}", p.chapter);
  for (const [where, parts] of [["head", doc.head], ["foot", doc.foot]]) {
    if (where === "head" && i === 0 && !doc.first_head) continue;
    const n = node("div", where);
    n.style.cssText = `left:${mx}px;width:${px(doc.width) - 2 * mx}px;${where === "head" ? "top" : "bottom"}:${my / 2 - 6}px`;
    const [a, z] = (i % 2 && doc.style === "manual") ? [parts[1], parts[0]] : parts;
    n.append(node("span", "", fill(a)), node("span", "", fill(z)));
    p.page.append(n);
  }
});
const out = node("script", "");
out.type = "application/json";
out.id = "truth";
out.textContent = JSON.stringify({ pages: pages.length, elements: truth }).replaceAll("<", "\\u003c");
document.body.append(out);
