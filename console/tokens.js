// tokens.js - the tokens of callers.
import { h, fill, field, form, choice, button, table, confirm, dialog, say } from "./dom.js";
import * as api from "./api.js";
import { clean, foreign, number, when } from "./words.js";

export async function tokens(ctx) {
  const first = await api.get("tokens");
  const name = h("input", { type: "text", autocomplete: "off", maxlength: 200 });
  const role = choice([["read", "read"], ["subscribe", "subscribe"], ["admin", "admin"]], "read");
  const rate = h("input", { type: "number", min: 1, placeholder: "no bound" });
  const expires = h("input", { type: "datetime-local" });
  const list = h("div");

  let all = [];
  const whatEnds = (t) => [`Whoever uses the token ${clean(t.name)} is refused from then on.`, t.id === ctx.me.token && "You are signed in with it: your session ends, too.",
    t.role === "admin" && all.filter((one) => one.role === "admin").length === 1 && "It is the only one of the role admin in this list.", "What was made with it stays."].filter(Boolean).join(" ");
  const remove = (t) => confirm("Delete this token?", whatEnds(t), "Delete", async () => {
    await api.change("DELETE", "tokens", null, { id: t.id });
    say("Deleted.");
    if (t.id !== ctx.me.token) await show();
    else location.reload();
  });
  const show = async (got) => {
    got = got || (await api.get("tokens"));
    all = got.tokens;
    fill(list, table("Tokens", [["No.", "number"], ["Name", "wide"], ["Role"], ["Rate", "number"], ["Expires"], ["Made", "less"], ["Used"], ["Actions"]],
      got.tokens.map((t) => [t.id, foreign(t.name), t.role, t.rate ? number(t.rate) + " a minute" : "no bound", when(t.expires), when(t.created), when(t.used),
        button("Delete", () => remove(t), { class: "danger" })]),
      "There are no tokens yet; one that is given by --token is not listed."));
  };
  const make = form(async () => {
    if (!name.value.trim()) {
      name.focus();
      throw new Error("Give the token a name.");
    }
    const made = await api.change("POST", "tokens", { name: name.value.trim(), role: role.value, rate: rate.value,
      expires: expires.value && new Date(expires.value).toISOString().slice(0, 19) + "Z" });
    name.value = rate.value = expires.value = "";
    await show();
    dialog("The new token", h("p", {}, "It is told only now: copy it."), h("code", { class: "whole" }, made.token),
      h("footer", {}, button("Copy", async () => {
        await navigator.clipboard.writeText(made.token);
        say("Copied.");
      })));
  }, h("h2", {}, "New token"), h("div", { class: "line" }, field("Name", name), field("Role", role), field("Rate", rate, "Requests a minute."), field("Expires", expires),
    h("button", { type: "submit", class: "main" }, "Save")));
  fill(ctx.content, list, make);
  await show(first);
  return {};
}
