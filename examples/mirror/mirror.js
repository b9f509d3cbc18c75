// mirror.js BASE FILE [QUESTION]: FILE has all entries as they are now, and follows the log. Needs Node 18 or later.
//
// FILE has the entries and the cursor up to which they are known, so both change in one step: after a
// crash nothing is lost and nothing comes twice. The server holds a request until there is news.
//
// QUESTION: which entries, as view=NAME or "folder=News&q=crane"; an edited one may leave them (`left`).
// When the server cannot go on from the cursor (410), the mirror begins anew. FEEDMILL_TOKEN: the token.
const fs = require("fs");

const [base, file, question = ""] = process.argv.slice(2);
const headers = process.env.FEEDMILL_TOKEN ? { Authorization: `Bearer ${process.env.FEEDMILL_TOKEN}` } : {};
let mirror = fs.existsSync(file)
  ? JSON.parse(fs.readFileSync(file, "utf8"))
  : { cursor: "start", entries: {} };

async function pull() {
  const query = new URLSearchParams({ since: mirror.cursor, max: 1000, timeout: 55 });
  const answer = await fetch(`${base}/log?${query}&${question}`, { headers, signal: AbortSignal.timeout(90000) });
  if (answer.status === 410) {
    mirror = { cursor: (await answer.json()).horizon ?? "start", entries: {} };
    throw new Error("begins anew");
  }
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

function keep(log) {
  for (const revision of log.revisions) {
    const key = `${revision.feed} ${revision.uid}`;
    if (revision.kind === "deleted" || revision.kind === "left") delete mirror.entries[key];
    else mirror.entries[key] = revision.entry;
  }
  mirror.cursor = log.cursor;
  fs.writeFileSync(file + ".new", JSON.stringify(mirror));
  fs.renameSync(file + ".new", file);
}

async function main() {
  for (;;) {
    let log;
    try {
      log = await pull();
    } catch (error) {
      console.error(error.message);
      await new Promise((done) => setTimeout(done, 2000));
      continue;
    }
    keep(log);
    for (const revision of log.revisions) {
      console.log(revision.kind, revision.entry?.title ?? revision.uid);
    }
  }
}

main();
