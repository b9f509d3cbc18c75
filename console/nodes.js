// nodes.js - the daemons that work on this log.
import { h, fill, button, table, confirm, say, complain, refill } from "./dom.js";
import * as api from "./api.js";
import { number, span, state } from "./words.js";

export async function nodes(ctx) {
  const list = h("div");
  const drain = (n) => confirm("Drain this node?", `${n.name} gives its work to the others until it is started anew.`, "Drain", async () => {
    await api.change("POST", "nodes", { name: n.name, action: "drain" });
    say("It gives its work away.");
    await show();
  });
  const show = async () => {
    const got = await api.get("nodes");
    refill(list, table("Nodes", [["Name", "wide"], ["Address", "less"], ["State"], ["Version", "less"], ["Slots", "number less"], ["Beat", "number less"], ["Behind", "number"], ["Actions"]],
      got.nodes.sort((a, b) => a.name.localeCompare(b.name)).map((n) => [n.name, h("code", {}, n.address), state(n.draining ? "draining" : n.beat_age_s > 15 ? "late" : "ok"), n.version, number(n.slots), span(n.beat_age_s) + " ago",
        number(n.behind), n.draining || !(ctx.may("admin") || ctx.me.alone) ? null : button("Drain", () => drain(n), { "aria-label": "Drain " + n.name })])));
  };
  fill(ctx.content, list);
  await show();
  const timer = setInterval(() => document.hidden || show().catch(complain), 2000);
  return { close: () => clearInterval(timer) };
}
