// preview.js - an entry, with its text in a frame in which nothing runs and from which nothing is asked.
import { h, outside } from "./dom.js";
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

const timeOf = (entry) => entry.updated || entry.published;

// Its text is drawn when it is opened. `among`: it is one of several feeds, so the name of its own stands beside it.
export function preview(entry, among) {
  const rest = h("div", { class: "opened" });
  const node = h("details", {}, h("summary", {}, foreign(entry.title || "Without title"), " ",
    among && entry.source && entry.source.title && h("small", {}, foreign(entry.source.title)), timeOf(entry) && !isNaN(Date.parse(timeOf(entry))) ? when(timeOf(entry)) : null), rest);
  node.addEventListener("toggle", () => {
    if (!node.open || rest.childNodes.length) return;
    rest.append(h("p", { class: "by" }, entry.author && [foreign(entry.author), " · "], entry.link ? outside(entry.link) : "no link"), previewFrame(entry));
  });
  return node;
}
