// webhook.js: verifies deliveries with the package standardwebhooks. Each line of standard input is
// [secret, fields, body]; for each a line is printed: the verified object, or the name of the error.
const { Webhook } = require("standardwebhooks");
const readline = require("readline");

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [secret, fields, body] = JSON.parse(line);
  try {
    console.log(JSON.stringify(new Webhook(secret).verify(body, fields)));
  } catch (error) {
    console.log(JSON.stringify(error.name));
  }
});
