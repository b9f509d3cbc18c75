// preview.js - an entry, with its text in a frame in which nothing runs and from which nothing is asked.
import { h, arrange, outside } from "./dom.js";
import { clean, foreign, when } from "./words.js";

const style = new URL("preview.css", import.meta.url).pathname;

// The policy comes before everything else in the frame. Its address is no place from which links could be followed:
// the sandbox opens no windows, runs no scripts, sends no forms, and the page's own policy lets no other origin in.
function frameOf(html) {
  return "<!DOCTYPE html><meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src " +
    location.origin + "/console/\"><meta name='color-scheme' content='light dark'><base target='_blank'>" +
    "<link rel='stylesheet' href='" + location.origin + style + "'><body>" + html;
}

const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

function bodyOf(entry) {
  const parts = [].concat(entry.content || []);
  const whole = parts.find((p) => p && p.value) || entry.summary_detail || (entry.summary ? { value: entry.summary, type: "text/html" } : null);
  if (!whole || !whole.value) return null;
  return whole.type === "text/plain" ? "<pre>" + escape(whole.value) + "</pre>" : whole.value;
}

export function previewFrame(entry) {
  const html = bodyOf(entry);
  return html === null ? h("p", { class: "empty" }, "It has no text.")
    : h("iframe", { sandbox: "", referrerpolicy: "no-referrer", loading: "lazy", class: "preview",
      title: "Preview of " + (clean(entry.title || "") || "an entry").slice(0, 100), srcdoc: frameOf(html) });
}

function timeOf(entry) {
  const at = entry.updated || entry.published;
  return at && !isNaN(Date.parse(at)) ? when(at) : null;
}

// Its text is drawn when it is opened. `among`: it is one of several feeds, so the name of its own stands beside it.
export function preview(entry, among) {
  const rest = h("div", { class: "opened" });
  const node = h("details", {}, h("summary", {}, foreign(entry.title || "Without title"), " ",
    among && entry.source && entry.source.title && h("small", {}, foreign(entry.source.title)), timeOf(entry)), rest);
  node.addEventListener("toggle", () => {
    if (!node.open || rest.childNodes.length) return;
    rest.append(h("p", { class: "by" }, entry.author && [foreign(entry.author), " · "], entry.link ? outside(entry.link) : "no link"), previewFrame(entry));
  });
  return node;
}

// Entries that come and go: those that stay are the same nodes, so what is opened stays open, and the focus where it is.
export function previews() {
  const list = h("ol", { class: "entries" });
  let rows = new Map();
  const rowOf = (entry, i, all) => {
    const name = (e) => e.id || e.link || e.title, twins = all.slice(0, i).filter((e) => name(e) === name(entry)).length;
    const key = name(entry) + " " + twins, text = JSON.stringify(entry), old = rows.get(key);
    if (old?.text === text) {
      old.node.querySelector("time")?.replaceWith(timeOf(entry));
      return [key, old];
    }
    const node = h("li", {}, preview(entry));
    node.firstChild.open = Boolean(old?.node.firstChild.open); // it was changed by its publisher
    return [key, { node, text, was: old?.node }];
  };
  const show = (entries) => {
    const held = document.activeElement, at = [...list.children].findIndex((li) => li.contains(held));
    rows = new Map(entries.map(rowOf));
    const made = [...rows.values()];
    arrange(list, made.map((row) => row.node));
    if (at < 0 || document.activeElement === held) return;
    const stands = list.contains(held) ? held : (made.find((row) => row.was?.contains(held))?.node || list.children[at] || list.lastElementChild)?.querySelector("summary");
    stands?.focus({ preventScroll: true });
  };
  return { list, show };
}
