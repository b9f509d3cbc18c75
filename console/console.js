// console.js - the frame: who one is, the navigation, and which page is shown at which address.
import { h, fill, form, field, dialog, keepPlace, refuse, unsay, say, button } from "./dom.js";
import * as api from "./api.js";
import { keepSamples, overview } from "./overview.js";
import { clock } from "./words.js";

// What a page needs is loaded with it, so the first one does not wait for the others.
const from = (file, name) => async () => (await import(file))[name];

// The first part of an address is the page; what follows belongs to it.
const PAGES = {
  overview: { name: "Overview", all: async () => overview },
  feeds: { name: "Feeds", role: "subscribe", id: /^\d+$/, all: from("./feeds.js", "feeds"), one: from("./feed.js", "feed") },
  subscriptions: { name: "Subscriptions", role: "subscribe", id: /^\d+$/, all: from("./subscriptions.js", "subscriptions"), one: from("./subscriptions.js", "subscription") },
  views: { name: "Views", all: from("./views.js", "views"), one: from("./views.js", "view") },
  log: { name: "Log", id: /^\d+$/, all: from("./log.js", "log"), one: from("./log.js", "revision") },
  tokens: { name: "Tokens", role: "admin", all: from("./tokens.js", "tokens") },
  nodes: { name: "Nodes", all: from("./nodes.js", "nodes") },
};

const ROLES = ["read", "subscribe", "admin"];
const may = (role) => !role || ROLES.indexOf(me.role) >= ROLES.indexOf(role);

const frame = document.getElementById("frame");
let me, main, links = {}, page, shown = 0, instead = null;

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const at = path.indexOf("/");
  const name = (at < 0 ? path : path.slice(0, at)) || "overview";
  let rest = at < 0 ? "" : path.slice(at + 1);
  try {
    rest = decodeURIComponent(rest);
  } catch {
    rest = "";
  }
  return { name, rest, query: new URLSearchParams(query) };
}

// A page is shown when its first answer is there. If another one was asked for meanwhile, it is dropped.
async function show() {
  const at = parse(), place = PAGES[at.name], serial = ++shown, was = history.state;
  unsay();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  page?.close?.();
  page = instead = null;
  for (const [name, link] of Object.entries(links))
    name === at.name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const make = place && (at.rest ? place.one : place.all);
  const isThere = make && !(at.rest && place.id && !place.id.test(at.rest));
  const heading = h("h1", { tabindex: "-1" }, isThere ? place.name : "No such page");
  const content = h("div", { class: "page " + at.name });
  const ctx = {
    me, may, heading, query: at.query, content, was,
    back: at.rest && place ? h("p", { class: "back" }, h("a", { href: "#/" + at.name }, place.name)) : null,
    isShown: () => serial === shown,
  };
  fill(main, ctx.back, heading, content);
  document.title = heading.textContent + " · Feedmill";
  scrollTo(0, 0);
  if (serial > 1) heading.focus({ preventScroll: true });
  if (!isThere) {
    fill(content, h("p", {}, "Nothing is at this address of the console."));
    return;
  }
  const waits = h("p", { class: "empty", role: "status" }, "Waiting for an answer…");
  try {
    if (!may(place.role)) throw Object.assign(new Error(), { status: 403, role: place.role });
    setTimeout(() => serial === shown && !content.childNodes.length && content.append(waits), 1000);
    const made = await (await load(make))(ctx, at.rest);
    if (serial === shown) {
      page = made;
      scrollTo(0, was?.y || 0);
    } else made?.close?.();
  } catch (error) {
    waits.remove();
    if (serial === shown && content.childNodes.length) refuse(error);
    else if (serial === shown) fill(content, h("div", { role: "alert", class: "instead" }, insteadOf((instead = error))));
  }
  if (serial === shown) document.title = heading.textContent + " · Feedmill";
}

async function load(make) {
  try {
    return await make();
  } catch {
    api.text("healthz").catch(() => {}); // if nothing answers, that is noted
    throw Object.assign(new Error("A part of the console could not be loaded."), { status: 0, isPart: true });
  }
}

// A page that cannot be shown says why, and what can be done. The browser may remember that a part was missing.
function insteadOf(error) {
  if (error.isPart) return [h("p", {}, error.message), button("Load it anew", () => location.reload(), { class: "main" })];
  if (error.status !== 403)
    return [h("p", {}, error.message), error.status === 404 ? null : button("Try again", show)];
  const role = error.role || "admin";
  return [h("p", {}, `Your role is ${me.role}, and this page needs the role ${role}.`),
    h("p", {}, "An admin makes a token of that role on the page Tokens. Where the daemon runs, ", h("code", {}, `feedmill token add --db DB --name NAME --role ${role}`), " makes one, too; with a database in a file, while the daemon is stopped. Sign in with it."),
    !me.session && button("Sign in", () => signIn(), { class: "main" })];
}

// ---- sign in and out ----

