// dom.js - makes elements, dialogs and messages. Text becomes text nodes, so nothing that a feed says is markup.

const SVG = "http://www.w3.org/2000/svg";

function put(node, child) {
  if (Array.isArray(child)) child.forEach((c) => put(node, c));
  else if (child !== null && child !== undefined && child !== false) node.append(child);
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "value" || name === "checked" || name === "srcdoc") node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

// h("a", {href: "#/feeds", onclick: f}, "Feeds", null, [more])
export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) set(node, name, value);
  put(node, children);
  return node;
}

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  put(node, children);
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  put(node, children);
  return node;
}

const controls = (node) => [...node.querySelectorAll("a, button, [tabindex]")];

// Fill with something newer of the same kind: what has the focus keeps it, tables stay scrolled, and what is selected stays.
export function refill(node, ...children) {
  const made = h("div", {}, children), selection = getSelection();
  if (made.innerHTML === node.innerHTML || (!selection.isCollapsed && node.contains(selection.anchorNode))) return;
  const held = controls(node).indexOf(document.activeElement), was = held < 0 ? "" : document.activeElement.outerHTML;
  const scrolled = [...node.querySelectorAll(".scrolls")].map((part) => part.scrollLeft);
  node.replaceChildren(...made.childNodes);
  if (held >= 0) (controls(node).find((c) => c.outerHTML === was) || controls(node)[held])?.focus({ preventScroll: true });
  node.querySelectorAll(".scrolls").forEach((part, i) => (part.scrollLeft = scrolled[i] || 0));
}

// These children in this order, without touching those that are there already.
export function arrange(node, children) {
  const wanted = new Set(children);
  for (const child of [...node.children]) if (!wanted.has(child)) child.remove();
  let at = node.firstElementChild;
  for (const child of children)
    if (child === at) at = at.nextElementSibling;
    else node.insertBefore(child, at);
}

// Where one is on a page is kept with its address in the history of the browser: Back and a reload lead there again.
export const keepPlace = (what) => history.replaceState({ ...history.state, ...what }, "");

// Only web addresses become links: "javascript:" and the like stay text.
export function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

export function outside(text, label) {
  const href = webAddress(text);
  return href ? h("a", { href, rel: "noopener noreferrer", target: "_blank" }, label || text) : h("span", {}, label || text);
}

// ---- messages: both regions are live, so they are read out ----

let hides;
export function say(text) {
  document.getElementById("refused").textContent = "";
  document.getElementById("said").textContent = text;
  clearTimeout(hides);
  hides = setTimeout(() => (document.getElementById("said").textContent = ""), 6000);
}

export function refuse(error) {
  if (error && error.name === "AbortError") return;
  document.getElementById("said").textContent = "";
  document.getElementById("refused").textContent = error && error.message ? error.message : String(error);
}

// Of what is asked for by itself: that nothing answers is told by the banner.
export const complain = (error) => error.status === 0 || refuse(error);

export function unsay() {
  document.getElementById("said").textContent = "";
  document.getElementById("refused").textContent = "";
}

// ---- buttons and fields ----

// A button whose work may be refused. While it works it cannot be pressed again.
export function button(name, work, attributes) {
  const node = h("button", { type: "button", ...attributes }, name);
  node.addEventListener("click", async () => {
    if (node.getAttribute("aria-disabled")) return;
    node.setAttribute("aria-disabled", "true");
    unsay();
    try {
      await work(node);
    } catch (error) {
      refuse(error);
    }
    node.removeAttribute("aria-disabled");
  });
  return node;
}

let ids = 0;
// A control with its label and perhaps a hint. The control is told apart by its label alone.
export function field(label, control, hint) {
  control.id = control.id || "f" + ++ids;
  const about = hint ? h("small", { id: control.id + "-hint" }, hint) : null;
  if (about) control.setAttribute("aria-describedby", about.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, about);
}

export function choice(values, chosen, attributes) {
  return h("select", attributes, values.map(([value, name]) => h("option", { value, selected: value === chosen }, name)));
}

// A form whose submission may be refused; what was wrong is told in a live region.
export function form(work, ...children) {
  const node = h("form", { novalidate: true }, ...children);
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (node.dataset.works) return;
    node.dataset.works = "1";
    unsay();
    try {
      await work(node);
    } catch (error) {
      refuse(error);
    }
    delete node.dataset.works;
  });
  return node;
}

// Every few seconds while the page is looked at; what takes long is not done all the time. Returns what ends it.
export function again(work, ms = 5000) {
  let timer, ends = false;
  const later = (took) => {
    timer = setTimeout(async () => {
      const began = performance.now();
      if (!document.hidden) await work();
      if (!ends) later(performance.now() - began);
    }, Math.max(ms, 20 * took));
  };
  later(0);
  return () => {
    ends = true;
    clearTimeout(timer);
  };
}

// ---- dialogs: Escape closes them, and the focus goes back ----

export function dialog(title, ...children) {
  const id = "d" + ++ids;
  const node = h("dialog", { "aria-labelledby": id },
    h("header", {}, h("h2", { id }, title), h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => node.close() }, "✕")),
    ...children);
  // messages belong into the dialog that is on top: what is behind it is not reached, or read out
  const said = document.getElementById("said"), refused = document.getElementById("refused");
  node.append(said, refused);
  node.addEventListener("close", () => {
    refused.textContent = "";
    node.remove();
    ([...document.querySelectorAll("dialog")].pop() || document.body).append(said, refused);
    // the focus goes back to what the dialog was opened from, unless that is gone: then to the heading of the page
    if (document.activeElement === document.body) document.querySelector("h1")?.focus({ preventScroll: true });
  });
  document.body.append(node);
  node.showModal();
  return node;
}

export function confirm(title, text, action, work) {
  const node = dialog(title, h("p", {}, text),
    h("footer", {}, button("Cancel", () => node.close(), { autofocus: true }), // so that Enter twice does no harm
      button(action, async () => {
        await work();
        node.close();
      }, { class: "danger" })));
  return node;
}

// ---- tables ----

// columns: [[heading, class]]; rows: lists of cells
export function table(name, columns, rows, empty) {
  return h("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": name + ", scrollable" },
    h("table", { "aria-label": name },
      h("thead", {}, h("tr", {}, columns.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
      h("tbody", {}, rows.length ? rows.map((cells) => h("tr", {}, cells.map((cell, i) => h("td", { class: columns[i][1] }, cell))))
        : h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, empty || "None.")))));
}

// A list of facts: [[name, value]]; those without value are left out.
export function facts(rows) {
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
