// opml.js BASE LIST: subscribes to all feeds of an OPML list. Needs Node 18 or later.
//
// With known=skip, what is subscribed already is not subscribed again, so it can be called each time that
// the list has changed.
const fs = require("fs");

const [base, list] = process.argv.slice(2);

async function subscribe() {
  const headers = { "Content-Type": "text/x-opml" };
  if (process.env.FEEDMILL_TOKEN) headers.Authorization = `Bearer ${process.env.FEEDMILL_TOKEN}`;
  const answer = await fetch(base + "/sub?known=skip", {
    method: "POST",
    headers,
    body: fs.readFileSync(list),
  });
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.detail);
  console.log(`subscribed to ${result.urls.length} feeds, ${result.known?.length ?? 0} were known`);
  for (const problem of result.problems ?? []) console.log(`outline ${problem.outline}: ${problem.detail}`);
}

subscribe().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
