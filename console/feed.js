// feed.js - one feed: why it is fetched when, what came of it, and what is known of it.
import { h, fill, button, dialog, table, facts, outside, confirm, say, complain, refill } from "./dom.js";
import * as api from "./api.js";
import { previews } from "./preview.js";
import { OF_A_FEED, OF_ITS_SUBSCRIPTION, SENT, settings } from "./settings.js";
import { brief, isLong, clean, feedState, foreign, number, plural, reason, span, titleOf, when } from "./words.js";

function outcome(n) {
  const parts = [["new", n.new], ["changed", n.changed], ["deleted", n.deleted]].filter(([, k]) => k > 0)
    .map(([name, k]) => `${number(k)} ${name}`);
  if (n.gap) parts.push("a gap before it");
  return parts.join(", ") || (n.ok ? "nothing new" : "failed");
}

// next_reason in words (docs/api.md)
const REASONS = { "max-age": "its Cache-Control", ttl: "its ttl", skip: "skipHours or skipDays", "retry-after": "its Retry-After", period: "its period", backoff: "errors in a row",
  ping: "a ping", reader: "a reader waits", new: "it is new", gone: "it is gone", gap: "there was a gap", hub: "its hub announces news", hand: "by hand", paused: "paused", quota: "its quota" };
const reasonOf = (name) => REASONS[name] || name;

const historyRow = (n) => [when(n.at), n.why, [h("span", { class: n.ok ? "" : "bad" }, n.status ?? "no answer")], outcome(n),
  n.next ? [span((Date.parse(n.next) - Date.parse(n.at)) / 1000), " later: ", reasonOf(n.next_reason)] : reasonOf(n.next_reason)];

function gapOf(f) {
  const gap = f.history.find((n) => n.gap);
  return gap ? ["Entries may be missing before ", when(gap.at)] : f.partial ? "Its past has not been read whole yet" : "None known";
}

function hubOf(f) {
  if (!f.hub) return "None";
  return [outside(f.hub), ` · ${f.hub_protocol}, ${f.hub_state}`, f.hub_lease_end && [" · lease ends ", when(f.hub_lease_end)],
    f.hub_delivered && [" · delivered ", when(f.hub_delivered)], f.hub_missed && " · it missed something",
    f.hub_error && [" · ", foreign(f.hub_error)]];
}

const known = (f) => facts([
  ["Address", outside(f.url)],
  ["Publisher's title", f.publisher_title === f.title ? null : f.publisher_title && foreign(f.publisher_title)],
  ["Site", f.site_url && outside(f.site_url)],
  ["Found by", f.page_url && outside(f.page_url)],
  ["Entries", number(f.entries)],
  ["Last fetch", [when(f.last_check), f.status ? ` · status ${f.status}` : ""]],
  ["Last success", when(f.last_success)],
  ["Last change", when(f.last_change)],
  ["Entries a day", f.rate === null ? "Not known yet" : Number(f.rate.toPrecision(2))],
  ["Validators", f.etag || f.last_modified ? [f.etag && h("code", {}, clean(f.etag)), " ", f.last_modified && h("code", {}, clean(f.last_modified))] : "None"],
  ["Hub", hubOf(f)],
  ["Identity", [f.identity, f.identity_reason && [": ", foreign(f.identity_reason)], f.identity_since && [" · decided ", when(f.identity_since)]]],
  ["Gap", gapOf(f)],
  ["HTML", f.sanitize ? "made safe when it comes in" : "kept as the publisher wrote it"],
  ["Subscriptions", f.subscriptions.length ? f.subscriptions.map((id, i) => [i ? ", " : "", h("a", { href: "#/subscriptions/" + id }, id)]) : "None"],
  ["Whole title", isLong(titleOf(f)) ? foreign(titleOf(f)) : null],
]);

function decision(f) {
  return h("div", { class: "decision" },
    h("p", {}, feedState(f), " · ", f.next_check ? [h("b", {}, "Next fetch ", when(f.next_check)), ". "] : [h("b", {}, "No fetch is planned"), ". "], f.why),
    f.last_error && h("p", { class: "bad" }, foreign(reason(f)), f.errors > 1 && ` (${f.errors} in a row)`));
}

async function remove(f) {
  for (const id of f.subscriptions) {
    const { subscriptions } = await api.get("sub", { type: "json", id });
    const at = subscriptions[0].feeds.indexOf(f.id);
    if (at >= 0) await api.change("DELETE", "sub", null, { id, url: subscriptions[0].urls[at] });
  }
  say("The feed is no longer subscribed.");
  location.hash = "#/feeds";
}

// Not to be subscribed any more is one thing, and to be deleted with all that is stored another one.
const forget = (f) => confirm("Forget this feed?", [`${plural(f.entries, "entry", "entries")}, all their revisions and what is known of its past are deleted. `,
  f.subscribers > 0 && `It is taken out of ${plural(f.subscribers, "subscription")}, also those of others; one that is left without a feed ends. `,
  "It cannot be undone."], "Forget", async () => {
  await api.change("DELETE", "sub/feed", null, { id: f.id });
  say("The feed is forgotten.");
  location.hash = "#/feeds";
});

// ---- what can be set ----

// The subscription that has this feed alone, so what is set of it is set of the feed. Null: there is none.
async function ownOf(f) {
  for (const id of f.subscriptions.slice(0, 20)) {
    const [s] = (await api.get("sub", { type: "json", id })).subscriptions;
    if (s.feeds.length === 1 && !s.list && s.sink !== "websub" && s.sink !== "rsscloud") return s;
  }
  return null;
}

