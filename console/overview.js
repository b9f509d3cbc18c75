// overview.js - what happens now, what waits, and what is wrong, with a way to where it can be mended.
import { h, button, again, fill, refill } from "./dom.js";
import * as api from "./api.js";
import { follow } from "./follow.js";
import { plot } from "./plot.js";
import { bytes, clock, foreign, number, plural, reason, span, titleOf, when } from "./words.js";

// A rate is that of the last 16 s: what comes every five would be spikes otherwise.
const EVERY_MS = 2000, KEPT = 150, OVER_MS = 16000;
const RATES = [
  ["Entries", "a minute", (d) => d.entries_new_total + d.entries_changed_total, ""],
  ["Fetches", "a minute", (d) => d.polls_total, ""],
  ["Errors", "a minute", (d) => d.fetch_failed_total + d.push_failed_total, "bad"],
  ["Pushes", "a minute", (d) => d.push_entries_total, ""],
];

// ---- samples of /metrics: they go on while other pages are shown ----

// What was measured outlives a reload of the page, if that did not take long.
function kept() {
  try {
    const { at, samples } = JSON.parse(sessionStorage.getItem("samples"));
    return Date.now() - at < 10000 && samples.length === RATES.length ? samples : null;
  } catch {
    return null;
  }
}

const samples = kept() || RATES.map(() => []);
let last = null, timer = 0, listener = null, recent = []; // what was read within OVER_MS

function take(now) {
  // after a restart of the daemon its counters begin anew
  recent = recent.filter((before) => now.at - before.at <= OVER_MS && now.polls_total >= before.polls_total);
  const first = recent[0];
  if (first && now.at > first.at) {
    const rise = new Proxy({}, { get: (_, name) => Math.max(0, (now[name] || 0) - (first[name] || 0)) });
    RATES.forEach(([, , count], i) => {
      samples[i].push((count(rise) * 60000) / (now.at - first.at));
      if (samples[i].length > KEPT) samples[i].shift();
    });
  }
  recent.push(now);
  last = now;
  listener?.(now);
  try {
    sessionStorage.setItem("samples", JSON.stringify({ at: Date.now(), samples }));
  } catch {
    // the browser keeps nothing: a reload begins anew
  }
}

async function sample() {
  try {
    if (!document.hidden) take(await api.metrics());
  } catch {
    // the next sample tells
  }
  if (timer) timer = setTimeout(sample, EVERY_MS);
}

export function keepSamples(on) {
  clearTimeout(timer);
  timer = on ? setTimeout(sample, 0) : 0;
  if (on) return;
  last = null;
  recent = [];
  samples.forEach((row) => (row.length = 0));
  try {
    sessionStorage.removeItem("samples");
  } catch {
    // nothing is kept
  }
}

// ---- what is wrong ----

const trouble = (level, href, title, why) => h("li", { class: level },
  h("a", { href }, title), why && h("p", {}, why));

// Of what is wrong the first ones, and a way to all of them.
function found(total, rows, address, what) {
  if (total > rows.length) rows.push(trouble("more", address, `All ${number(total)} ${what}`));
  return { total, rows };
}

async function wrongFeeds(name, words) {
  const { total, feeds } = await api.get("sub/feeds", { state: name, sort: "changed", desc: 1, len: 8 });
  return found(total, feeds.map((f) => trouble("feed", "#/feeds/" + f.id, foreign(titleOf(f)),
    [words, f.last_error && [": ", foreign(reason(f))], f.last_check && [" · ", when(f.last_check)]])), "#/feeds?state=" + name, `feeds that are ${name}`);
}

function wrongSub(s) {
  if (s.state === "suspended") return ["It is suspended", s.last_error && [": ", foreign(s.last_error)]];
  if (s.state === "active" && s.failing_since) return ["It has failed for ", span((Date.now() - Date.parse(s.failing_since)) / 1000), s.last_error && [": ", foreign(s.last_error)]];
  return `It has ${plural(s.dead, "dead letter")}`;
}

async function wrongSubs(tell) {
  const { total, counts, subscriptions } = await api.get("sub", { type: "json", brief: 1, state: "wrong", sort: "state", desc: 1, len: 8 });
  tell(counts);
  return found(total, subscriptions.map((s) => trouble("sub", "#/subscriptions/" + s.id,
    ["Subscription " + s.id, s.endpoint && [" · ", foreign(s.endpoint)]], wrongSub(s))), "#/subscriptions?state=wrong", "subscriptions that are wrong");
}

// What the notifier of this node measures; which ones they are is found when somebody wants to know.
const LATE_S = 300;
const late = () => {
  const behind = last?.push_lag_seconds || 0;
  return behind > LATE_S ? { total: 1, rows: [trouble("sub", "#/subscriptions?state=late&sort=lag&desc=1", "Deliveries are late", `The oldest has waited for ${span(behind)}`)] } : { total: 0, rows: [] };
};

