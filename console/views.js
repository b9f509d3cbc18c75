// views.js - questions with a name: which feeds, which words, which order; their result, and their addresses.
import { h, fill, field, form, choice, button, table, confirm, say } from "./dom.js";
import * as api from "./api.js";
import { preview } from "./preview.js";
import { foreign, number, when } from "./words.js";

const ORDERS = [["date", "Date"], ["received", "When it came in"], ["changed", "When it last changed"]];
const SETS = ["folder", "sub", "view"];

// "all", "folder:News", "sub:3", "view:NAME", or addresses: the parameters that name feeds.
function readFeeds(text) {
  const asked = { url: [], folder: [], sub: [], view: [], all: "" };
  for (const part of text.match(/(?:folder|sub|view):"[^"]*"|[^\s,]+/g) || []) {
    const set = SETS.find((name) => part.startsWith(name + ":"));
    if (part === "all") asked.all = "1";
    else if (set) asked[set].push(part.slice(set.length + 1).replace(/^"|"$/g, ""));
    else asked.url.push(part);
  }
  return asked;
}

const list = (value) => (value === undefined || value === null ? [] : [].concat(value));
function writeFeeds(v) {
  const quote = (text) => (/[\s,]/.test(text) ? `"${text}"` : text);
  return [...(v.all ? ["all"] : []), ...list(v.url), ...SETS.flatMap((name) => list(v[name]).map((one) => name + ":" + quote(String(one))))].join("\n");
}

const namesSome = (asked) => asked.all || asked.url.length + asked.folder.length + asked.sub.length + asked.view.length > 0;

// ---- all ----

export async function views(ctx) {
  const got = await api.get("view");
  fill(ctx.content,
    h("div", { class: "tools" }, h("div", { class: "actions" }, ctx.may("subscribe") && button("New view", () => (location.hash = "#/views/!new"), { class: "main" }))),
    h("p", { class: "total" }, number(got.views.length) + (got.views.length === 1 ? " view" : " views")),
    table("Views", [["Name", "wide"], ["Title", "wide less"], ["Feeds", "wide"], ["Words", "wide"], ["Order", "less"], ["Changed", "less"]],
      got.views.map((v) => [h("a", { href: "#/views/" + encodeURIComponent(v.name) }, v.name), foreign(v.title || ""), foreign(writeFeeds(v).replace(/\n/g, " ")),
        [foreign(v.q || ""), v.error && h("p", { class: "bad" }, v.error)], v.order || "date", when(v.changed)]),
      "There are no named views yet. A view is a question with a name: which feeds, which words, which order."));
  return {};
}

// ---- one ----

// What is asked, at each door of the server.
function addresses(origin, name, asked) {
  const view = name ? { view: name } : asked;
  const types = [["Atom", "atom"], ["RSS", "rss"], ["JSON", "json"], ["JSON Feed", "jsonfeed"], ["Web page", "html"], ["OPML", "opml"]];
  const merged = (type) => (name ? api.address(origin, "view/" + encodeURIComponent(name), { type }) : api.address(origin, "feeds", { ...asked, type }));
  const streamed = { ...view, order: "" };
  return [...types.map(([name, type]) => [name, merged(type)]),
    ["Smart Feed", api.address(origin, "smart/", streamed)], ["Log", api.address(origin, "log", streamed)], ["Events", api.address(origin, "events", streamed)],
    ["Archive", api.address(origin, "archive", streamed)], ["Simplefeed", api.address(origin, "simple/recent", streamed)],
    ["Feed History", api.address(origin, "history", streamed)], ["Metadata (PMH)", api.address(origin, "pmh", streamed)],
    ["WebSub topic", name ? merged("atom") : api.address(origin, "feeds", { ...asked, type: "atom" })]];
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  say("Copied.");
}

const addressTable = (rows) => h("dl", { class: "addresses" }, rows.map(([name, url]) => h("div", {}, h("dt", {}, name),
  h("dd", {}, h("code", {}, url), button("Copy", () => copy(url), { "aria-label": "Copy the address: " + name })))));

