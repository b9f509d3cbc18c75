// table.js - a table of which only the rows in sight exist, however many there are.
//
// The rows come in parts from the server. Above and below those in sight stands one empty row each, as high as what
// is left out, so the bar of the browser scrolls as if all were there. While it is scrolled, rows stay as they are for as long as
// they are among those that exist: a frame has time to make a few rows, and none for all of them.
import { h, arrange, complain, keepPlace, refuse } from "./dom.js";

const PART = 200, AROUND = 16, NEAR = 4;

// The address follows what is asked for, so a reload or a link leads to the same list. What is usual is not in it.
export function keepAddress(page, asked, usual) {
  const kept = Object.entries(asked).filter(([k, v]) => v && v !== usual[k]);
  const query = new URLSearchParams(kept.map(([k, v]) => [k, v === true ? "1" : v])).toString();
  history.replaceState(null, "", "#/" + page + (query ? "?" + query : ""));
}

// What an address asks for.
export function askedBy(query, usual) {
  return Object.fromEntries(Object.entries({ ...usual, desc: false }).map(([k, v]) => [k, k === "desc" ? query.get(k) === "1" : query.get(k) || v]));
}

export class LongTable {
  // columns: [{name, kind, sort, cell(row)}]; load(skip, len, signal) gives {total, rows}; empty() tells why there is none
  constructor(name, columns, load, onSort, empty) {
    this.columns = columns;
    this.load = load;
    this.empty = empty;
    this.parts = new Map();
    this.drawn = new Map(); // by the index: the row, its data, and its link
    this.above = h("tr", { "aria-hidden": "true", class: "space" }, h("td"));
    this.below = this.above.cloneNode(true);
    this.asked = new Map();
    this.total = 0;
    this.isKnown = this.isLost = false; // how many there are
    this.active = 0;
    this.body = h("tbody");
    this.heads = columns.map((c) => h("th", { scope: "col", class: c.kind },
      c.sort ? h("button", { type: "button", onclick: () => onSort(c.sort) }, c.name) : c.name));
    this.table = h("table", { "aria-label": name, "aria-rowcount": "1" },
      h("thead", {}, h("tr", { "aria-rowindex": "1" }, this.heads)), this.body);
    this.node = h("div", { class: "long", tabindex: "0", role: "region", "aria-label": name + ", scrollable" }, this.table);
    this.node.addEventListener("scroll", () => {
      this.later(true);
      this.keepSoon();
    }, { passive: true });
    this.node.addEventListener("focusin", () => this.keepSoon());
    this.node.addEventListener("click", (event) => {
      const row = event.target.closest?.("tr[aria-rowindex]"), link = event.target.closest?.("td a");
      if (!row || !link) return;
      this.active = Number(row.getAttribute("aria-rowindex")) - 2;
      this.keep(true); // the link leads away at once
    });
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.sized = new ResizeObserver(() => this.later());
    this.sized.observe(this.node);
  }

  // What Back leads to: how far it is scrolled, and the row that has the focus.
  keep(focused) {
    clearTimeout(this.keeps);
    keepPlace({ list: { top: this.node.scrollTop, total: this.total, row: this.active, height: this.known, focused } });
  }

  keepSoon() {
    clearTimeout(this.keeps);
    this.keeps = setTimeout(() => this.isKnown && this.keep(this.body.contains(document.activeElement)), 100);
  }

  // The first look at it. `was`: what was kept of an earlier one. Its rows have their height before they are read, so it is scrolled there first.
  async begin(was) {
    this.waits = setTimeout(() => {
      this.isSlow = true;
      if (!this.isKnown) this.draw();
    }, 1000);
    if (!was?.total) return this.renew(true);
    this.total = was.total;
    this.active = was.row;
    this.known = was.height;
    this.draw(); // as high as it was
    this.node.scrollTop = was.top;
    await this.renew(false);
    this.active = Math.max(0, Math.min(this.total - 1, this.active));
    this.reach();
    if (was.focused) this.link(this.active)?.focus({ preventScroll: true });
  }

  close() {
    clearTimeout(this.keeps);
    clearTimeout(this.waits);
    this.sized.disconnect();
    this.abort?.abort();
  }

  sorted(by, descending) {
    this.columns.forEach((c, i) => {
      if (c.sort) this.heads[i].setAttribute("aria-sort", c.sort !== by ? "none" : descending ? "descending" : "ascending");
    });
  }

  // Ask anew for what is in sight; `top`: begin at the first row.
  async renew(top) {
    this.abort?.abort();
    this.abort = new AbortController();
    this.asked.clear();
    const old = this.parts;
    this.fresh = new Map();
    if (top) {
      this.node.scrollTop = 0;
      this.active = 0;
    }
    const [first, last] = this.sight();
    try {
      // one after the other: the first one finds the order, and those that follow are cut from it
      for (const part of this.partsOf(first, last)) await this.ask(part, this.fresh);
    } catch (error) {
      if (error.name === "AbortError") return;
      (top ? refuse : complain)(error);
      this.isLost = !this.isKnown;
      if (this.isLost) this.draw();
      return;
    }
    if (this.parts === old) this.parts = this.fresh;
    this.draw();
  }

