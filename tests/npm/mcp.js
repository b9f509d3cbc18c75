// mcp.js URL TOKEN CALLS: connects with the package @modelcontextprotocol/sdk, makes the calls (JSON: [[method, argument], ...])
// one after the other, and prints what each returns as a line of JSON: ["ok", result] or ["error", code, message].
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const [url, token, calls] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: token ? { Authorization: "Bearer " + token } : {} },
});

function print(line) {
  console.log(JSON.stringify(line));
}

async function main() {
  await client.connect(transport);
  print(["ok", { version: transport.protocolVersion, server: client.getServerVersion(), instructions: client.getInstructions() }]);
  for (const [method, argument] of JSON.parse(calls)) {
    try {
      print(["ok", await client[method](argument)]);
    } catch (error) {
      print(["error", error.code, error.message]);
    }
  }
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
