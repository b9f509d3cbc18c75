// feeds.js - the list of feeds: searched, filtered and sorted by the server, shown in a table of which only a part exists.
import { h, again, fill, field, choice, button } from "./dom.js";
import * as api from "./api.js";
import { LongTable, askedBy, keepAddress } from "./table.js";
import { addFeed, importList } from "./add.js";
import { clean, feedState, foreign, number, reason, titleOf, when } from "./words.js";

const STATES = [["any", "Any"], ["ok", "ok"], ["failing", "failing"], ["new", "new"], ["gone", "gone"], ["paused", "paused"], ["quota", "quota"],
  ["unsubscribed", "not subscribed"]];

// Why a feed fails: the status says it in three digits, where there is one.
function briefly(f) {
  const text = f.status >= 400 ? String(f.status) : reason(f);
  return h("bdi", { class: "why", title: clean(f.last_error) }, clean(text).slice(0, 200));
}

function columns() {
  return [
    { name: "Title", sort: "title", kind: "wide", cell: (f) => h("a", { href: "#/feeds/" + f.id }, foreign(titleOf(f))) },
    { name: "State", sort: "state", kind: "narrow", cell: (f) => [feedState(f), f.last_error ? briefly(f) : null] },
    { name: "Entries", sort: "entries", kind: "number", cell: (f) => number(f.entries) },
    { name: "Fetched", sort: "checked", kind: "time", cell: (f) => when(f.last_check) },
    { name: "Changed", sort: "changed", kind: "time least", cell: (f) => when(f.last_change) },
    { name: "Next", sort: "next", kind: "time less", cell: (f) => when(f.next_check, f.paused ? "by hand" : "not") },
    { name: "Folder", sort: "folder", kind: "folder less", cell: (f) => foreign(f.folder || "") },
    { name: "Address", sort: "url", kind: "address least", cell: (f) => foreign(f.url) },
  ];
}

export async function feeds(ctx) {
  const usual = { q: "", state: "any", folder: "", sort: "title" }, asked = askedBy(ctx.query, usual);
  const search = h("input", { type: "search", value: asked.q, autocomplete: "off", spellcheck: "false" });
  const state = choice(STATES, asked.state);
  const folder = choice([["", "Any"]], "");
  const count = h("p", { class: "total", role: "status" });
  let folders = null, typed;

  const load = async (skip, len, signal) => {
    const none = asked.state === "unsubscribed";
    const got = await api.get("sub/feeds", { ...asked, state: none ? "any" : asked.state, subscribed: none ? "0" : "", skip, len }, signal);
    if (folders === null || folders.join("\n") !== got.folders.join("\n")) {
      folders = got.folders;
      fill(folder, h("option", { value: "" }, "Any"), folders.map((f) => h("option", { value: f, selected: f === asked.folder }, f)));
    }
    const text = `${number(got.total)} feed${got.total === 1 ? "" : "s"}`;
    if (count.textContent !== text) count.textContent = text;
    return { total: got.total, rows: got.feeds };
  };
  const list = new LongTable("Feeds", columns(), load, (by) => change({ sort: by, desc: by === asked.sort && !asked.desc }),
    () => (asked.q || asked.folder || asked.state !== "any" ? "No feed fits." : "There are no feeds yet. Add one by its address, or import a list: an OPML file can be dropped here."));

  const change = (what) => {
    Object.assign(asked, what);
    list.sorted(asked.sort, asked.desc);
    keepAddress("feeds", asked, usual);
    return list.renew(true);
  };
  search.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => change({ q: search.value.trim() }), 150);
  });
  state.addEventListener("change", () => change({ state: state.value }));
  folder.addEventListener("change", () => change({ folder: folder.value }));

  const renew = () => list.renew(false);
  fill(ctx.content,
    h("div", { class: "tools" },
      h("div", { class: "filters", role: "search", "aria-label": "Feeds" }, field("Search", search), field("State", state), field("Folder", folder)),
      h("div", { class: "actions" }, button("Add feed", () => addFeed(renew), { class: "main" }), button("Import", () => importList(renew)),
        h("a", { class: "button", href: "sub", download: "feedmill.opml" }, "Export"))),
    count, list.node);
  list.sorted(asked.sort, asked.desc);
  // A file that is dropped anywhere on the page is a list; without this the browser would open it in the place of the console.
  const over = (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault();
  const drop = (event) => {
    if (!event.dataTransfer?.files.length || event.defaultPrevented) return;
    event.preventDefault();
    if (!document.querySelector("dialog")) importList(renew, event.dataTransfer.files[0]);
  };
  addEventListener("dragover", over);
  addEventListener("drop", drop);
  await list.begin(ctx.was?.list);
  const stop = again(renew, 10000);
  return { renew, close() {
    stop();
    clearTimeout(typed);
    removeEventListener("dragover", over);
    removeEventListener("drop", drop);
    list.close();
  } };
}