  partsOf(first, last) {
    const parts = new Set([Math.floor(first / PART)]);
    for (let row = first; row <= last; row += PART) parts.add(Math.floor(row / PART));
    if (last >= 0) parts.add(Math.floor(last / PART));
    return parts;
  }

  ask(part, into) {
    if (!this.asked.has(part))
      this.asked.set(part, this.load(part * PART, PART, this.abort.signal).then((got) => {
        this.total = got.total;
        this.isKnown = true;
        into.set(part, got.rows);
        if (into.size > 30) into.delete(into.keys().next().value); // far from what is in sight by now
        this.asked.delete(part);
      }, (error) => {
        this.asked.delete(part);
        throw error;
      }));
    return this.asked.get(part);
  }

  // Columns that a narrow window leaves out must not be spanned: the rest would make room for them.
  get shown() {
    return this.heads.filter((head) => head.offsetParent).length || 1;
  }

  get height() {
    return this.body.querySelector("tr[aria-rowindex]")?.offsetHeight || this.known || 34;
  }

  sight() {
    const height = (this.known = this.height);
    const first = Math.max(0, Math.floor(this.node.scrollTop / height) - AROUND);
    const rows = Math.ceil((this.node.clientHeight || 600) / height) + 2 * AROUND;
    return [first, Math.max(0, this.total ? Math.min(this.total - 1, first + rows) : rows)];
  }

  // `scrolled`: nothing else has changed, so rows that exist and are in sight will do.
  later(scrolled) {
    this.changed = this.changed || !scrolled;
    if (!this.frame) this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.changed || !this.suffices()) this.draw();
      this.changed = false;
    });
  }

  suffices() {
    const top = Math.floor(this.node.scrollTop / this.known), bottom = top + Math.ceil(this.node.clientHeight / this.known);
    return this.drawn.has(Math.max(0, top - NEAR)) && this.drawn.has(Math.min(this.total - 1, bottom + NEAR));
  }

  row(index) {
    return this.parts.get(Math.floor(index / PART))?.[index % PART];
  }

  draw() {
    const [first, last] = this.sight();
    const end = Math.min(last, this.total - 1), held = document.activeElement, drawn = new Map(), top = this.node.scrollTop;
    const focused = this.body.contains(held) && held.closest("tr")?.getAttribute("aria-rowindex");
    this.table.setAttribute("aria-rowcount", this.total + 1);
    for (let i = first; i <= end; i++) {
      const kept = this.drawn.get(i), data = this.row(i);
      drawn.set(i, kept && kept.data === data ? kept : this.drawRow(i, data));
    }
    this.drawn = drawn;
    arrange(this.body, [this.space(this.above, first), ...[...drawn.values()].map((d) => d.row), this.space(this.below, this.total - 1 - end),
      this.total === 0 && this.instead()].filter(Boolean));
    // A browser looks where it stands when the row that has the focus goes, and what is below is not there yet.
    if (focused && this.node.scrollTop !== top) this.node.scrollTop = top;
    this.reach();
    if (focused && !this.body.contains(document.activeElement)) this.link(Number(focused) - 2)?.focus({ preventScroll: true });
    this.fetchMissing(first, end);
  }

  // Where there is no row. Until the server has said so, that is not because there is nothing.
  instead() {
    const why = this.isKnown ? this.empty() : (this.isLost ? "Not known yet." : this.isSlow && "Waiting for an answer…");
    return why && h("tr", {}, h("td", { colspan: this.shown, class: "empty" }, why));
  }

  // One link is reached by Tab.
  reach() {
    for (const [index, { link }] of this.drawn) if (link) link.tabIndex = index === this.active ? 0 : -1;
  }

  // One part after the other: whoever scrolls far passes over hundreds, and only those in sight at the end are of use.
  fetchMissing(first, end) {
    if (this.asked.size > 0) return;
    const missing = [...this.partsOf(first, end)].find((part) => !this.parts.has(part));
    if (end >= 0 && missing !== undefined && this.abort) this.ask(missing, this.parts).then(() => this.later(), complain);
  }

  space(row, rows) {
    if (rows <= 0) return null;
    row.firstChild.colSpan = this.shown;
    row.firstChild.style.height = rows * this.known + "px";
    return row;
  }

  drawRow(index, data) {
    const row = h("tr", { "aria-rowindex": index + 2 },
      this.columns.map((c) => h("td", { class: c.kind }, data ? c.cell(data) : "…")));
    return { row, data, link: row.querySelector("a") };
  }

  link(index) {
    return this.drawn.get(index)?.link;
  }

  // The arrows go from row to row; the first and the last one are reached by Home and End.
  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.known) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.total, End: this.total };
    if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.go(this.active + steps[event.key]);
  }

  go(index) {
    this.active = Math.max(0, Math.min(this.total - 1, index));
    const head = this.table.tHead.offsetHeight, at = this.active * this.known;
    if (at < this.node.scrollTop) this.node.scrollTop = at;
    else if (at + this.known + head > this.node.scrollTop + this.node.clientHeight)
      this.node.scrollTop = at + this.known + head - this.node.clientHeight;
    this.draw();
    const focus = () => this.link(this.active)?.focus({ preventScroll: true });
    focus();
    if (!this.row(this.active)) this.ask(Math.floor(this.active / PART), this.parts).then(() => {
      this.draw();
      focus();
    }, refuse);
  }
}
