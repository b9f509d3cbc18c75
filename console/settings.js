// settings.js - what can be set, as tables, and the form that is made of them.
//
// Of each row the API has a parameter of the same name (docs/api.md). Only what somebody has changed is sent, so what was not
// touched stays as it is, and what the server refuses is told beside its field.
import { h, field, form, choice, say } from "./dom.js";
import { age, readPeriod } from "./words.js";

const input = (attributes) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
const listed = (value) => [].concat(value ?? []).join(", ");
const split = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);
const boxes = (node) => [...node.querySelectorAll("input")];

function period(text) {
  if (!text.trim()) return undefined;
  const seconds = readPeriod(text);
  if (seconds === null) throw new Error("The period must be seconds, as 3600, or 30m, 2h, 1d, or daily, half-hourly, five-minutely.");
  return Number(seconds);
}

// "Name: value" in each line. Without a value the field is removed.
function fields(text, row) {
  const made = {};
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const at = line.indexOf(":");
    if (at < 1) throw new Error("Each line must be the name of a field, a colon and its value.");
    made[row.name + "." + line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return Object.keys(made).length ? made : undefined;
}

// make: its control; show: put a value there; read: what the API takes, undefined: nothing
const plain = { make: () => input(), show: (c, value) => (c.value = value ?? ""), read: (c) => c.value.trim() || null };
const KINDS = {
  text: plain,
  age: { ...plain, show: (c, value) => (c.value = age(value)) },
  number: { ...plain, make: () => input({ type: "number", min: 0 }), read: (c) => {
    if (c.validity.badInput) throw new Error("This must be a whole number.");
    return c.value === "" ? null : Number(c.value);
  } },
  period: { ...plain, read: (c) => period(c.value) },
  list: { ...plain, show: (c, value) => (c.value = listed(value)), read: (c) => (split(c.value).length ? split(c.value) : null) },
  yes: { make: (row) => choice([...(row.open ? [["", "As it is"]] : []), ["yes", "Yes"], ["no", "No"]], ""), // open: it is not known
    show: (c, value) => (c.value = value === true ? "yes" : value === false ? "no" : c.options[0].value), read: (c) => (c.value ? c.value === "yes" : undefined) },
  one: { make: (row) => choice(row.of, ""), show: (c, value) => (c.value = value ?? ""), read: (c) => c.value || undefined },
  some: { make: (row) => h("fieldset", { class: "events" }, h("legend", {}, row.label), row.of.map((name) => h("label", {}, h("input", { type: "checkbox", value: name }), " ", name))),
    show: (c, value) => boxes(c).forEach((box) => (box.checked = (value || []).includes(box.value))), read: (c) => boxes(c).filter((box) => box.checked).map((box) => box.value) },
  given: { ...plain, read: (c) => c.value.trim() || undefined },
  secret: { ...plain, make: () => input({ class: "hidden" }), read: (c) => c.value.trim() || undefined }, // no password that a browser should keep
  fields: { ...plain, make: () => h("textarea", { rows: 2, spellcheck: "false", autocomplete: "off" }), read: (c, row) => fields(c.value, row) },
};

// ---- the tables ----

const LEVELS = "Seconds, or 30m, 2h, 1d; or a level: daily, half-hourly, five-minutely.";
const KEEP = [
  { name: "keep", label: "Keep", kind: "age", hint: "As 30d or 2w. 0: all of it. Empty: no wish." },
  { name: "keep_entries", label: "Entries kept", kind: "number", hint: "The newest ones. 0: all. Empty: no wish." },
];
const TITLE = { name: "title", label: "Title", kind: "text", hint: "Your own name for the feed. Empty: the publisher's." };
const FOLDER = { name: "folder", label: "Folder", kind: "text", hint: "As News/World. May be empty." };
const MIRROR = { name: "mirror", label: "Mirror files", kind: "yes", hint: "Copies of the files that new entries name are kept here." };

export const OF_A_FEED = [{ name: "freq", label: "Period", kind: "period", hint: LEVELS }, ...KEEP];

// By the subscription that has this feed alone.
export const OF_ITS_SUBSCRIPTION = [TITLE, FOLDER, MIRROR];

export const SENT = [
  { name: "user_agent", label: "User agent", kind: "given" },
  { name: "cookie", label: "Cookie", kind: "secret" },
  { name: "bearer", label: "Bearer token", kind: "secret", hint: "As Authorization: Bearer." },
  { name: "proxy", label: "Proxy", kind: "secret", hint: "http://, socks5:// or socks5h://, and [user:password@]host:port." },
  { name: "fetch_header", label: "Other fields", kind: "fields", hint: "In each line a name, a colon and a value, as X-Api-Key: abc.", broad: true },
];

const EVENTS = { name: "events", label: "Events", kind: "some", of: ["new", "changed", "deleted", "left", "feed"], broad: true };

const ENDPOINT = { name: "endpoint", label: "Endpoint", kind: "text", broad: true };
const SINK = { name: "sink", label: "Dialect", kind: "one", of: [["", "As the endpoint has it"], ["xmlrpc", "XML-RPC"], ["webhook", "Webhook"]], hint: "How what comes from now on is pushed." };
const WORDS = { name: "q", label: "Words", kind: "text", hint: "Only entries that match are pushed, as red boat, \"a phrase\", -without.", broad: true };
const BATCH = { name: "batch", label: "Batch", kind: "number", hint: "The most entries in one delivery." };
const LIST = { name: "opml", label: "List", kind: "text", hint: "The address of an OPML list to follow instead.", broad: true };
const VIEWS = { name: "view", label: "Views", kind: "list", hint: "Named views whose feeds it has, with commas." };

const CONDITIONS = { title: "More conditions", rows: [
  { name: "author", label: "Author", kind: "list" }, { name: "category", label: "Category", kind: "list" },
  { name: "lang", label: "Language", kind: "list", hint: "As en, de." }, { name: "has", label: "Has", kind: "list", hint: "As enclosure." },
  { name: "after", label: "After", kind: "text", hint: "A time, or an age such as 7d." }, { name: "before", label: "Before", kind: "text" },
] };

const hook = (label, hint) => ({ title: "Webhook", rows: [
  { name: "secret", label, kind: "secret", hint, broad: true },
  { name: "header", label: "Header fields", kind: "fields", hint: "In each line a name, a colon and a value. They are not shown; a name without a value removes one.", broad: true },
] });
const WEBHOOK = hook("New secret", "whsec_ and Base64. For a day the old one signs, too.");
export const NEW_WEBHOOK = hook("Secret", "whsec_ and Base64. Without it one is made, and told once.");

// Of its feeds: `one`: there is only one, so it can have a name. What they are set to now is not one value for all of them.
const ofItsFeeds = (one) => ({ title: "Its feeds", rows: [...(one ? [TITLE] : []), FOLDER,
  { name: "freq", label: "Period", kind: "period", hint: LEVELS + " Empty: as it is." }, { ...MIRROR, open: true }, ...KEEP] });

const SAFE = { name: "sanitize", label: "Make HTML safe", kind: "yes", open: true };
export const FOLLOWED = { rows: [LIST] };
export const ofANewOne = (sends) => [{ title: "Views and batches", rows: [VIEWS, BATCH] }, CONDITIONS, { title: "Its feeds", rows: [...ofItsFeeds(true).rows, SAFE] },
  ...(sends ? [{ title: "Sent with its fetches", rows: SENT }] : [])];

export const ofASubscription = (s) => [
  { rows: [ENDPOINT, ...(s.endpoint ? [WORDS, EVENTS, BATCH] : [SINK]), ...(s.list ? [] : [VIEWS])] },
  ...(s.endpoint ? [CONDITIONS] : []), ofItsFeeds(s.feeds.length === 1), ...(s.sink === "webhook" ? [WEBHOOK] : [])];

// ---- the form ----

// "The parameter `keep` must be ..." stands beside the field Keep.
const told = (message, label) => message.replace(/^(?:The|A) (?:parameter|member) `[^`]*`(?: of the JSON body)?/, label).replace(/ Given was "[^]*"\.$/, "");

class Control {
  constructor(row) {
    Object.assign(this, { row, kind: KINDS[row.kind] });
    this.control = this.kind.make(row);
    this.node = row.kind === "some" ? this.control : field(row.label, this.control, row.hint);
    if (row.broad) this.node.classList.add("broad");
    this.control.id = this.control.id || "events";
    this.why = h("p", { class: "bad", id: this.control.id + "-why" });
    this.node.append(this.why);
    this.show();
  }

  show(value) {
    this.kind.show(this.control, value);
    this.was = JSON.stringify(this.read());
  }

  read() {
    return this.kind.read(this.control, this.row);
  }

  // What was changed, as members of the body.
  changed() {
    const value = this.read();
    if (value === undefined || JSON.stringify(value) === this.was) return {};
    return this.row.kind === "fields" ? value : { [this.row.name]: value };
  }

  is(parameter) {
    return parameter === this.row.name || String(parameter).startsWith(this.row.name + ".");
  }

  tell(message) {
    const { control, why } = this, about = new Set((control.getAttribute("aria-describedby") || "").split(" ").filter(Boolean));
    why.textContent = message ? told(message, this.row.label) : "";
    about[message ? "add" : "delete"](why.id);
    about.size ? control.setAttribute("aria-describedby", [...about].join(" ")) : control.removeAttribute("aria-describedby");
    message ? control.setAttribute("aria-invalid", "true") : control.removeAttribute("aria-invalid");
    if (!message) return;
    const part = control.closest("details");
    if (part) part.open = true;
    (boxes(control)[0] || control).focus();
  }
}

// parts: [{title, rows}]; those with a title are folded. Returns their nodes, and collect(send): send what was changed.
export function controls(parts, now = {}) {
  const all = [], grid = (rows) => h("div", { class: "settings" }, rows.map((row) => {
    const made = new Control(row);
    made.show(now[row.name]);
    all.push(made);
    return made.node;
  }));
  const nodes = parts.map(({ title, rows }) => (title ? h("details", {}, h("summary", {}, title), grid(rows)) : grid(rows)));
  // Returns what send() does, or null after something was wrong.
  const collect = async (send) => {
    const body = {};
    let at = null;
    all.forEach((one) => one.tell(""));
    try {
      for (at of all) Object.assign(body, at.changed());
      at = null;
      return await send(body);
    } catch (error) {
      const one = at || all.find((c) => c.is(error.problem?.parameter));
      if (!one) throw error;
      one.tell(error.message);
      return null;
    }
  };
  return { nodes, collect, show: (value) => all.forEach((one) => one.show(value[one.row.name])) };
}

// save(changed) returns what is so then.
export function settings(parts, now, save, ...more) {
  const made = controls(parts, now);
  return form(async () => {
    const then = await made.collect(async (body) => {
      if (Object.keys(body).length) return save(body);
      say("Nothing was changed.");
      return null;
    });
    if (!then) return;
    made.show(then);
    say("Saved.");
  }, made.nodes, h("div", { class: "actions" }, h("button", { type: "submit" }, "Save"), more));
}
