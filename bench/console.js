// console.js BASE [FEEDS]: measures the first screen of the console at BASE or, when it has FEEDS feeds, their list. bench/console runs it.
const { chromium } = require("playwright-core");

const [base, feeds] = process.argv.slice(2);
const LOADS = 10, FRAMES = 600;

const sorted = (values) => [...values].sort((a, b) => a - b);
const at = (values, part) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * part))];
const print = (name, text) => console.log(name.padEnd(44) + text);

// The page's policy lets no text become code, so what is waited for is asked for again and again.
async function until(page, check, argument) {
  for (;;) {
    const got = await page.evaluate(check, argument);
    if (got) return got;
    await page.waitForTimeout(20);
  }
}

async function firstScreen(browser) {
  const times = [];
  let bytes = 0;
  for (let i = 0; i < LOADS; i++) {
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    // it can be used when the navigation is there: the module that made it has run, and listens
    await page.addInitScript(() => new MutationObserver((_, observer) => {
      if (!document.querySelector("nav a") || !document.querySelector("h1")) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => (window.usableAt = performance.now())));
    }).observe(document, { childList: true, subtree: true }));
    const client = await page.context().newCDPSession(page);
    await client.send("Network.enable");
    bytes = 0;
    client.on("Network.dataReceived", (event) => (bytes += event.encodedDataLength));
    await page.goto(base + "/");
    times.push(await until(page, () => window.usableAt));
    await page.waitForTimeout(300);
    await page.context().close();
  }
  print("first screen", (bytes / 1000).toFixed(1) + " KB as sent");
  print("until it can be used, empty cache", `${at(times, 0.5).toFixed(0)} ms, of ${LOADS} loads from ${at(times, 0).toFixed(0)} to ${at(times, 1).toFixed(0)} ms`);
}

async function scroll(page, name, step) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  const before = await busy(), times = await page.evaluate(async ([step, frames]) => {
    const box = document.querySelector(".long"), by = step || box.scrollHeight / frames, times = [];
    box.scrollTop = 0;
    await new Promise((done) => setTimeout(done, 500));
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; i < frames; i++) {
      box.scrollTop += by;
      const now = await new Promise(requestAnimationFrame);
      times.push(now - last);
      last = now;
    }
    return times;
  }, [step, FRAMES]);
  const total = times.reduce((a, b) => a + b, 0), work = ((await busy()) - before) / FRAMES;
  print(name, `${((FRAMES * 1000) / total).toFixed(1)} frames/s, 99 % within ${at(times, 0.99).toFixed(0)} ms, slowest ${at(times, 1).toFixed(0)} ms; the page works ${work.toFixed(1)} ms a frame`);
}

async function jumps(page) {
  const times = [];
  for (let i = 0; i < 20; i++)
    times.push(await page.evaluate(async (part) => {
      const box = document.querySelector(".long"), begin = performance.now();
      box.scrollTop = part * box.scrollHeight;
      do await new Promise(requestAnimationFrame);
      while ([...box.querySelectorAll("td")].some((cell) => cell.textContent === "…"));
      return performance.now() - begin;
    }, ((i * 7) % 20) / 20));
  print("jump to rows that were not read yet", `${at(times, 0.5).toFixed(0)} ms, slowest of 20: ${at(times, 1).toFixed(0)} ms`);
}

async function theList(browser) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(base + "/#/feeds");
  await until(page, (n) => document.querySelector("table")?.getAttribute("aria-rowcount") === String(n + 1), Number(feeds));
  await scroll(page, `${feeds} feeds, 120 pixels a frame`, 120);
  await scroll(page, `${feeds} feeds, all of them in ${FRAMES} frames`, 0);
  await jumps(page);
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  await (feeds ? theList(browser) : firstScreen(browser));
  await browser.close();
})().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