export async function view(ctx, rest) {
  const isNew = rest === "!new";
  let known = null, timer, abort;
  if (!isNew) {
    known = (await api.get("view")).views.find((v) => v.name === rest);
    if (!known) throw api.absent(`There is no view named ${rest}.`);
  }
  ctx.heading.textContent = isNew ? "New view" : known.name;
  const feeds = h("textarea", { rows: 3, spellcheck: "false", value: known ? writeFeeds(known) : "" });
  const words = h("input", { type: "search", autocomplete: "off", value: (known && known.q) || "" });
  const order = choice(ORDERS, (known && known.order) || "date");
  const name = h("input", { type: "text", autocomplete: "off", spellcheck: "false", value: known ? known.name : "" });
  const title = h("input", { type: "text", autocomplete: "off", value: (known && known.title) || "" });
  const result = h("div", { "aria-live": "polite" }), doors = h("div"), why = h("p", { class: "bad" });

  const asked = () => ({ ...readFeeds(feeds.value), q: words.value.trim(), order: order.value === "date" ? "" : order.value });
  const show = async () => {
    abort?.abort();
    abort = new AbortController();
    const now = asked();
    fill(doors, namesSome(now) || known ? addressTable(addresses(ctx.me.origin, name.value.trim() && known ? known.name : "", now)) : h("p", { class: "empty" }, "Name feeds first."));
    why.textContent = "";
    if (!namesSome(now)) {
      fill(result, h("p", { class: "empty" }, "Name feeds first."));
      return;
    }
    try {
      const got = await api.get("feeds", { ...now, type: "json", len: 15 }, abort.signal);
      const entries = got.entries || [];
      fill(result, entries.length ? h("ol", { class: "entries" }, entries.map((e) => h("li", {}, preview(e, true)))) : h("p", { class: "empty" }, "Nothing matches."));
    } catch (error) {
      if (error.name === "AbortError") return;
      why.textContent = error.message;
      fill(result);
    }
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(show, 250);
  };
  for (const input of [feeds, words, order]) input.addEventListener("input", later);

  const put = async (mayReplace) => {
    const as = name.value.trim(), now = asked();
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(as)) {
      name.focus();
      throw new Error("The name must have 1 to 64 letters, digits, dots, underscores or hyphens.");
    }
    // what this page does not show stays as it is
    const { name: _n, self: _s, created: _c, changed: _d, owner: _o, error: _e, ...kept } = known && known.name === as ? known : {};
    const body = { ...kept, title: title.value.trim(), ...now };
    for (const key of Object.keys(body)) if (body[key] === "" || body[key] === null || (Array.isArray(body[key]) && !body[key].length)) delete body[key];
    await api.sendJson("PUT", "view/" + encodeURIComponent(as), body, null, mayReplace || known?.name === as ? {} : { "If-None-Match": "*" });
    known = (await api.get("view")).views.find((v) => v.name === as);
    if (location.hash !== "#/views/" + encodeURIComponent(as)) history.replaceState(null, "", "#/views/" + encodeURIComponent(as));
    ctx.heading.textContent = as;
    say("Saved.");
    await show();
  };
  // Another view of this name is not replaced without a question.
  const save = form(async () => {
    try {
      await put(false);
    } catch (error) {
      if (error.status !== 412) throw error;
      confirm("Replace this view?", `There is a view named ${name.value.trim()} already. What it shows is replaced, for all who follow it.`, "Replace", () => put(true));
    }
  }, field("Feeds", feeds, "Addresses, with lines between them; or all, folder:News, sub:3, view:NAME."),
  field("Words", words, "As red boat, \"a phrase\", -without, title:word, red OR blue."), field("Order", order),
  field("Name", name, "Letters, digits, dots, underscores, hyphens."), field("Title", title, "May be empty."),
  ctx.may("subscribe") && h("div", { class: "actions" }, h("button", { type: "submit", class: "main" }, "Save"),
    !isNew && button("Delete", () => confirm("Delete this view?", "Its addresses stop working.", "Delete", async () => {
      await api.change("DELETE", "view/" + encodeURIComponent(known.name));
      location.hash = "#/views";
    }), { class: "danger" })));
  fill(ctx.content, h("div", { class: "two editor" }, h("section", {}, save), h("section", { "aria-label": "Result" }, h("h2", {}, "Result"), why, result)),
    h("section", {}, h("h2", {}, "Addresses"), doors));
  await show();
  return { close() {
    clearTimeout(timer);
    abort?.abort();
  } };
}
