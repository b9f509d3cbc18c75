// amqp.js URL EXCHANGE QUEUE INBOX: takes the messages of a broker. It needs the package amqplib.
//
//     npm install amqplib
//     node amqp.js amqp://guest:guest@localhost news reader inbox
//
// goes with a subscription whose endpoint is amqp://guest:guest@localhost/?exchange=news&declare=topic.
// A message goes to INBOX/news.jsonl; then it is acknowledged. What was not acknowledged comes again: after a
// crash a message may come twice, with the same id and cursor, but none is lost.
const amqp = require("amqplib");
const fs = require("fs");

const [url, exchange, queue, inbox] = process.argv.slice(2);
const NEWS = inbox + "/news.jsonl";

fs.mkdirSync(inbox, { recursive: true });
const last = {}; // the cursor of each subscription
if (fs.existsSync(NEWS)) {
  const lines = fs.readFileSync(NEWS, "utf8").split("\n").slice(0, -1); // the last one ends before the crash
  for (const line of lines.map((one) => JSON.parse(one))) last[line.subscription] = line.cursor;
  fs.truncateSync(NEWS, Buffer.byteLength(lines.map((one) => one + "\n").join("")));
}

// Write to a file; it is on disk when this returns.
function write(text) {
  const file = fs.openSync(NEWS, "a");
  fs.writeSync(file, text);
  fs.fsyncSync(file);
  fs.closeSync(file);
}

function receive(message) {
  const { subscription, cursor, prev_cursor } = message.properties.headers;
  const { type: kind, messageId: id } = message.properties;

  if (kind === "test" || cursor === last[subscription]) return;
  if (last[subscription] && prev_cursor !== last[subscription]) {
    console.error("it comes again, or something is missing: see /log?since=" + last[subscription]);
  }
  const said = JSON.parse(message.content);
  write(JSON.stringify({ subscription, id, cursor, kind, feed: said.feed, entry: said.entry }) + "\n");
  last[subscription] = cursor;
}

async function main() {
  const connection = await amqp.connect(url);
  const channel = await connection.createChannel();
  await channel.assertExchange(exchange, "topic", { durable: true });
  await channel.assertQueue(queue, { durable: true });
  await channel.bindQueue(queue, exchange, "#");
  await channel.prefetch(100);
  await channel.consume(queue, (message) => {
    receive(message);
    channel.ack(message);
  });
  await new Promise((resolve, reject) => connection.on("error", reject).on("close", resolve));
}

main().catch((error) => console.error(error)).then(() => process.exit(1)); // start it again after a while
