// picture.js BASE PREFIX SECONDS: the console's first page as PREFIX-light.png and PREFIX-dark.png, after SECONDS in which its
// plots have grown. scripts/picture runs it.
const { chromium } = require("playwright-core");

const [base, prefix, seconds] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const pages = {};
  for (const colorScheme of ["light", "dark"]) {
    const page = (pages[colorScheme] = await browser.newPage({ viewport: { width: 1280, height: 760 }, colorScheme }));
    await page.goto(base + "/");
    await page.getByRole("heading", { level: 1, name: "Overview", exact: true }).waitFor();
  }
  await new Promise((done) => setTimeout(done, seconds * 1000));
  for (const [scheme, page] of Object.entries(pages)) await page.screenshot({ path: prefix + "-" + scheme + ".png" });
  await browser.close();
})().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
