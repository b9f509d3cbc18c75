// subscriptions.js - who is told of news, how far they are, and what became of the calls to them.
import { h, fill, field, form, choice, button, table, facts, dialog, confirm, say, again, refill } from "./dom.js";
import * as api from "./api.js";
import { LongTable, askedBy, keepAddress } from "./table.js";
import { controls, FOLLOWED, ofANewOne, ofASubscription, settings, NEW_WEBHOOK } from "./settings.js";
import { feedState, foreign, number, plural, span, state, titleOf, when } from "./words.js";

const DIALECTS = [["xmlrpc", "XML-RPC"], ["webhook", "Webhook"], ["amqp", "Message broker (AMQP)"], ["xmpp", "XMPP"],
  ["websub", "WebSub"], ["rsscloud", "rssCloud"], ["", "None: fetch only"]];
const HINTS = {
  xmlrpc: "http:// or https://; feedReceived() is called there.",
  webhook: "http:// or https://; the deliveries are signed.",
  amqp: "amqp://user:password@host/vhost?exchange=NAME",
  xmpp: "xmpp:user@host",
  websub: "The callback of the subscriber, which is asked whether it agrees.",
  rsscloud: "The handler of the subscriber, as http://host:port/path; it is tried at once.",
  "": "Nothing is pushed.",
};

const splitUrls = (text) => text.split(/[\s,]+/).filter(Boolean);
const lag = (s) => (s.lag === null ? h("span", { class: "none" }, "–") : [number(s.lag), s.lag_s > 0 && h("small", {}, " ", span(s.lag_s))]);

// ---- a new one ----

async function toHub(origin, endpoint, urls, words) {
  for (const url of urls)
    await api.change("POST", "hub", { "hub.mode": "subscribe", "hub.callback": endpoint,
      "hub.topic": api.address(origin, "feed", { url, type: "atom", q: words }) });
  return "The callback is asked; it appears here when it has agreed.";
}

async function toCloud(endpoint, urls) {
  const at = new URL(endpoint);
  const answer = await api.change("POST", "pleaseNotify", { domain: at.hostname.replace(/^\[|\]$/g, ""),
    port: at.port || (at.protocol === "https:" ? 443 : 80), path: at.pathname + at.search, protocol: "http-post",
    ...Object.fromEntries(urls.map((url, i) => ["url" + (i + 1), url])) });
  const result = new DOMParser().parseFromString(answer, "application/xml").documentElement;
  if (result.getAttribute("success") !== "true") throw new Error(result.getAttribute("msg") || "The handler was not taken.");
  return "The handler is registered.";
}

async function subscribe(origin, given) {
  if (given.dialect === "websub") return toHub(origin, given.endpoint, given.urls, given.q);
  if (given.dialect === "rsscloud") return toCloud(given.endpoint, given.urls);
  const made = await api.change("POST", "sub", { url: given.urls, endpoint: given.dialect && given.endpoint, sink: given.dialect,
    q: given.q, events: given.events, from: given.from, ...given.more });
  return { id: made.id, secret: made.secret };
}

const tellSecret = (secret) => dialog("The secret of the webhook", h("p", {}, "It signs the deliveries, and is told only now."), h("code", { class: "whole" }, secret));

// As a form has it.
const written = (what) => Object.fromEntries(Object.entries(what).map(([name, value]) => [name, value === true ? "yes" : value === false ? "no" : value]));

