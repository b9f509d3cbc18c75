// api.js - calls the interface of this server (docs/api.md).

export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "The server answered with status " + status + ".");
    this.status = status;
    this.problem = problem;
  }
}

// What an address of the console names, and is not there: to try again would not help.
export const absent = (text) => new Refusal(404, { detail: text });

// Called when the server no longer knows who we are. Until hold(false) nothing is asked but who we are.
let stranger = () => {}, held = false;
export function onStranger(listener) {
  stranger = listener;
}

export function hold(on) {
  held = on;
}

export const isHeld = () => held;

// ---- is it there? ----

// Called with false, and since when, if nothing answers any more, and with true when something does again.
const ASK_AGAIN_MS = 2000;
let link = () => {}, isUp = true;
export function onLink(listener) {
  link = listener;
}

function noteLink(now) {
  if (now === isUp) return;
  isUp = now;
  link(isUp, new Date());
  if (!isUp) setTimeout(askAgain, ASK_AGAIN_MS);
}

// What takes long may be long work, or nothing may answer any more, without an error. This is answered from memory, so it tells.
const SLOW_MS = 5000, ANSWER_MS = 4000;
const probe = () => fetch("healthz", { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
const watch = () => setTimeout(() => isUp && probe().catch(() => noteLink(false)), SLOW_MS);

async function askAgain() {
  if (isUp) return;
  try {
    await probe();
    noteLink(true);
  } catch {
    setTimeout(askAgain, ASK_AGAIN_MS);
  }
}

export function path(base, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters || {}))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== null && one !== undefined && one !== "" && one !== false) query.append(name, one === true ? "1" : one);
  const text = query.toString();
  return text ? base + "?" + text : base;
}

async function problemOf(answer) {
  try {
    return await answer.json();
  } catch {
    return {};
  }
}

async function send(method, url, options) {
  let answer;
  if (held && url !== "session") {
    if (method !== "GET") stranger(); // somebody wants to go on
    throw new Refusal(401, { detail: "The session has ended." });
  }
  const slow = watch();
  try {
    answer = await fetch(url, { method, cache: "no-store", credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    noteLink(false);
    throw new Refusal(0, { detail: "Feedmill does not answer." });
  } finally {
    clearTimeout(slow);
  }
  noteLink(true);
  if (answer.status === 401 && url !== "session" && !held) stranger();
  if (!answer.ok) throw new Refusal(answer.status, await problemOf(answer));
  return answer;
}

export async function get(base, parameters, signal) {
  return (await send("GET", path(base, parameters), { signal, headers: { Accept: "application/json" } })).json();
}

// The revisions after a seq; where some of them were taken away, those that are kept. `horizon` is a cursor with the floor 0-H.
export async function logAfter(seq, parameters) {
  const ask = (since) => get("log", { ...parameters, since });
  try {
    return await ask(seq);
  } catch (error) {
    const { horizon } = error.problem || {};
    if (!horizon) throw error;
    return ask(horizon.replace(".0-", `.${seq}-`));
  }
}

export async function text(base, parameters, accept) {
  return (await send("GET", path(base, parameters), { headers: { Accept: accept || "text/plain" } })).text();
}

// Is it ready? 503 says why not, so it is no refusal here.
export const ready = async () => (await fetch("readyz", { cache: "no-store" })).json();

function formOf(parameters) {
  return new URLSearchParams(path("", parameters).slice(1));
}

// A change, by a form. Returns what the answer has: an object, a text, or null.
export async function change(method, base, parameters, query) {
  const answer = await send(method, path(base, query), { body: method === "DELETE" ? undefined : formOf(parameters) });
  const type = answer.headers.get("content-type") || "";
  return answer.status === 204 ? null : type.includes("json") ? answer.json() : answer.text();
}

export async function sendJson(method, base, object, query, fields) {
  const answer = await send(method, path(base, query),
    { body: JSON.stringify(object), headers: { "Content-Type": "application/json", ...fields } });
  return answer.status === 204 ? null : answer.json();
}

export async function sendOpml(body, query) {
  return (await send("POST", path("sub", query), { body, headers: { "Content-Type": "text/x-opml" } })).json();
}

export const address = (origin, base, parameters) => origin + "/" + path(base, parameters);

// ---- /metrics ----

// A name with labels counts into the sum of its name.
export async function metrics() {
  const sums = { at: performance.now() };
  for (const line of (await text("metrics")).split("\n")) {
    const match = /^feedmill_([a-z0-9_]+)(?:\{[^}]*\})? ([-+0-9.eE]+)/.exec(line);
    if (match) sums[match[1]] = (sums[match[1]] || 0) + Number(match[2]);
  }
  return sums;
}
