// log.js - the log as it grows; one revision in all forms, and what it changed.
import { h, fill, field, facts, outside, refuse, button } from "./dom.js";
import * as api from "./api.js";
import { follow } from "./follow.js";
import { previewFrame } from "./preview.js";
import { difference } from "./diff.js";
import { bytes, clean, clock, foreign, number } from "./words.js";

const SHOWN = 200;

function row(r) {
  return h("tr", {}, h("td", { class: "number" }, h("a", { href: "#/log/" + r.seq }, r.seq)), h("td", { class: "time" }, clock(r.at)),
    h("td", { class: "kinds" }, h("span", { class: "kind " + r.kind }, r.kind)),
    h("td", { class: "wide" }, foreign((r.entry && r.entry.title) || r.uid)),
    h("td", { class: "least address" }, h("a", { href: "#/feeds/" + r.feed }, foreign(r.url))));
}

export async function log(ctx) {
  const filter = h("input", { type: "search", autocomplete: "off", value: ctx.query.get("q") || "" });
  const body = h("tbody"), live = h("p", { class: "total", role: "status" }, "Connecting…");
  let stop = null, held = null, timer, serial = 0, isOld = false; // isOld: more has come than what is held
  const hold = button("Hold", async () => {
    const kept = held;
    held = kept ? null : [];
    hold.textContent = kept ? "Hold" : "Go on";
    if (kept && isOld) await begin();
    else kept?.forEach(put);
  });

  const put = (r) => {
    body.querySelector(".empty")?.closest("tr").remove();
    body.prepend(row(r));
    while (body.childElementCount > SHOWN) body.lastElementChild.remove();
  };
  const begin = async () => {
    const now = ++serial, asked = { q: filter.value.trim(), fields: "title" };
    stop?.();
    stop = null;
    const show = async () => {
      const end = await api.get("log", { since: "end", max: 1 });
      // a filter passes over much, so more of the log is looked at
      const got = await api.logAfter(Math.max(0, end.last_seq - (asked.q ? 5000 : SHOWN)), { ...asked, max: 1000 });
      if (now !== serial) return null;
      isOld = held !== null && stop !== null;
      if (isOld) return got.cursor;
      fill(body, got.revisions.slice(-SHOWN).reverse().map(row));
      if (!body.childElementCount) fill(body, h("tr", {}, h("td", { colspan: 5, class: "empty" }, asked.q ? "Nothing near the end of the log matches; what comes is shown." : "The log is empty.")));
      return got.cursor;
    };
    const since = await show();
    if (since) stop = follow({ ...asked, since }, (r) => (held === null ? put(r) : held.push(r)), show,
      (on) => (live.textContent = on ? "Live" : "Connecting…"));
  };
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const q = filter.value.trim();
      history.replaceState(null, "", "#/log" + (q ? "?q=" + encodeURIComponent(q) : ""));
      begin().catch(refuse);
    }, 250);
  });
  fill(ctx.content, h("div", { class: "tools" }, h("div", { class: "filters" }, field("Filter", filter, "Words, as red boat, -without, title:word.")), h("div", { class: "actions" }, hold)),
    live, h("div", { class: "scrolls tail", tabindex: "0", role: "region", "aria-label": "Log, scrollable" }, h("table", { "aria-label": "Log" },
      h("thead", {}, h("tr", {}, [["Seq", "number"], ["Time", "time"], ["Kind", "kinds"], ["Entry", "wide"], ["Feed", "least address"]].map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))), body)));
  await begin();
  return { close() {
    serial++;
    clearTimeout(timer);
    stop?.();
  } };
}

// ---- one revision ----

// Null: there is none of this number. After the end of the log the server refuses to begin (400).
async function at(seq) {
  const got = await api.logAfter(seq - 1, { max: 1, links: 1 }).catch((error) => {
    if (error.status !== 400) throw error;
    return { revisions: [] };
  });
  const [r] = got.revisions;
  return r && r.seq === seq ? r : null;
}