async function wrongServer() {
  const { reasons = [], details = [] } = await api.ready();
  return { total: reasons.length, rows: reasons.map((reason, i) => trouble("server", reason === "nodes" ? "#/nodes" : "#/log", "Server: " + reason, details[i])) };
}

async function wrong(role, tell) {
  const sources = [wrongServer()];
  if (role !== "read") sources.push(wrongFeeds("failing", "It fails"), wrongFeeds("gone", "It is gone"), wrongSubs(tell), late());
  const got = (await Promise.allSettled(sources)).filter((g) => g.status === "fulfilled").map((g) => g.value);
  return { total: got.reduce((sum, { total }) => sum + total, 0), rows: got.flatMap(({ rows }) => rows), isWhole: got.length === sources.length };
}

// ---- how many there are ----

const STATES = [["active", "Active"], ["failing", "Failing"], ["suspended", "Suspended"], ["paused", "Paused"], ["dead", "Dead letters"], ["fetched", "Fetched only"]];

const numbers = (counts) => STATES.map(([name, text]) => h("div", {}, h("dt", {}, text),
  h("dd", {}, h("a", { href: "#/subscriptions?state=" + name, "aria-label": `${text}: ${plural(counts[name], "subscription")}` }, number(counts[name])))));

// ---- what waits ----

function gauges(m) {
  const age = (s) => s >= 1 && span(s);
  return [
    ["Feeds waiting", number(m.fetch_queued), age(m.fetch_queue_oldest_age_seconds)],
    ["Fetches running", number(m.fetch_running)],
    ["Writes waiting", number(m.store_queued), age(m.store_queue_oldest_age_seconds)],
    ["Requests held", number(m.http_held)],
    ["Calls running", number(m.push_running)],
    ["Push lag", number(m.push_lag_revisions), age(m.push_lag_seconds)],
    ["Index lag", number(m.index_lag)],
    ["Event streams", number(m.event_streams)],
    ["Connections", number(m.http_connections)],
    ["Log", number(m.log_seq), "revisions"],
    ["Database", bytes(m.database_bytes || 0)],
  ];
}

export async function overview(ctx) {
  const plots = RATES.map(([name, unit, , kind]) => plot(name, unit, KEPT, kind));
  const waits = h("dl", { class: "gauges" }), subs = h("dl", { class: "gauges sums" });
  const wrongs = h("ul", { class: "wrong" }), news = h("ul", { class: "news" });
  const fine = h("p", { class: "empty" }, "Looking…");
  const count = h("span", { class: "count" });
  let ends = false;

  const draw = (m) => {
    plots.forEach((p, i) => p.show(samples[i]));
    refill(waits, gauges(m).map(([name, value, more]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, more && h("small", {}, more)))));
  };
  const tell = (counts) => refill(subs, numbers(counts));
  const look = async () => {
    const { total, rows, isWhole } = await wrong(ctx.me.role, tell);
    if (ends) return;
    if (!total && !isWhole) { // what was known stays
      if (!wrongs.childElementCount) fine.textContent = "Not known yet.";
      return;
    }
    refill(wrongs, rows);
    fine.textContent = total ? "" : ctx.may("subscribe") ? "Nothing is wrong." : "The server is well. Feeds and subscriptions are not looked at: that needs the role subscribe.";
    count.textContent = total ? number(total) : "";
  };
  const one = (r) => h("li", {}, clock(r.at), h("span", { class: "kind " + r.kind }, r.kind),
    h("a", { href: `#/log/${r.seq}` }, foreign((r.entry && r.entry.title) || r.uid)));

  fill(ctx.content,
    h("section", { "aria-label": "Rates" }, h("div", { class: "plots" }, plots.map((p) => p.node)),
      h("p", { class: "measured" }, h("small", {}, "The last five minutes, measured while the console is open."))),
    h("div", { class: "two" },
      h("section", {}, h("h2", {}, "Wrong now ", count), wrongs, fine),
      h("section", {}, h("h2", {}, "Waiting"), waits,
        ctx.me.backup && h("p", { class: "after" }, button("Backup", async () => (await import("./backup.js")).backup())), ctx.may("subscribe") && [h("h2", {}, "Subscriptions"), subs], h("h2", {}, "Latest"), news)));
  listener = draw;
  if (last) draw(last);
  look();
  const stopLooking = again(look);
  const none = h("li", { class: "empty" }, "Nothing has come yet.");
  const latest = async () => {
    const { last_seq } = await api.get("log", { since: "end", max: 1 });
    const { revisions, cursor } = await api.logAfter(Math.max(0, last_seq - 12), { max: 12, fields: "title" });
    fill(news, revisions.length ? revisions.reverse().map(one) : none);
    return cursor;
  };
  const stop = follow({ fields: "title" }, (r) => {
    none.remove();
    news.prepend(one(r));
    while (news.childElementCount > 12) news.lastElementChild.remove();
  }, latest);
  return { renew: look, close() {
    ends = true;
    listener = null;
    stopLooking();
    stop();
  } };
}