function newSubscription(ctx, done) {
  const dialect = choice(DIALECTS, "xmlrpc", { autofocus: true });
  const endpoint = h("input", { type: "text", inputmode: "url", autocomplete: "off", spellcheck: "false" });
  const feeds = h("textarea", { rows: 3, spellcheck: "false" });
  const words = h("input", { type: "text", autocomplete: "off" });
  const since = h("input", { type: "text", autocomplete: "off", placeholder: "end" });
  const from = field("From", since, "A position: start, end, a time. Without it, from now on.");
  const events = ["new", "changed", "deleted", "left", "feed"].map((name) =>
    h("label", {}, h("input", { type: "checkbox", value: name, checked: name === "new" || name === "changed" }), " ", name));
  const told = h("fieldset", { class: "events" }, h("legend", {}, "Events"), events);
  const where = field("Endpoint", endpoint, HINTS.xmlrpc);
  const list = controls([FOLLOWED]), more = controls(ofANewOne(ctx.may("admin") || ctx.me.alone)), hook = controls([NEW_WEBHOOK]);
  const own = [list.nodes, told, from, more.nodes].flat();
  hook.nodes[0].hidden = true;
  dialect.addEventListener("change", () => {
    where.querySelector("small").textContent = HINTS[dialect.value];
    endpoint.disabled = dialect.value === "";
    hook.nodes[0].hidden = dialect.value !== "webhook";
    for (const part of own) part.hidden = dialect.value === "websub" || dialect.value === "rsscloud";
  });
  const node = dialog("New subscription", form(async () => {
    const urls = splitUrls(feeds.value);
    if (dialect.value && !endpoint.value.trim()) {
      endpoint.focus();
      throw new Error("Enter the endpoint. " + HINTS[dialect.value]);
    }
    const chosen = events.map((e) => e.querySelector("input")).filter((e) => e.checked).map((e) => e.value);
    const part = (one, hidden, then) => (hidden ? then({}) : one.collect(then));
    const toOwn = dialect.value !== "websub" && dialect.value !== "rsscloud";
    const send = (what) => {
      if (!urls.length && !what.opml && !what.view) {
        feeds.focus();
        throw new Error("Name at least one feed, by its address.");
      }
      return subscribe(ctx.me.origin, { dialect: dialect.value, endpoint: endpoint.value.trim(), urls, q: words.value.trim(), more: written(what),
        from: since.value.trim(), events: dialect.value && chosen.join(",") !== "new,changed" ? chosen.join(",") : "" });
    };
    const result = await part(list, !toOwn, (a) => part(more, !toOwn, (b) => part(hook, dialect.value !== "webhook", (c) => send({ ...a, ...b, ...c }))));
    if (!result) return;
    node.close();
    done();
    if (result.secret) tellSecret(result.secret);
    else say(typeof result === "string" ? result : "Subscribed: subscription " + result.id + ".");
  }, field("Dialect", dialect), where, field("Feeds", feeds, "Addresses of feeds or pages, with spaces or lines between them."), list.nodes,
  field("Words", words, "Only entries that match, as red boat, \"a phrase\", -without. May be empty."), told, from, more.nodes, hook.nodes,
  h("footer", {}, h("button", { type: "submit", class: "main" }, "Save"))));
}

// ---- all ----

const stateOf = (s) => (s.failing_since && s.state === "active" ? "failing" : s.state);

const SHOWN = [["any", "Any"], ["active", "active"], ["failing", "failing"], ["suspended", "suspended"], ["paused", "paused"], ["late", "late"],
  ["dead", "with dead letters"], ["fetched", "fetched only"], ["wrong", "wrong"]];

const COLUMNS = [
  { name: "No.", sort: "id", kind: "number less", cell: (s) => s.id },
  { name: "Endpoint", sort: "endpoint", kind: "wide", cell: (s) => h("a", { href: "#/subscriptions/" + s.id, "aria-label": s.endpoint ? null : `Subscription ${s.id}, fetched only` },
    s.endpoint ? foreign(s.endpoint) : h("span", { class: "none" }, "fetched only")) },
  { name: "Dialect", sort: "sink", kind: "folder least", cell: (s) => (s.endpoint ? s.sink : "–") },
  { name: "State", sort: "state", kind: "narrow", cell: (s) => state(stateOf(s)) },
  { name: "Feeds", sort: "feeds", kind: "number least", cell: (s) => number(s.n_feeds) },
  { name: "Lag", sort: "lag", kind: "number lag", cell: lag },
  { name: "Dead", sort: "dead", kind: "number less", cell: (s) => number(s.dead) },
  { name: "Since", sort: "since", kind: "time least", cell: (s) => when(s.created) },
];