function textOf(r) {
  if (!r || !r.entry) return [];
  const e = r.entry, content = [].concat(e.content || []).map((c) => c.value || "").join("\n");
  const plain = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
  return [["Title", clean(e.title || "")], ["Link", e.link || ""], ["Author", clean(e.author || "")], ["Published", e.published || ""], ["Updated", e.updated || ""],
    ["Summary", plain(e.summary || "")], ["Content", plain(content)]];
}

function changes(before, now) {
  const old = new Map(textOf(before));
  const rows = textOf(now).map(([name, text]) => [name, old.get(name) || "", text]).filter(([, a, b]) => a !== b);
  if (!rows.length) return h("p", { class: "empty" }, "The texts are the same; other members differ.");
  return h("dl", { class: "changes" }, rows.map(([name, a, b]) => h("div", {}, h("dt", {}, name), h("dd", {}, difference(a, b)))));
}

// The forms are asked for when they are opened.
function formOf(name, load) {
  const shown = h("div", { class: "opened" });
  const node = h("details", {}, h("summary", {}, name), shown);
  node.addEventListener("toggle", async () => {
    if (!node.open || shown.childNodes.length) return;
    try {
      fill(shown, await load());
    } catch (error) {
      fill(shown, h("p", { class: "bad" }, error.message));
    }
  });
  return node;
}

// Its files, and what became of their copies here.
async function filesOf(item) {
  const e = JSON.parse(await api.text(item + ".json", null, "application/json"));
  const files = [...(e.enclosures || []).map((f) => [f.href, f.mirror]), ...(e.media_content || []).map((f) => [f.url, f.mirror])];
  const state = (m) => !m ? "not mirrored" : m.state + (m.size === null ? "" : ", " + bytes(m.size));
  return h("ul", { class: "files" }, files.filter(([url]) => url).map(([url, m]) =>
    h("li", {}, outside(url), " ", state(m), m && m.error && [": ", foreign(m.error)])));
}

const source = (text) => h("pre", { tabindex: "0" }, text);

export async function revision(ctx, rest) {
  const r = await at(Number(rest));
  if (!r) throw api.absent(`There is no revision ${rest}.`);
  ctx.heading.textContent = "Revision " + r.seq;
  const item = r.item && new URL(r.item).pathname.slice(1);
  const before = r.prev ? await at(r.prev) : null;
  fill(ctx.content,
    facts([["Kind", h("span", { class: "kind " + r.kind }, r.kind)], ["Stored", clock(r.at)], ["Feed", h("a", { href: "#/feeds/" + r.feed }, foreign(r.url))],
      ["Entry", foreign(r.uid, "whole")], ["Title", r.entry && foreign(r.entry.title || "")], ["Link", r.entry && r.entry.link && outside(r.entry.link)],
      ["Cursor", h("code", {}, r.cursor)], ["Before it", before ? h("a", { href: "#/log/" + r.prev }, number(r.prev)) : r.prev ? number(r.prev) + ", which is not kept any more" : "nothing: it is the first"]]),
    h("section", {}, h("h2", {}, "Difference"), before && r.entry ? changes(before, r) : h("p", { class: "empty" }, !r.entry ? "The entry was deleted." : r.prev ? "The revision before it is not kept any more." : "There is no revision before it.")),
    h("section", {}, h("h2", {}, "Forms"),
      r.entry && formOf("Preview", () => previewFrame(r.entry)),
      item && r.entry && (r.entry.enclosures || r.entry.media_content) && formOf("Files", () => filesOf(item)),
      formOf("JSON", () => source(JSON.stringify(r, null, 2))),
      item && r.entry && formOf("Atom", async () => source(await api.text(item + ".atom", null, "application/atom+xml"))),
      item && r.entry && formOf("JSON of the entry", async () => source(JSON.stringify(JSON.parse(await api.text(item + ".json", null, "application/json")), null, 2))),
      item && r.entry && formOf("HTML", async () => source(await api.text(item + ".html", null, "text/html")))));
  return {};
}
