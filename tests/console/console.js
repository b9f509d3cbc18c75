// console.js BASE NAME ARGUMENT: one check of the console in Chromium, as somebody who sees, clicks and types would make it.
// Elements are found by role and name only. It ends with 0, or tells what was not so. tests/integration/test_console.py runs it.
const assert = require("node:assert");
const { chromium } = require("playwright-core");

const [base, name, argument] = process.argv.slice(2);
const PATIENCE = 20000 * Number(process.env.FEEDMILL_PATIENCE || 1);
let browser, strays;

async function page(options) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  const made = await context.newPage();
  // whatever goes elsewhere, and whatever fails in the page, is a fault
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (!url.startsWith(base) && !/^(about|data|blob):/.test(url)) strays.push("request to " + url);
    return url.startsWith(base) ? route.continue() : route.abort();
  });
  made.on("pageerror", (error) => strays.push("error " + error.message));
  made.on("dialog", (dialog) => strays.push("dialog " + dialog.message()) && dialog.dismiss());
  return made;
}

const heading = (p, text) => p.getByRole("heading", { level: 1, name: text, exact: true }).waitFor();
const link = (p, text) => p.getByRole("navigation").getByRole("link", { name: text, exact: true });
const press = (p, text) => p.getByRole("button", { name: text, exact: true }).first().click();
const field = (p, text) => p.getByLabel(text, { exact: true });
async function until(what, check) {
  for (const end = Date.now() + PATIENCE; ; await new Promise((done) => setTimeout(done, 100))) {
    if (await check()) return;
    if (Date.now() > end) throw new Error("it did not come: " + what);
  }
}

async function axe(p, where) {
  await p.addScriptTag({ path: require.resolve("axe-core") }).catch(() => p.evaluate(require("node:fs").readFileSync(require.resolve("axe-core"), "utf8")));
  const found = await p.evaluate(() => window.axe.run(document, { iframes: false }));
  assert.deepStrictEqual(found.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" ")), [], where);
}

// Pictures for people to look at, where FEEDMILL_PICTURES names a folder.
async function picture(p, address, { colorScheme, viewport }) {
  const folder = process.env.FEEDMILL_PICTURES, look = viewport ? colorScheme + "-" + viewport.width : colorScheme;
  if (folder) await p.screenshot({ path: `${folder}/${address.replace(/[^a-z0-9]+/g, "-")}-${look}.png`, fullPage: true });
}