export async function subscriptions(ctx) {
  const usual = { q: "", state: "any", sort: "endpoint" }, asked = askedBy(ctx.query, usual);
  const search = h("input", { type: "search", value: asked.q, autocomplete: "off", spellcheck: "false" });
  const chosen = choice(SHOWN, asked.state), count = h("p", { class: "total", role: "status" });
  let any = 0, typed;

  const load = async (skip, len, signal) => {
    const got = await api.get("sub", { type: "json", brief: 1, ...asked, skip, len }, signal);
    any = got.counts.any;
    const text = got.total === any ? plural(any, "subscription") : `${number(got.total)} of ${plural(any, "subscription")}`;
    if (count.textContent !== text) count.textContent = text;
    return { total: got.total, rows: got.subscriptions };
  };
  const list = new LongTable("Subscriptions", COLUMNS, load, (by) => change({ sort: by, desc: by === asked.sort && !asked.desc }),
    () => (any ? "No subscription fits." : "There are no subscriptions yet. A new one fetches feeds, and tells an endpoint of their news."));
  const change = (what) => {
    Object.assign(asked, what);
    list.sorted(asked.sort, asked.desc);
    keepAddress("subscriptions", asked, usual);
    return list.renew(true);
  };
  search.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => change({ q: search.value.trim() }), 150);
  });
  chosen.addEventListener("change", () => change({ state: chosen.value }));
  fill(ctx.content, h("div", { class: "tools" },
    h("div", { class: "filters", role: "search", "aria-label": "Subscriptions" }, field("Search", search), field("State", chosen)),
    h("div", { class: "actions" }, button("New subscription", () => newSubscription(ctx, () => list.renew(true)), { class: "main" }))), count, list.node);
  list.sorted(asked.sort, asked.desc);
  await list.begin(ctx.was?.list);
  const renew = () => list.renew(false), stop = again(renew);
  return { renew, close() {
    stop();
    clearTimeout(typed);
    list.close();
  } };
}

// ---- one ----

function ask(title, label, hint, first, work) {
  const input = h("input", { type: "text", value: first, autocomplete: "off", autofocus: true });
  const node = dialog(title, form(async () => {
    await work(input.value.trim());
    node.close();
  }, field(label, input, hint), h("footer", {}, button("Cancel", () => node.close()), h("button", { type: "submit", class: "main" }, title))));
}

// What is one for all of its feeds.
const common = (s, list) => (s[list].length && s[list].every((one) => String(one) === String(s[list][0])) ? s[list][0] : null);
const nowOf = (s) => ({ ...s.filter, endpoint: s.endpoint, events: s.events, batch: s.batch, view: s.view, keep: s.keep, keep_entries: s.keep_entries,
  title: common(s, "names"), folder: common(s, "folders")?.join("/") });

const setting = (s, take) => [h("h2", {}, "Settings"), settings(ofASubscription(s), nowOf(s), async (what) => {
  const now = await api.sendJson("PATCH", "sub", what, { id: s.id });
  take(now);
  if (now.secret) tellSecret(now.secret);
  return nowOf(now);
})];

const about = (s) => facts([
  ["State", [state(stateOf(s)), s.failures > 0 && ` · ${s.failures} failures in a row`]],
  ["Endpoint", s.endpoint ? foreign(s.endpoint, "whole") : "none: its feeds are fetched only"],
  ["Dialect", s.endpoint && s.sink],
  ["Position", number(s.position)],
  ["Lag", lag(s)],
  ["Delivered", number(s.delivered)],
  ["Events", s.endpoint && s.events.join(", ")],
  ["Next try", s.next_try && when(s.next_try)],
  ["Left alone", s.held_until && when(s.held_until)],
  ["Fails since", s.failing_since && when(s.failing_since)],
  ["Last error", s.last_error && foreign(s.last_error, "bad")],
  ["Made", when(s.created)],
]);

const feedOf = (id, name, feed, out) => h("li", {}, h("a", { href: "#/feeds/" + id }, foreign((feed && titleOf(feed)) || name)),
  feed && [" ", h("small", {}, feedState(feed))], out && button("Take out", out, { "aria-label": "Take out " + ((feed && titleOf(feed)) || name) }));

const position = (cursor) => (cursor ? cursor.split(".")[2] : "–");

const delivery = (d) => [when(d.at), h("span", { class: d.verdict === "delivered" ? "state ok" : "state failing" }, d.verdict), d.status ?? "no answer",
  number(d.n_entries), position(d.last_cursor), d.try, d.ms + " ms", foreign(d.error || "")];

