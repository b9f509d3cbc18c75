// console.js - the frame: who one is, the navigation, and which page is shown at which address.
import { h, fill, form, field, refuse, unsay, say, button } from "./dom.js";
import * as api from "./api.js";
import { keepSamples, overview } from "./overview.js";
import { feeds } from "./feeds.js";
import { feed } from "./feed.js";
import { subscriptions, subscription } from "./subscriptions.js";
import { views, view } from "./views.js";
import { log, revision } from "./log.js";
import { tokens } from "./tokens.js";
import { nodes } from "./nodes.js";

// The first part of an address is the page; what follows belongs to it.
const PAGES = {
  overview: { name: "Overview", all: overview },
  feeds: { name: "Feeds", all: feeds, one: feed },
  subscriptions: { name: "Subscriptions", all: subscriptions, one: subscription },
  views: { name: "Views", all: views, one: view },
  log: { name: "Log", all: log, one: revision },
  tokens: { name: "Tokens", all: tokens },
  nodes: { name: "Nodes", all: nodes },
};

const frame = document.getElementById("frame");
let me, main, links = {}, page, shown = 0;

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
  const at = parse(), place = PAGES[at.name], serial = ++shown;
  unsay();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  page?.close?.();
  page = null;
  for (const [name, link] of Object.entries(links))
    name === at.name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const make = place && (at.rest ? place.one : place.all);
  if (!make) {
    fill(main, h("h1", { tabindex: "-1" }, "No such page"), h("p", {}, "Nothing is at this address of the console."));
    return;
  }
  const heading = h("h1", { tabindex: "-1" }, place.name);
  const content = h("div", { class: "page " + at.name });
  const ctx = {
    me, heading, query: at.query, content,
    back: at.rest ? h("p", { class: "back" }, h("a", { href: "#/" + at.name }, place.name)) : null,
    isShown: () => serial === shown,
  };
  fill(main, ctx.back, heading, content);
  document.title = place.name + " · Feedmill";
  scrollTo(0, 0);
  if (serial > 1) heading.focus({ preventScroll: true });
  try {
    const made = await make(ctx, at.rest);
    if (serial === shown) page = made;
    else made?.close?.();
  } catch (error) {
    if (serial === shown && content.childNodes.length) refuse(error);
    else if (serial === shown) fill(content, h("div", { role: "alert", class: "instead" }, insteadOf(error)));
  }
  if (serial === shown) document.title = heading.textContent + " · Feedmill";
}

// A page that cannot be shown says why, and what can be done.
function insteadOf(error) {
  if (error.status !== 403)
    return [h("p", {}, error.message), error.status === 404 ? null : button("Try again", show)];
  return [h("p", {}, `Your role is ${me.role}, and this page needs another one.`),
    h("p", {}, "Where the daemon runs, ", h("code", {}, "feedmill token add --db FILE --name NAME --role admin"), " makes a token of that role while the daemon is stopped. Sign in with it."),
    !me.session && button("Sign in", () => signIn(), { class: "main" })];
}

// ---- sign in and out ----

function signIn(why) {
  page?.close?.();
  page = main = null;
  shown++;
  keepSamples(false);
  document.title = "Sign in · Feedmill";
  const token = h("input", { type: "password", autocomplete: "current-password", required: true, spellcheck: "false", name: "token" });
  const sign = form(async () => {
    if (!token.value.trim()) {
      token.focus();
      throw new Error("Enter the token that you were given.");
    }
    me = await api.change("POST", "session", { token: token.value });
    token.value = "";
    await begin();
  }, field("Token", token, "A token of this server, as `feedmill token add` prints it."),
  h("button", { type: "submit", class: "main" }, "Sign in"));
  fill(frame, h("main", { id: "main", class: "sign" }, mark(), h("h1", {}, "Sign in"), why && h("p", {}, why), sign));
  token.focus();
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
}

async function start() {
  const asked = hasNodes(); // meanwhile
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

api.onStranger(() => me && ((me = null), signIn("The session has ended.")));
addEventListener("hashchange", () => main && show());
// The skip link must not change the address, which says which page is shown.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  const to = document.getElementById("main");
  to.tabIndex = -1;
  to.focus();
});
start();
