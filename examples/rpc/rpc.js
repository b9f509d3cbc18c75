// rpc.js PORT FILE: an XML-RPC server to which entries are pushed. FILE has the last state of each.
//
//     node rpc.js 9001 entries.json
//
// The entries are on disk before the call is answered. A fault would count as delivered, so when something
// fails the answer is 500: then the call comes again. An entry that comes twice changes nothing.
const fs = require("fs");
const http = require("http");

const [port, file] = process.argv.slice(2);
const entries = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : {}; // by feed and id

const NAMED = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function plain(text) {
  return text.replace(/&(#x?)?(\w+);/g, (_, number, name) => number
    ? String.fromCodePoint(parseInt(name, number === "#x" ? 16 : 10)) : NAMED[name]);
}

// The elements of a document, as far as XML-RPC has them: { name, text, children }.
function readXml(text) {
  const top = { text: "", children: [] };
  const open = [top];
  for (const [, end, name, empty, data] of text.matchAll(/<(\/?)([\w.]+)\s*(\/?)>|<[?!][^>]*>|([^<]+)/g)) {
    if (data !== undefined) open.at(-1).text += plain(data);
    else if (end) open.pop();
    else if (name) {
      const element = { name, text: "", children: [] };
      open.at(-1).children.push(element);
      if (!empty) open.push(element);
    }
  }
  if (open.length !== 1) throw new Error("the call breaks off");
  return top;
}

function child(element, name) {
  return element.children.find((one) => one.name === name);
}

function valueOf(element) {
  const typed = element.children[0];
  switch (typed?.name) {
    case undefined: return element.text; // without a type it is a string
    case "struct": return Object.fromEntries(typed.children.map((member) =>
      [child(member, "name").text, valueOf(child(member, "value"))]));
    case "array": return child(typed, "data").children.map(valueOf);
    case "int": case "i4": case "i8": case "double": return Number(typed.text);
    case "boolean": return typed.text === "1";
    case "nil": return null;
    default: return typed.text;
  }
}

// Write to a file; it is on disk when this returns.
function write(path, text) {
  const out = fs.openSync(path, "w");
  fs.writeSync(out, text);
  fs.fsyncSync(out);
  fs.closeSync(out);
}

function feedReceived(_subscription, url, news) {
  for (const entry of news) {
    entries[`${url} ${entry.id}`] = entry;
    console.log(entry.title ?? entry.id);
  }
  write(file + ".new", JSON.stringify(entries));
  fs.renameSync(file + ".new", file);
}

// Answers a call: the value of its result, or a fault.
function answerTo(body) {
  const call = child(readXml(body), "methodCall");
  const method = child(call, "methodName").text;
  if (method !== "feedReceived") {
    return "<fault><value><struct><member><name>faultCode</name><value><int>1</int></value></member>" +
      "<member><name>faultString</name><value>there is no such method</value></member></struct></value></fault>";
  }
  feedReceived(...child(call, "params").children.map((param) => valueOf(child(param, "value"))));
  return "<params><param><value><boolean>1</boolean></value></param></params>";
}

http.createServer((request, answer) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    try {
      const result = answerTo(Buffer.concat(pieces).toString("utf8"));
      answer.writeHead(200, { "Content-Type": "text/xml" });
      answer.end(`<?xml version="1.0"?><methodResponse>${result}</methodResponse>`);
    } catch (error) {
      console.error(error);
      answer.writeHead(500).end(); // it comes again
    }
  });
}).listen(Number(port), "127.0.0.1");
