// The feed parsers of npm: node.js LIST feedparser|rss-parser. See README.md in this folder.
"use strict";
const fs = require("fs");
const readline = require("readline");

const engines = {
    feedparser() {
        const FeedParser = require("feedparser");
        return (document) =>
            new Promise((resolve) => {
                const parser = new FeedParser({ feedurl: "http://example.org/feed" });
                let n = 0;
                // it goes on behind what is ill-formed, but ends here when there was no feed
                parser.on("error", (e) => e.message === "Not a feed" && resolve(n));
                parser.on("readable", () => {
                    while (parser.read() !== null) n++;
                });
                parser.on("end", () => resolve(n));
                parser.end(document);
            });
    },
    "rss-parser"() {
        const Parser = require("rss-parser");
        return async (document) => {
            try {
                return (await new Parser().parseString(document.toString("utf8"))).items.length;
            } catch {
                return 0;
            }
        };
    },
};

function cpu() {
    const used = process.cpuUsage();
    return (used.user + used.system) / 1e6;
}

async function main() {
    const parse = engines[process.argv[3]]();
    const sets = {};
    for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
        const [set, path] = line.split("\t");
        if (path) (sets[set] ||= []).push(fs.readFileSync(path));
    }
    console.log("ready");
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const [what, set] = line.split(" ");
        const documents = sets[set] || [];
        if (what === "empty") {
            let n = 0;
            for (const d of documents) n += (await parse(d)) === 0;
            console.log(n);
            continue;
        }
        const from = cpu();
        let passes = 0, used = 0;
        do {
            for (const d of documents) await parse(d);
            passes++;
            used = cpu() - from;
        } while (used < Number(what));
        console.log(`${passes} ${used.toFixed(9)}`);
    }
}

main();
