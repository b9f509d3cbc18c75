// plot.js - a small plot of one row of numbers over time, as a picture with a name.
import { h, svg, fill } from "./dom.js";
import { compact } from "./words.js";

const WIDTH = 300, HEIGHT = 64;

function points(values, room, most) {
  const step = WIDTH / (room - 1);
  const from = room - values.length;
  return values.map((v, i) => [(from + i) * step, HEIGHT - 2 - (v / most) * (HEIGHT - 8)]);
}

// The next "round" number above: 1, 2, 5, 10, 20, ...
function ceiling(n) {
  if (n <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].find((k) => k * power >= n) * power;
}

function draw(node, name, unit, values, room, kind) {
  const most = ceiling(Math.max(0, ...values));
  const line = points(values, room, most).map(([x, y]) => x.toFixed(1) + "," + y.toFixed(1));
  const last = values.length ? values[values.length - 1] : 0;
  node.setAttribute("aria-label", `${name}: now ${compact(last)} ${unit}, at most ${compact(Math.max(0, ...values))}`);
  fill(node,
    svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: 6, y2: 6 }),
    svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT - 2, y2: HEIGHT - 2 }),
    line.length > 1 && svg("polygon", { class: "area " + kind,
      points: `${line[0].split(",")[0]},${HEIGHT - 2} ${line.join(" ")} ${WIDTH},${HEIGHT - 2}` }),
    line.length > 1 && svg("polyline", { class: "line " + kind, points: line.join(" ") }));
  return { most, last };
}

// Returns the element, and what shows new values in it.
export function plot(name, unit, room, kind) {
  const picture = svg("svg", { role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-label": name });
  const now = h("output", { "aria-live": "off" }), most = h("span", { class: "most" });
  const node = h("div", { class: "plot" }, h("div", { class: "head" }, h("h2", {}, name), h("p", {}, now, " ", h("small", {}, unit))),
    h("div", { class: "canvas" }, most, picture));
  const show = (values) => {
    const shown = draw(picture, name, unit, values, room, kind || "");
    now.textContent = values.length ? compact(shown.last) : "–";
    most.textContent = compact(shown.most);
  };
  show([]);
  return { node, show };
}
