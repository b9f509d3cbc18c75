// events.js URL N: reads N events with the package eventsource, and prints each as a line of JSON.
const { EventSource } = require("eventsource");

let left = Number(process.argv[3]);
const source = new EventSource(process.argv[2]);

function print(event) {
  console.log(JSON.stringify([event.type, event.lastEventId, event.data]));
  if (--left === 0) {
    source.close();
    process.exit(0);
  }
}

for (const kind of ["new", "changed", "deleted"]) source.addEventListener(kind, print);
source.onopen = () => console.log(JSON.stringify(["open", source.readyState]));
