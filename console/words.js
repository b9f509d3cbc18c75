// words.js - numbers, times and names as people read them.
import { h } from "./dom.js";

// Characters that do not show, or that turn others round, are left out.
export function clean(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, "");
}

export function titleOf(feed) {
  return clean(feed.title || "").trim() || feed.url;
}

// A name that a heading does not show whole.
const HEADING = 120;
export const isLong = (name) => name.length > HEADING;

// A heading, and with it the title of the window, has the beginning of a long name; the whole one is its title.
export function brief(heading, name) {
  const shown = isLong(name) ? name.slice(0, HEADING).replace(/[\ud800-\udbff]$/, "").trimEnd() + "…" : name;
  if (heading.textContent !== shown) heading.textContent = shown;
  if (isLong(name)) heading.title = name;
  else heading.removeAttribute("title");
}

// Why a feed fails, without its address: that stands beside it.
export function reason(feed) {
  const text = feed.last_error || "";
  return text.startsWith(feed.url + ": ") ? text.slice(feed.url.length + 2) : text;
}

export const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many || one + "s"}`;

// A text of a feed: it cannot change the direction of what is beside it, and is cut by the style.
export function foreign(text, kind) {
  const shown = clean(text || "");
  return h("bdi", { class: kind || "foreign", title: shown.length > 60 ? shown.slice(0, 500) : null }, shown.slice(0, 1000));
}

// 12,345. Without Intl, which a browser takes its time to begin with.
export const number = (n) => (n === null || n === undefined ? "–" : String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ","));

// 950, 12.3K, 4M
export function compact(n) {
  const units = ["", "K", "M", "B"];
  let i = 0;
  for (; Math.abs(n) >= 999.95 && i < units.length - 1; i++) n /= 1000;
  return String(Math.round(n * 10) / 10) + units[i];
}

export function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return (i ? n.toFixed(1) : n) + " " + units[i];
}

// Seconds as "3 min"
export function span(s) {
  s = Math.round(Math.abs(s));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.round(s / 60) + " min";
  if (s < 48 * 3600) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

// A time of RFC 3339, as "3 min ago"; the whole one is the title.
export function when(text, none) {
  if (!text) return h("span", { class: "none" }, none || "never");
  const s = (Date.parse(text) - Date.now()) / 1000;
  return h("time", { datetime: text, title: whole(new Date(text)) }, s > 0 ? "in " + span(s) : span(s) + " ago");
}

const two = (n) => String(n).padStart(2, "0");
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
const hour = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
const whole = (at) => day(at) + " " + hour(at);

export function clock(text) {
  const at = new Date(text);
  return h("time", { datetime: at.toISOString(), title: whole(at) }, Date.now() - at < 86400000 ? hour(at) : day(at));
}

// A state by a word and a mark of its colour: colour alone says nothing.
export function state(name) {
  return h("span", { class: "state " + name }, name);
}

// A feed that has only failed yet is failing, too.
export const feedState = (feed) => state(feed.paused ? "paused" : feed.state === "new" && feed.errors > 0 ? "failing" : feed.state);

// "30m", "2 h", "daily", "3600": the value of freq. Null: it is none of these.
export function readPeriod(text) {
  const levels = { daily: "0", "half-hourly": "1", "five-minutely": "2" };
  const units = { "": 1, s: 1, m: 60, min: 60, h: 3600, d: 86400 };
  const given = text.trim().toLowerCase();
  if (given in levels) return levels[given];
  const match = /^(\d+)\s*(s|m|min|h|d|)$/.exec(given);
  const seconds = match ? Number(match[1]) * units[match[2]] : 0;
  return seconds > 2 ? String(seconds) : null; // 0 to 2 would be levels
}

// Seconds as the API takes an age: "7d", "90s". Null: none.
export function age(s) {
  if (!s) return s === 0 ? "0" : "";
  const [unit, by] = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]].find(([, by]) => s % by === 0);
  return s / by + unit;
}
