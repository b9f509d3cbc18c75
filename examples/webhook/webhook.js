// webhook.js PORT: receives the deliveries of a webhook.
//
//     WEBHOOK_SECRET=whsec_... INBOX=inbox node webhook.js 9001
//
// A delivery is verified; its entries go to INBOX/news.jsonl; then INBOX/taken.json notes that they are
// there; then it is acknowledged. What was not acknowledged comes again, with the same id: after a crash an
// entry may come twice, but none is lost.
const crypto = require("crypto");
const fs = require("fs");
const http = require("http");

const KEY = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
if (KEY.length === 0) throw new Error("WEBHOOK_SECRET is not a secret");
const NEWS = process.env.INBOX + "/news.jsonl";
const TAKEN = process.env.INBOX + "/taken.json";

fs.mkdirSync(process.env.INBOX, { recursive: true });
// of each subscription: the last delivery, as its id and the cursor where it ends
const taken = fs.existsSync(TAKEN) ? JSON.parse(fs.readFileSync(TAKEN, "utf8")) : {};

function isGenuine(fields, body) {
  const mac = crypto.createHmac("sha256", KEY);
  mac.update(`${fields["webhook-id"]}.${fields["webhook-timestamp"]}.`).update(body);
  const wanted = Buffer.from("v1," + mac.digest("base64"));
  const signed = (fields["webhook-signature"] ?? "").split(" ").map((one) => Buffer.from(one))
    .some((one) => one.length === wanted.length && crypto.timingSafeEqual(one, wanted));
  return signed && Math.abs(Date.now() / 1000 - fields["webhook-timestamp"]) < 300;
}

// Write to a file; it is on disk when this returns.
function write(path, flags, text) {
  const file = fs.openSync(path, flags);
  fs.writeSync(file, text);
  fs.fsyncSync(file);
  fs.closeSync(file);
}

function receive(id, { type, data }) {
  const last = taken[data.subscription];
  if (type === "test" || last?.id === id) return;
  if (last && data.prev_cursor !== last.cursor) {
    console.error("something is missing: see /log?since=" + last.cursor);
  }
  write(NEWS, "a", (data.entries ?? []).map((entry) => JSON.stringify(entry) + "\n").join(""));
  taken[data.subscription] = { id, cursor: data.last_cursor };
  write(TAKEN + ".new", "w", JSON.stringify(taken));
  fs.renameSync(TAKEN + ".new", TAKEN);
}

http.createServer((request, answer) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    let status = 401;
    try {
      if (isGenuine(request.headers, body)) {
        receive(request.headers["webhook-id"], JSON.parse(body));
        status = 204;
      }
    } catch (error) {
      console.error(error);
      status = 500; // it comes again
    }
    answer.writeHead(status).end();
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
