// diff.js - the difference of two texts, word by word, as del and ins.
import { h } from "./dom.js";

const MOST = 4000; // words of each text that are compared one by one

const cut = (text) => text.match(/\s+|[^\s]+/g) || [];

// The lengths of the longest common runs from each pair of places on.
function lengths(a, b) {
  const width = b.length + 1, table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  return (i, j) => table[i * width + j];
}

// What both begin and end with is found first, so most comparisons are short.
function trim(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [head, tail];
}

function compare(a, b, out) {
  if (a.length > MOST || b.length > MOST) {
    out("del", a.join(""));
    out("ins", b.join(""));
    return;
  }
  const common = lengths(a, b);
  let i = 0, j = 0;
  while (i < a.length || j < b.length)
    if (i < a.length && j < b.length && a[i] === b[j]) out("", a[i++], j++);
    else if (j >= b.length || (i < a.length && common(i + 1, j) >= common(i, j + 1))) out("del", a[i++]);
    else out("ins", b[j++]);
}

export function difference(before, now) {
  const a = cut(before), b = cut(now), [head, tail] = trim(a, b), runs = [];
  const out = (kind, text) => {
    if (!text) return;
    if (runs.length && runs[runs.length - 1][0] === kind) runs[runs.length - 1][1] += text;
    else runs.push([kind, text]);
  };
  out("", a.slice(0, head).join(""));
  compare(a.slice(head, a.length - tail), b.slice(head, b.length - tail), out);
  out("", a.slice(a.length - tail).join(""));
  return runs.map(([kind, text]) => (kind ? h(kind, {}, text) : text));
}