const pick = (what, rows) => Object.fromEntries(rows.filter((row) => row.name in what).map((row) => [row.name, what[row.name]]));
const isSome = (what) => Object.keys(what).length > 0;

const sharedBy = (f) => f.subscriptions.length > 0 && h("p", { class: "empty" }, "Title, folder and copies of files are set for all feeds of a subscription: ",
  f.subscriptions.slice(0, 5).map((id, i) => [i ? ", " : "", h("a", { href: "#/subscriptions/" + id }, id)]), ".");

// What is sent with its fetches is never shown; what is saved takes the place of all that was sent.
function sentWith(f, put) {
  const save = async (what) => {
    await put(what);
    node.close();
    return {};
  };
  const node = dialog("Sent with its fetches", h("p", {}, f.secrets ? "Something is sent, and never shown. What you save takes the place of all of it." : "Nothing of its own is sent. What you save is sent to the origin of its address alone, and never shown."),
    settings([{ rows: SENT }], {}, save, f.secrets && button("Send nothing", async () => {
      await save({ cookie: "" });
      say("Nothing of its own is sent any more.");
    })));
}

async function settingsOf(ctx, current, put) {
  let own = await ownOf(current());
  const now = () => ({ freq: current().period, keep: current().keep, keep_entries: current().keep_entries, mirror: current().mirror,
    title: own?.names[0], folder: own?.folders[0]?.join("/") });
  const save = async (what) => {
    const ofFeed = pick(what, OF_A_FEED), ofOwn = pick(what, OF_ITS_SUBSCRIPTION);
    if (isSome(ofFeed)) await put(ofFeed);
    if (isSome(ofOwn)) own = await api.sendJson("PATCH", "sub", ofOwn, { id: own.id });
    if (isSome(ofOwn)) await put({});
    return now();
  };
  return [settings([{ rows: own ? [...OF_ITS_SUBSCRIPTION, ...OF_A_FEED] : OF_A_FEED }], now(), save,
    (ctx.may("admin") || ctx.me.alone) && button("Sent with its fetches", () => sentWith(current(), put))), own ? null : sharedBy(current())].filter(Boolean);
}

function entriesOf(f) {
  const { list, show: put } = previews(), none = h("p", { class: "empty" });
  const show = async () => {
    if (!f.last_success) {
      none.textContent = "No document of it was stored yet.";
      return;
    }
    const got = await api.get("feed", { url: f.url, type: "json", len: 30 });
    const entries = got.entries || got;
    none.textContent = entries.length ? "" : "It has no entries.";
    put(entries);
  };
  return { node: h("section", {}, h("h2", {}, "Entries"), none, list), show };
}

export async function feed(ctx, rest) {
  const id = Number(rest);
  let f = await api.get("sub/feed", { id }), ends = false, timer, stored = f.last_change;
  const why = h("div"), about = h("div"), past = h("div"), set = h("section", {}, h("h2", {}, "Settings"));
  const pause = button("Pause", async () => take(await api.change("PATCH", "sub/feed", { id, paused: f.paused ? 0 : 1 })));
  const entries = entriesOf(f);

  const take = (now) => {
    f = now;
    brief(ctx.heading, titleOf(f));
    pause.textContent = f.paused ? "Resume" : "Pause";
    refill(why, decision(f));
    refill(about, known(f));
    refill(past, table("History of fetches", [["When", "time"], ["Why", "wide"], ["Status", "number"], ["Outcome"], ["Next"]],
      f.history.map(historyRow), "No fetch is noted yet."));
    if (f.last_change !== stored) {
      stored = f.last_change;
      entries.show().catch(complain);
    }
  };
  const look = async (ms) => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        if (!document.hidden && !ends) take(await api.get("sub/feed", { id }));
      } catch {
        // the next look tells
      }
      if (!ends) look(3000);
    }, ms);
  };
  const fetchNow = async () => {
    const before = f.last_check, errors = f.errors;
    take(await api.change("PATCH", "sub/feed", { id, fetch: 1 }));
    say("It is being fetched.");
    for (let i = 0; i < 50 && !ends; i++) {
      await new Promise((done) => setTimeout(done, 200));
      const now = await api.get("sub/feed", { id });
      take(now);
      if (now.last_check !== before || now.errors !== errors || now.next_reason !== "hand")
        return say(now.last_error ? "Fetched: it failed." : "Fetched: " + (now.history[0] ? outcome(now.history[0]) : "done") + ".");
    }
    say("The fetch waits for its turn.");
  };
  const put = async (what) => take(await api.sendJson("PATCH", "sub/feed", what, { id }));
  fill(ctx.content,
    h("div", { class: "actions" }, button("Fetch now", fetchNow, { class: "main" }), pause,
      button("Delete", () => confirm("Delete this feed?", "It is taken out of all your subscriptions. What was stored of it stays in the log.",
        "Delete", () => remove(f)), { class: "danger" }),
      (ctx.may("admin") || ctx.me.alone) && button("Forget", () => forget(f), { class: "danger" })),
    why,
    h("section", {}, h("h2", {}, "History of fetches"), past),
    h("div", { class: "two" }, h("section", {}, h("h2", {}, "What is known"), about), set),
    entries.node);
  take(f);
  entries.show().catch(complain);
  settingsOf(ctx, () => f, put).then((nodes) => ends || set.append(...nodes), complain);
  look(3000);
  return { close() {
    ends = true;
    clearTimeout(timer);
  } };
}