export async function subscription(ctx, rest) {
  const id = Number(rest);
  const act = async (action, more) => {
    tested.textContent = "";
    return api.change("POST", "sub", { id, action, ...more });
  };
  const what = h("div"), feeds = h("div"), calls = h("div"), letters = h("div"), tested = h("p", { role: "status" });
  const pause = button("Pause", async () => {
    take(await act(s.state === "active" ? "pause" : "resume"));
    say(s.state === "active" ? "Resumed." : "Paused.");
  });
  const forPushes = [
    button("Replay", () => ask("Replay", "Position", "start; a seq; a time such as 2026-01-31T12:00:00Z; an age such as 2h. Everything after it is delivered again.", "start",
      async (from) => done(await act("replay", { from }), "What came after it is delivered again."))),
    button("Skip", () => ask("Skip", "Position", "end, a seq, or a time. Nothing up to it is delivered.", "end", async (to) => done(await act("skip", { to }), "Skipped."))),
    button("Test", async () => {
      try {
        const answer = act("test");
        tested.textContent = "The endpoint is being called…";
        const got = await answer;
        tested.textContent = got.error ? `The test failed: ${got.error}` : `The test was answered with ${got.status ?? "no status"}.`;
      } catch (error) {
        tested.textContent = "";
        throw error;
      }
    })];
  let s, ends = false, timer;

  // Without an endpoint nothing is delivered that could be stopped or repeated. It may get one, on this page, too.
  const offer = () => {
    pause.textContent = s.state === "active" ? "Pause" : "Resume";
    pause.hidden = !s.endpoint && s.state === "active";
    for (const one of forPushes) one.hidden = !s.endpoint;
  };
  const take = (now) => {
    s = now;
    offer();
    refill(what, about(s));
    look(0);
  };
  const done = (now, what) => {
    take(now);
    say(what);
  };
  const deadRow = (d) => [d.dead, when(d.at), d.status ?? "–", position(d.cursor), foreign(d.uid), foreign(d.answer),
    h("span", { class: "actions" }, button("Retry", async () => done(await act("retry-dead", { dead: d.dead }), "It is delivered again."), { "aria-label": "Retry " + d.dead }),
      button("Drop", async () => done(await act("drop-dead", { dead: d.dead }), "Dropped."), { "aria-label": "Drop " + d.dead }))];
  const own = () => s.sink !== "websub" && s.sink !== "rsscloud";
  const takeOut = (url) => confirm("Take this feed out?", s.feeds.length === 1 ? "It is the only one, so the subscription ends." : "The others stay. Nothing of it is delivered to this subscription any more.", "Take out", async () => {
    const isLast = s.feeds.length === 1;
    await api.change("DELETE", "sub", null, { id, url });
    if (isLast) location.hash = "#/subscriptions";
    else look(0);
    say("Taken out.");
  });
  const refresh = async () => {
    const [got, log, dead] = await Promise.all([api.get("sub", { type: "json", id }), api.get("sub/log", { id, max: 50 }), api.get("sub/dead", { id })]);
    if (ends) return;
    const was = s;
    s = got.subscriptions[0];
    const known = new Map((got.feeds || []).map((f) => [f.id, f]));
    offer();
    refill(what, about(s));
    refill(calls, table("Delivery log", [["When"], ["Verdict"], ["Status", "number"], ["Entries", "number less"], ["Up to", "number less"], ["Try", "number less"], ["Took", "number less"], ["Error", "wide"]],
      log.deliveries.map(delivery), "Nothing was delivered yet."));
    refill(letters, table("Dead letters", [["No.", "number less"], ["When"], ["Status", "number less"], ["Position", "number less"], ["Entry", "wide"], ["Answer", "wide"], ["Actions"]],
        dead.dead.map(deadRow), "There are none."));
    if (!was || was.feeds.length !== s.feeds.length)
      fill(feeds, h("ul", { class: "plain" }, s.feeds.slice(0, 100).map((id, i) => feedOf(id, s.names[i] || s.urls[i], known.get(id), own() && !s.list && (() => takeOut(s.urls[i]))))),
        s.feeds.length > 100 && h("p", { class: "empty" }, `and ${number(s.feeds.length - 100)} more`));
  };
  const look = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        if (!document.hidden) await refresh();
      } catch {
        // the next look tells
      }
      if (!ends) look(3000);
    }, ms);
  };
  await refresh();
  ctx.heading.textContent = "Subscription " + id;
  fill(ctx.content,
    h("div", { class: "actions" }, pause, ...forPushes,
      button("Delete", () => confirm("Delete this subscription?", "Nothing is delivered to it any more; its log and its dead letters are deleted.", "Delete", async () => {
        await api.change("DELETE", "sub", null, { id });
        location.hash = "#/subscriptions";
        say("Deleted.");
      }), { class: "danger" })),
    tested,
    h("div", { class: "two" }, h("section", {}, h("h2", {}, "What is known"), what), h("section", {}, h("h2", {}, "Feeds"), feeds, own() && setting(s, take))),
    h("section", {}, h("h2", {}, "Delivery log"), calls),
    h("section", {}, h("h2", {}, "Dead letters"), letters));
  look(3000);
  return { close() {
    ends = true;
    clearTimeout(timer);
  } };
}
