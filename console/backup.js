// backup.js - a copy of the database, as a download.
import { h, button, dialog, refuse, say } from "./dom.js";

// The browser writes the answer to its disk as it comes, so nothing of it is held here. Only a refusal is shown in the frame.
function frame() {
  const node = h("iframe", { name: "backup", hidden: true, title: "Answer of the backup" });
  node.addEventListener("load", () => {
    const text = node.contentDocument?.body?.textContent;
    if (!text) return;
    try {
      refuse(new Error(JSON.parse(text).detail));
    } catch {
      refuse(new Error("The backup was not made."));
    }
  });
  return node;
}

export function backup() {
  document.querySelector("iframe[name=backup]")?.remove();
  document.body.append(frame());
  const node = dialog("Backup", h("p", {}, "A copy of the whole database, as it is at one moment; the daemon goes on meanwhile. It has all secrets of the database, such as ",
    "passwords of feeds and of endpoints: keep it where only you can read it."),
  h("form", { method: "post", action: "backup", target: "backup", onsubmit: () => setTimeout(() => {
    node.close();
    say("The copy is being made. Its download begins when it is whole.");
  }) },
    h("footer", {}, button("Cancel", () => node.close()), h("button", { type: "submit", class: "main" }, "Download"))));
}
