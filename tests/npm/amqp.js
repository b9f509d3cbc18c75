// amqp.js OPTIONS: calls methods of a channel of the package amqplib, and consumes a queue. OPTIONS is
// JSON: `url`; `calls`: [method, argument...] each; `queue`: it is consumed, and each message is a line.
const amqp = require("amqplib");

const options = JSON.parse(process.argv[2]);

function print(value) {
  process.stdout.write(JSON.stringify(value) + "\n");
}

async function main() {
  const connection = await amqp.connect(options.url);
  connection.on("close", () => process.exit(0));
  connection.on("error", () => process.exit(0));
  const channel = await connection.createChannel();
  channel.on("error", () => process.exit(1));
  for (const [method, ...args] of options.calls || []) {
    if (method === "publish") args[2] = Buffer.from(args[2]);
    await channel[method](...args);
  }
  if (options.queue) {
    await channel.consume(options.queue, (message) => {
      print({
        key: message.fields.routingKey,
        exchange: message.fields.exchange,
        properties: message.properties,
        body: message.content.toString(),
      });
      channel.ack(message);
    });
  }
  print("ready");
  if (options.queue) return;
  await channel.close(); // after all that was published
  await connection.close();
}

main().catch((error) => {
  print("" + error);
  process.exit(1);
});