const checks = {
  // the pages, by links; each has a heading with the name of its link
  async pages(names) {
    const p = await page();
    await p.goto(base + "/");
    for (const text of names) {
      await link(p, text).click();
      await heading(p, text);
      assert.equal(await link(p, text).getAttribute("aria-current"), "page");
    }
    assert.equal(await p.getByRole("navigation").getByRole("link").count(), names.length);
  },

  // the same by the keyboard alone: the skip link, Tab and Enter
  async keyboard() {
    const p = await page();
    await p.goto(base + "/");
    await heading(p, "Overview");
    await p.keyboard.press("Tab");
    assert.equal(await p.evaluate(() => document.activeElement.textContent), "Skip to content");
    const reach = async (text) => {
      for (let i = 0; i < 60; i++) {
        await p.keyboard.press("Tab");
        if ((await p.evaluate(() => document.activeElement.textContent.trim())) === text) return;
      }
      throw new Error("Tab does not reach " + text);
    };
    await reach("Feeds");
    await p.keyboard.press("Enter");
    await heading(p, "Feeds");
    await reach("Add feed");
    await p.keyboard.press("Enter");
    await p.getByRole("dialog").waitFor();
    await p.keyboard.press("Escape");
    await p.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await p.evaluate(() => document.activeElement.textContent), "Add feed");
  },

  // sign in with a wrong token, then with the right one; sign out ends the session on the server
  async session(token) {
    const p = await page();
    await p.goto(base + "/");
    await heading(p, "Sign in");
    await field(p, "Token").fill("fm_wrong");
    await press(p, "Sign in");
    await p.getByRole("alert").filter({ hasText: "not known" }).waitFor();
    await p.keyboard.type(token); // in the place of the wrong one
    const ahead = p.waitForResponse(/diff\.js/); // the other pages are read then, so they are there when nothing answers
    await p.keyboard.press("Enter");
    await heading(p, "Overview");
    await ahead;
    const [cookie] = await p.context().cookies();
    assert.deepStrictEqual([cookie.httpOnly, cookie.sameSite, cookie.expires > Date.now() / 1000], [true, "Strict", true]);
    assert.notEqual(cookie.value, token);
    const asks = async () => (await fetch(base + "/session", { headers: { Cookie: cookie.name + "=" + cookie.value } })).status;
    assert.equal(await asks(), 200);
    await p.reload();
    await heading(p, "Overview");
    await press(p, "Sign out");
    await heading(p, "Sign in");
    assert.equal(await asks(), 401);
  },

  // a session that ends in the middle of work: the token is asked for above the page, which keeps what was typed
  async ended(token) {
    const p = await page();
    await p.goto(base + "/#/views/!new");
    await field(p, "Token").fill(token);
    await press(p, "Sign in");
    await heading(p, "New view");
    await field(p, "Feeds").fill("all");
    await field(p, "Name").fill("half");
    const box = p.getByRole("dialog", { name: "The session has ended" }), end = async () => {
      const [cookie] = await p.context().cookies();
      assert.equal((await fetch(base + "/session", { method: "DELETE", headers: { Cookie: cookie.name + "=" + cookie.value } })).status, 204);
      await press(p, "Save").catch(() => {}); // unless what the page asks for by itself was first
      await box.waitFor();
    };
    await end();
    await box.getByLabel("Token", { exact: true }).fill("fm_wrong");
    await p.keyboard.press("Enter");
    await box.getByRole("alert").filter({ hasText: "not known" }).waitFor();
    await box.getByLabel("Token", { exact: true }).fill(token);
    await p.keyboard.press("Enter");
    await box.waitFor({ state: "detached" });
    assert.equal(await field(p, "Name").inputValue(), "half");
    await press(p, "Save");
    await heading(p, "half");
    await end();
    await p.keyboard.press("Escape"); // what was typed is not lost by that, and is saved after the next sign-in
    await box.waitFor({ state: "detached" });
    await p.getByRole("alert").filter({ hasText: "The session has ended." }).waitFor();
    assert.equal(await field(p, "Name").inputValue(), "half");
    await press(p, "Save");
    await box.getByLabel("Token", { exact: true }).fill(token);
    await p.keyboard.press("Enter");
    await box.waitFor({ state: "detached" });
    await press(p, "Save");
    await p.getByText("Saved.").waitFor();
    await end();
    await box.getByRole("button", { name: "Leave", exact: true }).click();
    await heading(p, "Sign in");
  },

  // nothing answers any more: that is told, and when something does again, the page that was asked for is shown
  async lost() {
    const p = await page();
    const ahead = p.waitForResponse(/diff\.js/); // the other pages are read ahead, this part as the last one
    await p.goto(base + "/");
    await (await ahead).finished();
    await p.getByText("Nothing is wrong.").waitFor();
    await p.context().setOffline(true);
    await p.getByRole("status").filter({ hasText: "Feedmill does not answer since" }).waitFor();
    await link(p, "Views").click();
    await p.getByRole("main").getByRole("alert").filter({ hasText: "Feedmill does not answer." }).waitFor();
    for (const text of ["Feeds", "Subscriptions", "Overview"]) {
      await link(p, text).click();
      await heading(p, text);
      await p.getByText("Not known yet.").waitFor();
      assert.equal(await p.getByText(/^There are no|^Nothing is/).count(), 0);
    }
    await link(p, "Views").click();
    await heading(p, "Views");
    await p.context().setOffline(false);
    await p.getByRole("table", { name: "Views" }).waitFor();
    await p.getByText("Feedmill answers again.").waitFor();
    assert.equal(await p.getByText("does not answer since").count(), 0);
  },

  // nothing fails, and nothing answers: after some seconds that is told, and a page that waits says so
  async hangs() {
    const p = await page(), ahead = p.waitForResponse(/diff\.js/), hold = () => {};
    await p.goto(base + "/");
    await (await ahead).finished();
    await p.getByText("Nothing is wrong.").waitFor();
    await p.route("**/*", hold);
    for (const text of ["Views", "Feeds"]) {
      await link(p, text).click();
      await p.getByRole("main").getByText("Waiting for an answer…").waitFor();
    }
    const bar = p.getByRole("status").filter({ hasText: "Feedmill does not answer since" });
    await bar.waitFor();
    await p.unroute("**/*", hold);
    await p.getByText("Feedmill answers again.").waitFor();
    assert.equal(await p.getByText("does not answer since").count(), 0);
  },

  // lists as people have them: the server reads them, so the console does
  async lists(all) {
    const p = await page();
    await p.goto(base + "/#/feeds");
    for (const [base64, told] of all) {
      await press(p, "Import");
      await p.locator("input[type=file]").setInputFiles({ name: "list.opml", mimeType: "text/x-opml", buffer: Buffer.from(base64, "base64") });
      await p.getByRole("dialog").getByText(told).waitFor();
      await p.keyboard.press("Escape");
      await p.getByRole("dialog").waitFor({ state: "detached" });
    }
  },

  // a part that could not be loaded while nothing answered is loaded when something does
  async part() {
    const p = await page(), missing = (route) => route.abort();
    await p.context().route("**/log.js", missing);
    await p.goto(base + "/#/log");
    await p.getByRole("main").getByRole("alert").filter({ hasText: "A part of the console could not be loaded." }).waitFor();
    await p.context().setOffline(true);
    await p.getByRole("status").filter({ hasText: "Feedmill does not answer since" }).waitFor();
    await p.context().unroute("**/log.js", missing);
    await p.context().setOffline(false);
    await p.getByRole("table", { name: "Log" }).waitFor();
  },

  // entries that come in change nothing at those that are read: they stay open, and the focus stays
  async reading({ id, first, second, changed }) {
    const p = await page();
    const fetchIt = async () => assert.equal((await fetch(`${base}/sub/feed?id=${id}&fetch=1`, { method: "PATCH" })).status, 200);
    const entries = p.getByRole("listitem").filter({ has: p.locator("details") }), opened = p.locator("details[open]");
    const read = () => p.evaluate(() => document.activeElement.matches("details[open] > summary") && document.activeElement.textContent);
    await p.goto(base + "/#/feeds/" + id);
    await entries.filter({ hasText: first }).locator("summary").focus();
    await p.keyboard.press("Enter");
    const frame = await p.locator("iframe").elementHandle();
    await fetchIt();
    await entries.filter({ hasText: second }).waitFor();
    assert.match(String(await read()), new RegExp(first));
    assert.equal(await frame.evaluate((node) => node.isConnected), true);
    await fetchIt(); // now it is changed by its publisher
    await entries.filter({ hasText: changed }).waitFor();
    assert.match(String(await read()), new RegExp(changed));
    assert.equal(await opened.count(), 1);
    await p.locator("iframe").waitFor();
  },

  // a title of any length leaves room for the rest; the whole one is there, too
  async long({ id, title }) {
    for (const options of [{}, { colorScheme: "dark", viewport: { width: 360, height: 740 } }]) {
      const p = await page(options);
      await p.goto(base + "/#/feeds/" + id);
      const name = p.getByRole("heading", { level: 1, name: title.slice(0, 100) });
      await name.waitFor();
      assert.ok((await name.textContent()).length < 130 && (await name.boundingBox()).height < 200, await name.textContent());
      assert.equal(await name.getAttribute("title"), title);
      assert.ok((await p.title()).length < 150);
      await p.getByRole("definition").filter({ hasText: title }).waitFor();
      await picture(p, "long", { colorScheme: "light", viewport: { width: 1200 }, ...options });
    }
  },

  // more tabs than a browser has connections: each of them loads and is live; one that is not seen holds no stream, and catches up
  async tabs({ id, titles }) {
    const fetchIt = async () => assert.equal((await fetch(`${base}/sub/feed?id=${id}&fetch=1`, { method: "PATCH" })).status, 200);
    const streams = async () => Number(/^feedmill_event_streams (\d+)/m.exec(await (await fetch(base + "/metrics")).text())[1]);
    const p = await page(), all = [p];
    await p.context().addInitScript(() => {
      Object.defineProperty(document, "hidden", { get: () => Boolean(window.hides) });
      window.see = (seen) => {
        window.hides = !seen;
        document.dispatchEvent(new Event("visibilitychange"));
      };
    });
    while (all.length < 9) all.push(await p.context().newPage());
    const rows = (one, title) => one.getByRole("table", { name: "Log" }).getByRole("row").filter({ hasText: title });
    for (const one of all) {
      await one.goto(base + "/#/log");
      await rows(one, titles[0]).waitFor();
      await one.getByText("Live", { exact: true }).waitFor();
    }
    await fetchIt();
    for (const one of all) await rows(one, titles[1]).waitFor();
    await until("few streams", async () => (await streams()) <= 3);
    for (const one of all) await one.evaluate(() => window.see(false));
    await until("no stream", async () => (await streams()) === 0);
    await fetchIt();
    await until("it is stored", async () => (await (await fetch(base + "/log?since=start")).text()).includes(titles[2]));
    assert.equal(await rows(p, titles[2]).count(), 0);
    await p.evaluate(() => window.see(true));
    await rows(p, titles[2]).waitFor();
    await until("a stream", async () => (await streams()) === 1);
    // what follows the cursor is not kept any more: the end of the log is shown anew
    await p.evaluate(() => window.see(false));
    await until("no stream", async () => (await streams()) === 0);
    await p.route(/log\?.*since=fm1/, (route) => route.fulfill({ status: 410, contentType: "application/problem+json", body: '{"detail":"gone"}' }));
    await fetchIt();
    await until("it is stored", async () => (await (await fetch(base + "/log?since=start")).text()).includes(titles[3]));
    await p.evaluate(() => window.see(true));
    await until("it is live again", async () => (await streams()) === 1);
    for (const title of titles) assert.equal(await rows(p, title).count(), 1, title);
  },

  // where the log does not keep all of it any more, what is kept is shown
  async kept({ title, prev }) {
    const p = await page();
    await p.goto(base + "/#/log");
    await p.getByRole("table", { name: "Log" }).getByText(title).first().waitFor();
    await p.getByText("Live", { exact: true }).waitFor();
    await link(p, "Overview").click();
    await p.getByRole("main").getByRole("link", { name: title, exact: true }).first().click();
    await p.getByText(prev + ", which is not kept any more").waitFor();
    await p.getByText("Atom", { exact: true }).click();
    await p.locator("pre").filter({ hasText: "<entry" }).waitFor();
  },

  // a page that is drawn anew takes neither the focus nor the place to which a table was scrolled
  async calm(id) {
    const p = await page({ viewport: { width: 360, height: 740 } });
    await p.goto(base + "/#/feeds/" + id);
    const region = p.getByRole("region", { name: "History of fetches, scrollable" }), again = () => p.waitForResponse(/sub\/feed\?/);
    await region.evaluate((box) => (box.scrollLeft = 10));
    const address = p.getByRole("definition").getByRole("link").first();
    await address.focus();
    const old = await address.elementHandle();
    await until("it is drawn anew", async () => (await again(), !(await old.evaluate((node) => node.isConnected))));
    assert.equal(await address.evaluate((node) => node === document.activeElement), true);
    assert.equal(await region.evaluate((box) => box.scrollLeft), 10);
  },

  // the plots have names, and what is wrong leads to where it can be mended
  async wrong(title) {
    const p = await page();
    await p.goto(base + "/");
    for (const text of ["Entries", "Fetches", "Errors", "Pushes"]) await p.getByRole("img", { name: new RegExp("^" + text) }).waitFor();
    await p.getByRole("link", { name: title }).click();
    await p.getByRole("button", { name: "Fetch now" }).waitFor();
    assert.match(new URL(p.url()).hash, /^#\/feeds\/\d+$/);
  },

  // one feed: fetched by hand, paused, with another period
  async feed({ id, title, link: address }) {
    const p = await page();
    await p.goto(base + "/#/feeds");
    await field(p, "Search").fill(title.toLowerCase());
    await until("one row", async () => (await p.getByRole("table", { name: "Feeds" }).getAttribute("aria-rowcount")) === "2");
    await p.getByRole("link", { name: title }).click();
    await heading(p, title);
    assert.equal(new URL(p.url()).hash, "#/feeds/" + id);
    const rows = p.getByRole("table", { name: "History of fetches" }).getByRole("row");
    const before = await rows.count();
    await press(p, "Pause");
    await p.getByRole("button", { name: "Resume", exact: true }).waitFor();
    await press(p, "Fetch now");
    await until("a fetch by hand", async () => (await rows.count()) > before);
    await p.getByText("Somebody asked for it by hand.").first().waitFor();
    await field(p, "Period").fill("0"); // of the API that is a level, and nobody means it here
    await press(p, "Save");
    await p.getByText("The period must be seconds").waitFor();
    await field(p, "Period").fill("2h");
    await press(p, "Save");
    await until("the period", async () => (await field(p, "Period").inputValue()) === "7200");
    await press(p, "Resume");
    await p.getByText("It is fetched every 2 hours.").waitFor();
    await p.locator("summary").first().click();
    const frame = p.locator("iframe").first();
    assert.ok(!(await frame.getAttribute("sandbox")).includes("allow-scripts"));
    await p.reload();
    await heading(p, title);
    await press(p, "Delete");
    await p.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(p, "Feeds");
  },

  // a feed is deleted with all that was stored of it, after a question that says what is lost
  async forgotten({ id, entries }) {
    const p = await page();
    await p.goto(base + "/#/feeds/" + id);
    await press(p, "Forget");
    const box = p.getByRole("dialog", { name: "Forget this feed?" });
    await box.getByText(entries + ", all their revisions and what is known of its past are deleted. It is taken out of 1 subscription, also those of others").waitFor();
    await p.keyboard.press("Enter"); // the first button is Cancel
    await box.waitFor({ state: "detached" });
    assert.equal((await fetch(`${base}/sub/feed?id=${id}`)).status, 200);
    await press(p, "Forget");
    await box.getByRole("button", { name: "Forget", exact: true }).click();
    await heading(p, "Feeds");
    assert.equal((await fetch(`${base}/sub/feed?id=${id}`)).status, 404);
  },

  // what can be set of a feed, and what is refused beside its field
  async settings_of_a_feed({ id }) {
    const p = await page(), known = async () => (await fetch(`${base}/sub/feed?id=${id}`)).json();
    const own = async () => (await (await fetch(`${base}/sub?type=json&id=1`)).json()).subscriptions[0];
    const { period } = await known();
    await p.goto(base + "/#/feeds/" + id);
    for (const [name, value] of [["Title", "Mine"], ["Folder", "News/Own"], ["Keep", "30d"], ["Entries kept", "50"]]) await field(p, name).fill(value);
    await press(p, "Save");
    await heading(p, "Mine");
    await p.getByText("Saved.").waitFor();
    const now = await known();
    assert.deepStrictEqual([now.keep, now.keep_entries, now.period, (await own()).folders], [30 * 86400, 50, period, [["News", "Own"]]]);
    for (const [name, value, why] of [["Keep", "3x", /^Keep must be an age as 90s/], ["Period", "often", /^The period must be seconds/]]) {
      const was = await field(p, name).inputValue();
      await field(p, name).fill(value);
      await press(p, "Save");
      await until("it is told beside " + name, async () => (await field(p, name).getAttribute("aria-invalid")) === "true");
      assert.equal(await field(p, name).evaluate((node) => node === document.activeElement), true);
      const about = await field(p, name).evaluate((node) => node.getAttribute("aria-describedby").split(" ").map((part) => document.getElementById(part).textContent).pop());
      assert.match(about, why);
      await field(p, name).fill(was);
    }
    await field(p, "Mirror files").selectOption("Yes"); // the daemon was started without --mirror
    await press(p, "Save");
    await p.getByText("This server mirrors nothing").waitFor();
    const sent = p.getByRole("dialog", { name: "Sent with its fetches" });
    await press(p, "Sent with its fetches");
    await sent.getByText("Nothing of its own is sent.").waitFor();
    await field(p, "Bearer token").fill("k3y");
    await field(p, "Other fields").fill("Host: v");
    await sent.getByRole("button", { name: "Save", exact: true }).click();
    await until("it is told", async () => (await field(p, "Other fields").getAttribute("aria-invalid")) === "true");
    await field(p, "Other fields").fill("X-Key: v\n");
    await sent.getByRole("button", { name: "Save", exact: true }).click();
    await sent.waitFor({ state: "detached" });
    assert.equal((await known()).secrets, true);
    await press(p, "Sent with its fetches");
    await sent.getByText("Something is sent, and never shown.").waitFor();
    assert.equal(await field(p, "Bearer token").inputValue(), "");
    await press(p, "Send nothing");
    await sent.waitFor({ state: "detached" });
    assert.equal((await known()).secrets, false);
    await p.reload();
    assert.deepStrictEqual([await field(p, "Keep").inputValue(), await field(p, "Folder").inputValue()], ["30d", "News/Own"]);
  },

  // what can be set of a subscription; its feeds are taken out one by one
  async settings_of_a_subscription({ id, endpoint }) {
    const p = await page(), all = async () => (await (await fetch(`${base}/sub?type=json`)).json()).subscriptions, known = async () => (await all()).find((s) => s.id === id);
    await p.goto(base + "/#/subscriptions/" + id);
    await field(p, "deleted").check();
    await field(p, "Words").fill("crane");
    await field(p, "Batch").fill("7");
    for (const part of ["More conditions", "Its feeds", "Webhook"]) await p.getByText(part, { exact: true }).click();
    for (const [name, value] of [["Category", "News, Port"], ["Folder", "Team"], ["Keep", "2w"], ["Header fields", "X-A: b"]]) await field(p, name).fill(value);
    await press(p, "Save");
    await p.getByText("Saved.").waitFor();
    const now = await known();
    assert.deepStrictEqual([now.events, now.filter, now.batch, now.keep, now.folders], [["new", "changed", "deleted"], { q: "crane", category: ["news", "port"] }, 7, 14 * 86400, [["Team"], ["Team"]]]);
    await field(p, "New secret").fill("short");
    await p.getByText("Webhook", { exact: true }).click(); // what is refused opens its part
    assert.equal(await field(p, "New secret").isVisible(), false);
    await press(p, "Save");
    await until("it is told", async () => (await field(p, "New secret").getAttribute("aria-invalid")) === "true");
    assert.equal(await field(p, "New secret").isVisible(), true);
    await p.getByRole("button", { name: /^Take out/ }).first().click();
    await p.getByRole("dialog").getByRole("button", { name: "Take out", exact: true }).click();
    await until("one feed", async () => (await known()).feeds.length === 1);
    await until("one is shown", async () => (await p.getByRole("button", { name: /^Take out/ }).count()) === 1);
    // one that only fetches gets an endpoint, and its secret is told
    const alone = (await all()).find((s) => !s.endpoint).id;
    await p.goto(base + "/#/subscriptions/" + alone);
    await field(p, "Dialect").selectOption("Webhook");
    await field(p, "Endpoint").fill("nowhere");
    await press(p, "Save");
    await until("it is told", async () => (await field(p, "Endpoint").getAttribute("aria-invalid")) === "true");
    await field(p, "Endpoint").fill(endpoint);
    await press(p, "Save");
    await p.getByRole("dialog", { name: "The secret of the webhook" }).getByText("whsec_").waitFor();
    assert.deepStrictEqual((await all()).filter((s) => s.id === alone).map((s) => [s.endpoint, s.sink]), [[endpoint, "webhook"]]);
    // a list is followed
    await p.goto(base + "/#/subscriptions");
    await press(p, "New subscription");
    await field(p, "Dialect").selectOption("webhook");
    await field(p, "Endpoint").fill(endpoint);
    await field(p, "List").fill(endpoint + "/list.opml");
    await p.getByText("Its feeds", { exact: true }).click();
    await field(p, "Folder").fill("Followed");
    await p.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await p.getByRole("dialog", { name: "The secret of the webhook" }).waitFor();
    assert.deepStrictEqual((await all()).map((s) => s.list && [s.list.url, s.list.folder]).pop(), [endpoint + "/list.opml", ["Followed"]]);
  },

  // nothing is offered that needs another role
  async offered({ token, id }) {
    const p = await page();
    await p.goto(base + "/");
    await field(p, "Token").fill(token);
    await p.keyboard.press("Enter");
    await heading(p, "Overview");
    await p.getByText("Nothing is wrong.").waitFor();
    assert.equal(await p.getByRole("button", { name: "Backup" }).count(), 0);
    await p.goto(base + "/#/feeds/" + id);
    await field(p, "Period").waitFor();
    assert.deepStrictEqual([await p.getByRole("button", { name: "Forget" }).count(), await p.getByRole("button", { name: "Sent with its fetches" }).count()], [0, 0]);
  },

  // a copy of the database is a download; what refuses it is told
  async backup() {
    const p = await page({ acceptDownloads: true });
    await p.goto(base + "/");
    const box = p.getByRole("dialog", { name: "Backup" }), start = () => box.getByRole("button", { name: "Download", exact: true }).click();
    await press(p, "Backup");
    await box.getByText("all secrets of the database").waitFor();
    const [download] = await Promise.all([p.waitForEvent("download"), start()]);
    assert.equal(download.suggestedFilename(), "feeds.db");
    assert.equal(require("node:fs").readFileSync(await download.path(), "latin1").slice(0, 15), "SQLite format 3");
    await box.waitFor({ state: "detached" });
    await p.route(/backup$/, (route) => route.fulfill({ status: 507, contentType: "application/problem+json", body: '{"detail":"The disk has no room."}' }));
    await press(p, "Backup");
    await start();
    await p.getByRole("alert").filter({ hasText: "The disk has no room." }).waitFor();
  },

  // many feeds: only some rows exist; sorted, filtered, and gone through by keys
  async many(total) {
    const p = await page();
    await p.goto(base + "/#/feeds");
    const table = p.getByRole("table", { name: "Feeds" });
    await until("all rows counted", async () => (await table.getAttribute("aria-rowcount")) === String(total + 1));
    assert.ok((await table.getByRole("row").count()) < 100);
    // the arrow of the sorted column is seen, and is not read out
    assert.equal(await p.getByRole("columnheader", { name: "Title", exact: true }).getAttribute("aria-sort"), "ascending");
    await p.getByRole("button", { name: "Title", exact: true }).waitFor();
    const region = p.getByRole("region", { name: "Feeds, scrollable" });
    await region.focus();
    await p.keyboard.press("End");
    await until("the last row", async () => (await p.evaluate(() => document.activeElement.closest("tr")?.getAttribute("aria-rowindex"))) === String(total + 1));
    await p.keyboard.press("Home");
    // however far it is scrolled, only the rows around those in sight exist, so a frame costs the same with any number of rows
    const drawn = await p.evaluate(async () => {
      const box = document.querySelector(".long"), step = box.scrollHeight / 60, counts = [];
      for (let i = 0; i < 60; i++) {
        box.scrollTop += step;
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        counts.push(box.querySelectorAll("tr").length);
      }
      return Math.max(...counts);
    });
    assert.ok(drawn < 100, drawn + " rows exist");
    // it stays where the wheel and the bar have brought it, while rows come and go
    const top = () => region.evaluate((box) => Math.round(box.scrollTop));
    const rests = async (at, what) => {
      await until("the rows are read", () => p.evaluate(() => ![...document.querySelectorAll(".long td")].some((cell) => cell.textContent === "…")));
      await p.waitForTimeout(300);
      assert.ok(Math.abs((await top()) - at) < 40, `${what}: it should be at ${at} and is at ${await top()}`);
    };
    for (const part of [0.1, 0.5, 0.2, 0.7, 0.05]) {
      const at = await region.evaluate((box, part) => (box.scrollTop = Math.round(part * box.scrollHeight)), part);
      await rests(at, "a jump");
    }
    const before = await top();
    await region.hover();
    for (let i = 1; i <= 6; i++) {
      await p.mouse.wheel(0, 1000 * i);
      await p.waitForTimeout(40);
    }
    await until("it is scrolled", async () => (await top()) >= before + 20900);
    await rests(before + 21000, "the wheel");
    await until("what is in sight is read", () => p.evaluate(() => ![...document.querySelectorAll(".long td")].some((cell) => cell.textContent === "…")));
    await p.getByRole("columnheader", { name: "Address" }).getByRole("button").click();
    await until("sorted", async () => (await p.getByRole("columnheader", { name: "Address" }).getAttribute("aria-sort")) === "ascending");
    for (const sorted of ["ascending", "descending"]) {
      await p.getByRole("columnheader", { name: "Folder" }).getByRole("button", { name: "Folder", exact: true }).click();
      await until("sorted", async () => (await p.getByRole("columnheader", { name: "Folder", exact: true }).getAttribute("aria-sort")) === sorted);
      await until("the folders", async () => (await table.getByRole("row").nth(1).textContent()).includes(sorted === "ascending" ? "Even" : "Odd"));
    }
    await field(p, "Folder").selectOption("Even");
    await until("one folder", async () => (await table.getAttribute("aria-rowcount")) === String(total / 2 + 1));
    await field(p, "State").selectOption("gone");
    await until("none", async () => (await table.getAttribute("aria-rowcount")) === "1");
  },

  // Back, and a reload, lead to the same place of a long list, and to the row that had the focus
  async back(total) {
    const p = await page();
    await p.goto(base + "/#/feeds?desc=1");
    const region = p.getByRole("region", { name: "Feeds, scrollable" }), top = () => region.evaluate((box) => Math.round(box.scrollTop));
    const row = () => p.evaluate(() => Number(document.activeElement.closest("tr")?.getAttribute("aria-rowindex")) - 1);
    const away = async () => {
      await p.getByRole("button", { name: "Fetch now" }).waitFor();
      await p.goBack();
      await heading(p, "Feeds");
    };
    await p.getByText(/ feeds$/).waitFor();
    await region.focus();
    await p.keyboard.press("End");
    await until("the last row", async () => (await row()) === total);
    const end = await top(), name = await p.evaluate(() => document.activeElement.textContent);
    for (const how of ["Back", "reload"]) {
      await p.keyboard.press("Enter");
      await away();
      if (how === "reload") await p.reload();
      await until("the last row has the focus after " + how, async () => (await row()) === total);
      assert.deepStrictEqual([await top(), await p.evaluate(() => document.activeElement.textContent)], [end, name], how);
    }
    // by the wheel and the mouse
    await region.evaluate((box) => (box.scrollTop = 20400));
    await p.locator(".long tr[aria-rowindex='606'] a").click();
    await away();
    await until("row 605 has the focus", async () => (await row()) === 605);
    assert.equal(await top(), 20400);
    // what is in the middle of a list when one leaves by another way is there, too; another order begins at its top
    await region.evaluate((box) => (box.scrollTop = 10200));
    await p.waitForTimeout(500);
    await link(p, "Overview").click();
    await heading(p, "Overview");
    await p.goBack();
    await until("it is scrolled", async () => (await top()) === 10200);
    await p.getByRole("columnheader", { name: "Address" }).getByRole("button").click();
    await until("its top", async () => (await top()) === 0);
    await p.reload();
    await p.getByText(/ feeds$/).waitFor();
    assert.equal(await top(), 0);
  },

  // a page with two feeds: Enter finds, one is chosen, Save subscribes
  async add({ address, title, shown }) {
    const p = await page();
    await p.goto(base + "/#/feeds");
    await press(p, "Add feed");
    await field(p, "Address").fill(address);
    await p.keyboard.press("Enter");
    await p.getByRole("radio", { name: title }).check();
    await p.getByRole("dialog").locator("summary").first().waitFor();
    await p.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await p.getByRole("dialog").waitFor({ state: "detached" });
    await p.getByRole("link", { name: shown }).first().waitFor();
  },

  async opml(text) {
    const p = await page({ acceptDownloads: true });
    await p.goto(base + "/#/feeds");
    await press(p, "Import");
    await p.locator("input[type=file]").setInputFiles({ name: "list.opml", mimeType: "text/x-opml", buffer: Buffer.from(text) });
    await p.getByText("1 feed added").waitFor();
    await p.getByRole("list", { name: "Problems" }).getByText("ftp://").waitFor();
    await p.keyboard.press("Escape");
    const [download] = await Promise.all([p.waitForEvent("download"), p.getByRole("link", { name: "Export" }).click()]);
    assert.match(require("node:fs").readFileSync(await download.path(), "utf8"), /<opml/);
  },

  // a list that is dropped anywhere on the page is read
  async dropped(text) {
    const p = await page();
    await p.goto(base + "/#/feeds");
    await p.getByRole("table", { name: "Feeds" }).waitFor();
    const files = await p.evaluateHandle((opml) => {
      const made = new DataTransfer();
      made.items.add(new File([opml], "list.opml", { type: "text/x-opml" }));
      return made;
    }, text);
    for (const type of ["dragover", "drop"]) await p.dispatchEvent("h1", type, { dataTransfer: files });
    await p.getByRole("dialog", { name: "Import" }).getByText("1 feed added, 0 known already, 1 left out.").waitFor();
    await press(p, "Done");
    await until("it is closed", async () => (await p.getByRole("dialog").count()) === 0);
  },

  // the list of subscriptions: searched, filtered, sorted; those with an endpoint come first
  async subscribers({ endpoint, total }) {
    const p = await page();
    await p.goto(base + "/#/subscriptions");
    const table = p.getByRole("table", { name: "Subscriptions" }), count = () => table.getAttribute("aria-rowcount");
    await until("all of them", async () => (await count()) === String(total + 1));
    assert.match(await table.getByRole("row").nth(1).textContent(), new RegExp(endpoint));
    await field(p, "State").selectOption("fetched only");
    await until("the others", async () => (await count()) === String(total));
    await field(p, "Search").fill("webhook");
    await p.getByText("No subscription fits.").waitFor();
    await field(p, "State").selectOption("Any");
    await until("one", async () => (await count()) === "2");
    assert.equal(new URL(p.url()).hash, "#/subscriptions?q=webhook");
    await p.getByRole("columnheader", { name: "Lag" }).getByRole("button").click();
    assert.equal(await p.getByRole("columnheader", { name: "Lag" }).getAttribute("aria-sort"), "ascending");
    await p.getByRole("link", { name: endpoint }).click();
    await p.getByRole("table", { name: "Delivery log" }).waitFor();
    const actions = () => p.locator("main .actions").first().getByRole("button").allTextContents();
    assert.deepEqual(await actions(), ["Pause", "Replay", "Skip", "Test", "Delete"]);
    await p.goto(base + "/#/subscriptions/1"); // which has no endpoint
    await p.getByText("none: its feeds are fetched only").waitFor();
    assert.deepEqual(await actions(), ["Delete"]);
    // the overview has the numbers, each a way to those that it counts
    await link(p, "Overview").click();
    await p.getByRole("link", { name: `Fetched only: ${total - 1} subscriptions`, exact: true }).click();
    await heading(p, "Subscriptions");
    await until("the others", async () => (await count()) === String(total));
  },

  // at 360 pixels the lists have room for what they are about, and no column is left empty
  async narrow() {
    const p = await page({ viewport: { width: 360, height: 740 } });
    for (const [where, column] of [["feeds", "Title"], ["subscriptions", "Endpoint"]]) {
      await p.goto(base + "/#/" + where);
      await p.getByRole("table").getByRole("link").first().waitFor();
      const width = await p.getByRole("columnheader", { name: column }).evaluate((head) => head.offsetWidth);
      assert.ok(width > 130, `${column} has ${width} pixels`);
      assert.equal(await p.evaluate(() => {
        const heads = [...document.querySelectorAll(".long th")].filter((head) => head.offsetParent);
        return Math.abs(heads.reduce((sum, head) => sum + head.offsetWidth, 0) - document.querySelector(".long table").offsetWidth) < 3;
      }), true);
    }
  },

  // what a page cannot show it tells in its own place
  async instead() {
    const p = await page();
    await p.goto(base + "/#/feeds/99999");
    await p.getByRole("main").getByRole("alert").filter({ hasText: "There is no feed 99999." }).waitFor();
    // it says that nothing is there, in one sentence, and offers nothing that cannot help
    for (const [address, why] of [["log/99999", "There is no revision 99999."], ["log/0", "There is no revision 0."], ["views/none", "There is no view named none."],
      ["subscriptions/99999", "There is no subscription 99999."]]) {
      await p.goto(base + "/#/" + address);
      const told = p.getByRole("main").getByRole("alert").filter({ hasText: why });
      await told.waitFor();
      assert.equal(await told.textContent(), why);
      assert.equal(await p.getByRole("main").getByRole("button").count(), 0);
    }
    for (const address of ["feeds/abc", "subscriptions/4/", "log/NaN"]) {
      await p.goto(base + "/#/" + address);
      await heading(p, "No such page");
      await until("its name", async () => (await p.title()) === "No such page · Feedmill");
      assert.equal(await p.evaluate(() => document.activeElement.textContent), "No such page");
    }
    await p.goto(base + "/#/tokens");
    await p.getByRole("main").getByRole("alert").filter({ hasText: "Your role is subscribe, and this page needs the role admin" }).getByRole("button", { name: "Sign in" }).click();
    await heading(p, "Sign in");
  },

  // who may only read is offered nothing that would be refused
  async reader(token) {
    const p = await page();
    await p.goto(base + "/");
    await field(p, "Token").fill(token);
    await p.keyboard.press("Enter");
    await heading(p, "Overview");
    await p.getByText("The server is well. Feeds and subscriptions are not looked at").waitFor();
    for (const text of ["Feeds", "Subscriptions"]) {
      await link(p, text).click();
      await heading(p, text);
      await p.getByRole("main").getByText("An admin makes a token of that role on the page Tokens.").waitFor();
      await p.getByRole("main").getByRole("alert").filter({ hasText: "Your role is read, and this page needs the role subscribe" }).waitFor();
      assert.equal(await p.getByRole("main").getByRole("button").filter({ hasNotText: "Sign in" }).count(), 0);
    }
    await link(p, "Views").click();
    await p.getByText("0 views").waitFor();
    assert.equal(await p.getByRole("main").getByRole("button").count(), 0);
  },

  async subscription({ endpoint, feed }) {
    const p = await page();
    await p.goto(base + "/#/subscriptions");
    await press(p, "New subscription");
    await field(p, "Dialect").selectOption("webhook");
    await field(p, "Endpoint").fill(endpoint);
    await field(p, "Feeds").fill(feed);
    await p.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await p.getByRole("dialog", { name: "The secret of the webhook" }).waitFor();
    await p.keyboard.press("Escape");
    await p.getByRole("table", { name: "Subscriptions" }).getByRole("link", { name: endpoint }).click();
    await p.getByRole("table", { name: "Dead letters" }).waitFor();
    await press(p, "Replay");
    await field(p, "Position").fill("start");
    await p.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
    await p.getByRole("table", { name: "Delivery log" }).getByText("delivered").first().waitFor();
    await press(p, "Test");
    await p.getByText("The test was answered with 204.").waitFor();
    await press(p, "Pause");
    await p.getByRole("status").filter({ hasText: "Paused." }).waitFor();
    assert.equal(await p.getByText("The test was answered").count(), 0);
    await press(p, "Resume");
    await p.getByRole("status").filter({ hasText: "Resumed." }).waitFor();
    await p.getByRole("button", { name: "Pause", exact: true }).waitFor();
    await press(p, "Skip");
    await p.getByRole("dialog").getByRole("button", { name: "Skip", exact: true }).click();
    await p.getByRole("dialog").waitFor({ state: "detached" });
    await press(p, "Delete");
    await p.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(p, "Subscriptions");
  },

  async view({ feed, title }) {
    const p = await page();
    await p.goto(base + "/#/views");
    await press(p, "New view");
    await field(p, "Feeds").fill(feed);
    await field(p, "Words").fill("nothingfitsthis");
    await p.getByText("Nothing matches.").waitFor();
    await field(p, "Words").fill(title);
    await p.getByRole("region", { name: "Result" }).getByText(title).waitFor();
    await field(p, "Order").selectOption("received");
    await field(p, "Name").fill("cranes");
    await press(p, "Save");
    await p.getByText(base + "/view/cranes?type=jsonfeed").waitFor();
    await p.getByText(base + "/events?view=cranes").waitFor();
    await p.goto(base + "/#/views");
    await p.getByRole("link", { name: "cranes", exact: true }).click();
    await until("its words", async () => (await field(p, "Words").inputValue()) === title);
    assert.equal(await field(p, "Order").inputValue(), "received");
    const words = async () => (await (await fetch(base + "/view", { headers: { Accept: "application/json" } })).json()).views.find((v) => v.name === "cranes").q;
    await p.goto(base + "/#/views/!new"); // a new one does not take the place of another without a question
    await heading(p, "New view");
    await field(p, "Feeds").fill("all");
    await field(p, "Words").fill("boat");
    await field(p, "Name").fill("cranes");
    const box = p.getByRole("dialog", { name: "Replace this view?" });
    await press(p, "Save");
    await box.getByRole("button", { name: "Cancel", exact: true }).click();
    assert.equal(await words(), title);
    await press(p, "Save");
    await box.getByRole("button", { name: "Replace", exact: true }).click();
    await heading(p, "cranes");
    assert.equal(await words(), "boat");
    await press(p, "Save"); // its own name needs none
    await p.getByText("Saved.").waitFor();
    assert.equal(await box.count(), 0);
  },

  // a view that an older version took is listed with what is wrong, and can be mended, and deleted
  async refused({ name, other }) {
    const p = await page();
    await p.goto(base + "/#/views");
    const row = p.getByRole("table", { name: "Views" }).getByRole("row").filter({ hasText: name });
    await row.getByText("stands before the name of a field").waitFor();
    await row.getByRole("link", { name, exact: true }).click();
    await heading(p, name);
    await p.getByRole("region", { name: "Result" }).getByText("stands before the name of a field").waitFor();
    await field(p, "Words").fill("red");
    await p.getByRole("region", { name: "Result" }).getByText("red boat").waitFor();
    await press(p, "Save");
    await p.getByText("Saved.").waitFor();
    await p.goto(base + "/#/views");
    await row.waitFor();
    assert.equal(await row.getByText("stands before").count(), 0);
    await p.getByRole("link", { name: other, exact: true }).click();
    await heading(p, other);
    await press(p, "Delete");
    await p.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(p, "Views");
    await until("it is gone", async () => (await p.getByRole("link", { name: other, exact: true }).count()) === 0);
  },

  // the log: what came is there, a filter leaves one, and its revision shows what changed
  async log({ title, old, now }) {
    const p = await page();
    await p.goto(base + "/#/log");
    const rows = p.getByRole("table", { name: "Log" }).getByRole("row");
    await rows.filter({ hasText: title }).first().waitFor();
    await field(p, "Filter").fill(now);
    await until("one row", async () => (await rows.count()) === 2);
    await rows.last().getByRole("link").first().click();
    await p.locator("del").filter({ hasText: old }).waitFor();
    await p.locator("ins").filter({ hasText: now }).waitFor();
    await p.getByText("Atom", { exact: true }).click();
    await p.locator("pre").filter({ hasText: "<entry" }).waitFor();
  },

  async tokens(token) {
    const p = await page();
    await p.goto(base + "/#/tokens");
    await field(p, "Token").fill(token);
    await press(p, "Sign in");
    await heading(p, "Tokens");
    await field(p, "Name").fill("reader");
    await field(p, "Role").selectOption("read");
    await press(p, "Save");
    await p.getByRole("dialog").getByText("fm_").waitFor();
    await p.keyboard.press("Escape");
    const row = p.getByRole("row").filter({ hasText: "reader" });
    await row.getByRole("button", { name: "Delete" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await row.waitFor({ state: "detached" });
    await field(p, "Name").fill("second");
    await field(p, "Role").selectOption("admin");
    await press(p, "Save");
    const made = await p.getByRole("dialog").getByText("fm_").textContent();
    await p.keyboard.press("Escape");
    await press(p, "Sign out");
    await heading(p, "Sign in");
    await field(p, "Token").fill(made);
    await p.keyboard.press("Enter");
    await link(p, "Tokens").click();
    await p.getByRole("row").filter({ hasText: "second" }).getByRole("button", { name: "Delete" }).click();
    await p.getByRole("dialog").getByText("You are signed in with it: your session ends, too. It is the only one of the role admin").waitFor();
    await p.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(p, "Sign in");
  },

  // titles, links and HTML of feeds: nothing runs, and nothing is asked for elsewhere
  async hostile(id) {
    const p = await page();
    for (const where of ["feeds", "log", "", "subscriptions/1", "views/hostile", "feeds/" + id]) {
      await p.goto(base + "/#/" + where);
      await p.waitForTimeout(500);
      assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await p.evaluate(() => document.body.innerText + document.title)), where);
      assert.equal(await p.evaluate(() => [...document.querySelectorAll("a")].every((a) => /^https?:$/.test(a.protocol))), true, where);
      assert.ok(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), where + " is wider than the window");
    }
    const entries = p.locator("details");
    await entries.first().waitFor();
    for (let i = 0; i < (await entries.count()); i++) {
      await entries.nth(i).locator("summary").click();
      await p.locator("iframe").nth(i).waitFor();
    }
    await p.waitForTimeout(1500);
    assert.deepStrictEqual(await p.evaluate(() => [window.hit, document.body.innerText.includes("over the page")]), [undefined, false]);
    assert.equal(await p.evaluate(() => [...document.querySelectorAll("a")].every((a) => /^https?:$/.test(a.protocol))), true);
    // links in the frames lead nowhere, however they are made
    for (const frame of p.frames().slice(1))
      for (const made of await frame.locator("a, area, [*|href]").all()) await made.dispatchEvent("click").catch(() => {});
    await p.waitForTimeout(300);
    assert.equal(p.context().pages().length, 1);
    assert.equal(new URL(p.url()).hash, "#/feeds/" + id);
    assert.equal(await p.evaluate(() => window.hit), undefined);
    assert.equal(await p.evaluate(() => getComputedStyle(document.body).display), "block");
  },

  // without a finding, in each look
  async accessible(addresses) {
    for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { colorScheme: "dark", viewport: { width: 360, height: 740 } }]) {
      const p = await page({ ...options, bypassCSP: true });
      await p.goto(base + "/");
      for (const address of addresses) {
        await p.goto(base + "/#/" + address);
        await p.getByRole("heading", { level: 1 }).waitFor();
        await p.waitForTimeout(700);
        await axe(p, JSON.stringify([address, options]));
        await picture(p, address, options);
        assert.ok(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), address + " is wider than the window");
      }
      for (const [address, name] of [["feeds", "Add feed"], ["feeds", "Import"], ["feeds/1", "Delete"], ["subscriptions", "New subscription"],
        ["subscriptions/2", "Replay"], ["subscriptions/2", "Skip"], ["subscriptions/2", "Delete"], ["views/all", "Delete"]]) {
        await p.goto(base + "/#/" + address);
        await press(p, name);
        await p.getByRole("dialog").waitFor();
        if (name === "Delete") assert.equal(await p.evaluate(() => document.activeElement.textContent), "Cancel");
        await axe(p, "the dialog " + name);
        await picture(p, address + "-" + name.toLowerCase(), options);
        assert.ok(await p.getByRole("dialog").evaluate((node) => node.scrollWidth <= node.clientWidth && node.offsetWidth <= innerWidth), name + " is too wide");
        await p.keyboard.press("Escape");
        await p.getByRole("dialog").waitFor({ state: "detached" });
        assert.equal(await p.evaluate(() => document.activeElement.textContent), name);
      }
    }
  },

  // a mirrored file of sound, in an element of a page and as a page of its own
  async plays(path) {
    const p = await page();
    await p.goto(base + "/");
    await p.evaluate((src) => {
      window.sound = new Audio(src);
      window.sound.muted = true;
      return window.sound.play();
    }, base + path);
    await until("sound", () => p.evaluate(() => window.sound.currentTime > 0.2));
    await p.evaluate(() => (window.sound.currentTime = 50)); // by a range
    await until("its end", () => p.evaluate(() => window.sound.currentTime > 50.2));
    await p.goto(base + path);
    await until("its length", () => p.locator("video").evaluate((v) => v.duration > 59));
  },

  // the first screen: little to load
  async quick() {
    const p = await page();
    let bytes = 0;
    const asked = [];
    p.on("request", (request) => asked.push(new URL(request.url()).pathname.replace(/.*\//, "")));
    const client = await p.context().newCDPSession(p);
    await client.send("Network.enable");
    client.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
    await p.goto(base + "/");
    await heading(p, "Overview");
    await p.getByText("Nothing is wrong.").waitFor(); // all is read that is on it
    await until("what waits is shown", () => p.evaluate(() => document.querySelector(".gauges dd") !== null));
    assert.ok(bytes < 100000, bytes + " bytes");
    // who one is is asked for before the parts of other pages, and these are there before somebody goes to them
    await until("the other pages are read ahead", () => asked.includes("diff.js"));
    assert.ok(asked.indexOf("session") < asked.indexOf("feeds.js"), asked.join(" "));
    assert.equal(new Set(asked.filter((name) => name.endsWith(".js"))).size, asked.filter((name) => name.endsWith(".js")).length);
    const headers = (await p.goto(base + "/")).headers();
    assert.match(headers["content-security-policy"], /default-src 'self'/);
    assert.doesNotMatch(headers["content-security-policy"], /unsafe-(?!inline)|script-src[^;]*unsafe/);
  },
};

(async () => {
  strays = [];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  try {
    await checks[name](argument === undefined ? undefined : JSON.parse(argument));
    assert.deepStrictEqual(strays, []);
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error.stack || error);
  if (strays.length) console.error("strays:", strays);
  process.exit(1);
});
