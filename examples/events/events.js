// events.js BASE FOLDER [QUESTION]: writes each event to FOLDER/news.jsonl as it happens. Needs Node 18 or later.
// (In a browser take EventSource: it keeps the position itself.)
//
// FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
// after a crash it may come twice, but none is lost.
// QUESTION: which entries, as view=NAME or "folder=News&q=crane". When the server cannot go on from
// the position (410), all that it has comes again. FEEDMILL_TOKEN: the token.
const fs = require("fs");
const readline = require("readline");
const { Readable } = require("stream");

const [base, folder, question = ""] = process.argv.slice(2);
const headers = process.env.FEEDMILL_TOKEN ? { Authorization: `Bearer ${process.env.FEEDMILL_TOKEN}` } : {};
const position = folder + "/position";

function note(id) {
  fs.writeFileSync(position + ".new", id);
  fs.renameSync(position + ".new", position);
}

async function follow() {
  const since = fs.existsSync(position) ? fs.readFileSync(position, "utf8") : "start";
  const dead = new AbortController();
  const answer = await fetch(`${base}/events?${new URLSearchParams({ since })}&${question}`, { headers, signal: dead.signal });
  if (answer.status === 410) note((await answer.json()).horizon ?? "start");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  // a comment comes every 15 seconds, so a silent connection is dead
  const timer = setTimeout(() => dead.abort(), 60000);
  let id;
  for await (const line of readline.createInterface({ input: Readable.fromWeb(answer.body) })) {
    timer.refresh();
    if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("data: ")) fs.appendFileSync(folder + "/news.jsonl", line.slice(6) + "\n");
    else if (line === "" && id) note(id); // the end of an event
  }
  clearTimeout(timer);
}

async function main() {
  fs.mkdirSync(folder, { recursive: true });
  for (;;) {
    await follow().catch((error) => console.error(error.message));
    await new Promise((done) => setTimeout(done, 2000));
  }
}

main();
