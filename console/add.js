// add.js - add a feed by its address or that of a page; import a list of feeds.
import { h, fill, field, form, button, dialog, say, refuse } from "./dom.js";
import * as api from "./api.js";
import { preview } from "./preview.js";
import { clean, foreign, number, plural } from "./words.js";

const AT_ONCE = 1000; // feeds of one part of a list

// "example.org" is an address, too
const absolute = (text) => (/^[a-z][a-z0-9+.-]*:/i.test(text) ? text : "https://" + text);

export function addFeed(done) {
  const address = h("input", { type: "text", inputmode: "url", autocomplete: "off", spellcheck: "false", autofocus: true });
  const folder = h("input", { type: "text", autocomplete: "off" });
  const found = h("div"), shown = h("div", { class: "sample", "aria-live": "polite" });
  // A disabled button would keep Enter from finding, so it only says that it is not ready.
  const saves = h("button", { type: "submit", class: "main", "aria-disabled": "true" }, "Save");
  const ready = (is) => (is ? saves.removeAttribute("aria-disabled") : saves.setAttribute("aria-disabled", "true"));
  let chosen = null, asked = null, serial = 0;

  const show = async (candidate) => {
    const now = ++serial;
    chosen = candidate;
    ready(true);
    fill(shown, h("p", { class: "empty" }, "Reading…"));
    try {
      if (!candidate.entries) candidate.entries = (await api.get("feed", { url: candidate.href, type: "json", len: 5 })).entries || [];
      if (now !== serial) return;
      fill(shown, h("h3", {}, "Preview"), candidate.entries.length ? h("ol", { class: "entries" }, candidate.entries.map((e) => h("li", {}, preview(e))))
        : h("p", { class: "empty" }, "It shows no entries."));
    } catch (error) {
      if (now === serial) fill(shown, h("p", { class: "bad" }, error.message));
    }
  };
  const find = async () => {
    if (!address.value.trim()) throw new Error("Enter the address of a feed, or of a page that has one.");
    asked = address.value.trim();
    chosen = null;
    ready(false);
    fill(shown);
    fill(found, h("p", { class: "empty", role: "status" }, "Looking for feeds…"));
    let got;
    try {
      got = await api.get("discover", { url: absolute(asked) });
    } catch (error) {
      fill(found);
      throw error;
    }
    if (!got.feeds.length) {
      fill(found);
      throw new Error("No feed was found there.");
    }
    fill(found, h("fieldset", { class: "candidates" }, h("legend", {}, got.feeds.length === 1 ? "Feed" : "Feeds to choose from"),
      got.feeds.map((f, i) => h("div", {}, h("label", {}, h("input", { type: "radio", name: "candidate", checked: i === 0, onchange: () => show(f) }), " ",
        foreign(f.title || f.href)), h("small", {}, foreign(f.title ? f.href : ""))))));
    await show(got.feeds[0]);
  };
  address.addEventListener("input", () => {
    if (address.value.trim() !== asked) ready(false);
  });
  // Enter finds what is not found yet, and saves what is.
  const node = dialog("Add feed", form(async () => {
    if (!chosen || address.value.trim() !== asked) return find();
    const got = await api.change("POST", "sub", { url: chosen.href, folder: folder.value.trim(), known: "skip" });
    node.close();
    say(got.known && got.known.length ? "It was subscribed already." : "Added.");
    done();
  }, field("Address", address, "Of a feed, or of a page that leads to one. Enter looks there."), found, shown,
  field("Folder", folder, "As News/World. May be empty."),
  h("footer", {}, button("Find", find), saves)));
}

// ---- lists ----

const isFeed = (outline) => [...outline.attributes].some((a) => a.name.toLowerCase() === "xmlurl");

// As the declaration says; without one it is UTF-8.
async function textOf(file) {
  const bytes = await file.arrayBuffer(), start = new TextDecoder("latin1").decode(bytes.slice(0, 200));
  try {
    return new TextDecoder(/^[^<]*<\?xml[^>]*encoding=["']([\w.:-]+)/.exec(start)?.[1] || "utf-8").decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

// Cut a long list into parts, each outline with the folders around it. The server reads also what is not well-formed, and every encoding,
// so what is not cut is sent as it is: null.
async function cut(file) {
  const list = new DOMParser().parseFromString(await textOf(file), "application/xml");
  const feeds = list.querySelector("parsererror") ? [] : [...list.getElementsByTagName("*")].filter((o) => o.localName.toLowerCase() === "outline" && isFeed(o));
  if (feeds.length <= AT_ONCE) return null;
  const parts = [];
  for (let i = 0; i < feeds.length; i += AT_ONCE) {
    const some = feeds.slice(i, i + AT_ONCE), part = document.implementation.createDocument(null, "opml");
    const body = part.createElement("body"), made = new Map();
    part.documentElement.setAttribute("version", "2.0");
    part.documentElement.append(part.createElement("head"), body);
    const copyOf = (outline) => {
      if (outline.localName.toLowerCase() !== "outline") return body;
      if (!made.has(outline)) {
        const copy = part.importNode(outline, false);
        copyOf(outline.parentNode).append(copy);
        made.set(outline, copy);
      }
      return made.get(outline);
    };
    some.forEach(copyOf);
    parts.push({ n: some.length, text: new XMLSerializer().serializeToString(part) });
  }
  return { n: feeds.length, parts };
}

// `dropped`: a file to begin with.
export function importList(done, dropped) {
  const file = h("input", { type: "file", accept: ".opml,.xml,text/x-opml,application/xml,text/xml" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Import", hidden: true });
  const report = h("div", { "aria-live": "polite" });
  const drop = h("div", { class: "drop" }, field("OPML file", file), h("p", {}, "or drop it here"));

  const take = async (chosen) => {
    const list = (await cut(chosen)) || { parts: [{ n: 1, text: chosen }] };
    let sent = 0, taken = 0, known = 0, out = 0;
    const problems = [];
    bar.max = list.n || 1;
    bar.hidden = false;
    for (const part of list.parts) {
      list.n ? (bar.value = sent) : bar.removeAttribute("value");
      fill(report, h("p", {}, list.n ? `${number(sent)} of ${plural(list.n, "feed")}…` : "Reading…"));
      const got = await api.sendOpml(part.text, { known: "skip" });
      problems.push(...(got.problems || []).map((p) => ({ ...p, outline: p.outline === undefined ? undefined : p.outline + sent })));
      sent += part.n;
      taken += (got.urls || []).length;
      known += (got.known || []).length;
      out += got.left_out || 0;
    }
    bar.value = bar.max;
    fill(report, h("p", {}, `${plural(taken, "feed")} added, ${number(known)} known already, ${number(out)} left out.`),
      problems.length > 0 && h("section", {}, h("h3", {}, "Problems"), h("ul", { class: "problems", "aria-label": "Problems" }, problems.map((p) =>
        h("li", {}, p.outline !== undefined && `Outline ${p.outline}: `, clean(p.detail || ""), p.url && [" ", foreign(p.url)])))));
    done();
  };
  const tryIt = (chosen) => chosen && take(chosen).catch((error) => {
    fill(report);
    bar.hidden = true;
    refuse(error);
  });
  file.addEventListener("change", () => tryIt(file.files[0]));
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    tryIt(event.dataTransfer.files[0]);
  });
  const node = dialog("Import", drop, bar, report, h("footer", {}, button("Done", () => node.close())));
  file.focus();
  tryIt(dropped);
}