// The field, and what is done with what is entered there.
function tokenForm(then, ...more) {
  const token = h("input", { type: "password", autocomplete: "current-password", required: true, spellcheck: "false", name: "token", autofocus: true });
  const node = form(async () => {
    if (!token.value.trim()) {
      token.focus();
      throw new Error("Enter the token that you were given.");
    }
    const now = await api.change("POST", "session", { token: token.value }).catch((error) => {
      token.focus();
      token.select(); // what is typed next takes its place
      throw error;
    });
    token.value = "";
    await then(now);
  }, field("Token", token, ["A token of this server, as ", h("code", {}, "feedmill token add"), " prints it."]), more);
  return { node, token };
}

function signIn(why) {
  api.hold(false);
  document.querySelectorAll("dialog").forEach((d) => d.close());
  page?.close?.();
  page = main = null;
  shown++;
  keepSamples(false);
  document.title = "Sign in · Feedmill";
  const { node, token } = tokenForm(async (now) => {
    me = now;
    await begin();
  }, h("button", { type: "submit", class: "main" }, "Sign in"));
  fill(frame, h("main", { id: "main", class: "sign" }, mark(), h("h1", {}, "Sign in"), why && h("p", {}, why), node));
  token.focus();
}

// A session that ends in the middle of work is begun again above the page, which stays as it is, with all that was typed.
function signInAgain() {
  const was = me;
  let signed = false, leaves = false;
  api.hold(true);
  const { node } = tokenForm(async (now) => {
    signed = true;
    me = now;
    box.close();
    api.hold(false);
    if (now.role !== was.role || now.token !== was.token) await begin();
    else say("Signed in.");
  }, h("footer", {}, button("Leave", () => {
    leaves = true;
    box.close();
  }), h("button", { type: "submit", class: "main" }, "Sign in")));
  const box = dialog("The session has ended", h("p", {}, "Sign in to go on where you were; what you entered is still there."), node);
  box.addEventListener("close", () => {
    if (signed) return;
    if (leaves) return leave();
    refuse(new Error("The session has ended. What you entered is still there: save it, and the token is asked for again."));
  });
}

// What was typed is given up.
function leave() {
  me = null;
  signIn();
}

async function signOut() {
  await api.change("DELETE", "session");
  location.hash = "#/";
  await start();
  say("Signed out.");
}

const mark = () => h("p", { class: "mark" }, h("span", { "aria-hidden": "true" }), "Feedmill");

// ---- the frame ----

async function hasNodes() {
  try {
    return (await api.get("nodes")).nodes.length > 1;
  } catch {
    return false;
  }
}

function who() {
  const name = me.session ? "Signed in" : me.alone ? "This machine" : "No token";
  return h("div", { class: "who" }, h("p", {}, name, h("small", {}, "role ", me.role, " · ", me.version)),
    me.session ? button("Sign out", signOut) : !me.alone && button("Sign in", () => signIn()));
}

// Those that are not shown yet are read when there is time: then a click waits for nothing.
const readAhead = () => Object.values(PAGES).forEach((place) => [place.all, place.one].forEach((make) => make?.().catch(() => {})));

async function begin(asked) {
  const several = await (asked || hasNodes());
  links = {};
  for (const [name, place] of Object.entries(PAGES))
    if (name !== "nodes" || several)
      links[name] = h("a", { href: "#/" + (name === "overview" ? "" : name) }, place.name);
  main = h("main", { id: "main", tabindex: "-1" });
  fill(frame, h("div", { class: "shell" },
    h("header", { class: "side" }, mark(), h("nav", { "aria-label": "Console" }, h("ul", {}, Object.values(links).map((l) => h("li", {}, l)))), who()),
    main));
  keepSamples(true);
  await show();
  setTimeout(readAhead, 500);
}

async function start() {
  // meanwhile
  const asked = hasNodes(), at = parse(), place = PAGES[at.name];
  (at.rest ? place?.one : place?.all)?.().catch(() => {});
  try {
    me = await api.get("session");
  } catch (error) {
    if (error.status === 401) return signIn();
    fill(frame, h("main", { id: "main", class: "sign" }, mark(), h("h1", {}, "Feedmill"),
      button("Try again", start, { class: "main" })));
    refuse(error);
    return;
  }
  await begin(asked);
}

api.onStranger(() => me && main && signInAgain());
api.onLink((isUp, since) => {
  document.getElementById("lost").textContent = isUp ? "" : `Feedmill does not answer since ${clock(since).textContent}. It is asked again every few seconds.`;
  if (!isUp) return;
  if (instead?.isPart) return location.reload(); // nothing was typed on a page that is not there
  if (instead?.status === 0) show();
  else page?.renew?.();
  say("Feedmill answers again.");
});
history.scrollRestoration = "manual"; // the page is not there yet when the browser would do it
let scrolls;
addEventListener("scroll", () => {
  clearTimeout(scrolls);
  scrolls = setTimeout(() => main && keepPlace({ y: scrollY }), 100);
}, { passive: true });
addEventListener("hashchange", () => main && (api.isHeld() ? leave() : show()));
// The skip link must not change the address, which says which page is shown.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  const to = document.getElementById("main");
  to.tabIndex = -1;
  to.focus();
});
start();
