// pull.js URL FILE: keeps FILE the same as the document at URL. Needs Node 18 or later.
//
// The ETag of the document is kept in FILE.etag. While nothing is new, the answer is 304, without a body.
const fs = require("fs");

const [url, file] = process.argv.slice(2);

// The file has the old content or the new one, also after a crash.
function replace(path, content) {
  fs.writeFileSync(path + ".new", content);
  fs.renameSync(path + ".new", path);
}

async function pull() {
  const headers = process.env.FEEDMILL_TOKEN ? { Authorization: `Bearer ${process.env.FEEDMILL_TOKEN}` } : {};
  if (fs.existsSync(file + ".etag")) headers["If-None-Match"] = fs.readFileSync(file + ".etag", "utf8");
  const answer = await fetch(url, { headers });
  if (answer.status === 304) return "unchanged";
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  // first the document, then its tag: a crash in between costs one download
  replace(file, Buffer.from(await answer.arrayBuffer()));
  replace(file + ".etag", answer.headers.get("ETag"));
  return "changed";
}

pull().then(console.log);
