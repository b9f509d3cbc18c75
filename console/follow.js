// follow.js - what comes into the log, as it comes.
//
// By HTTP/1.1 a browser opens six connections to one host, over all its tabs, and a stream holds one for good. So a tab that is not
// seen holds none, and of those that are seen only the few that were looked at last; the others ask every two seconds.
import * as api from "./api.js";

const STREAMS = 3, HIDDEN_MS = 2000, ASK_MS = 2000, PART = 200, PARTS = 5;

// Calls take(revision) for what comes after `since`, and onState(whether it is connected). Where it cannot go on, as there is no `since`,
// or much has come while nobody looked, or the log does not keep all of it any more, anew() shows what is there now, and gives the
// cursor after it. Returns what ends it.
export function follow({ since, ...parameters }, take, anew, onState) {
  const me = Math.random(), tabs = new BroadcastChannel("feedmill-streams"), others = new Set(); // those that were looked at later
  let source = null, timer, hides, isSeen = false, mayHold = false, asks = false, isBehind = !since, isOver = false;

  const open = () => {
    source = new EventSource(api.path("events", { ...parameters, since }));
    for (const kind of ["new", "changed", "deleted", "left"])
      source.addEventListener(kind, (event) => {
        since = event.lastEventId || since;
        take(JSON.parse(event.data));
      });
    source.onopen = () => onState?.(true);
    source.onerror = () => {
      onState?.(false);
      // the browser gives up, as after an answer of a proxy whose server is away
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(catchUp, ASK_MS);
    };
  };
  const gather = async () => {
    for (let parts = 0; !isBehind; parts++) {
      const got = await api.get("log", { ...parameters, since, max: PART });
      if (isOver) return;
      const isMore = got.seq < got.last_seq && got.cursor !== since;
      since = got.cursor;
      got.revisions.forEach(take);
      if (!isMore) return;
      isBehind = parts + 1 === PARTS;
    }
    since = await anew();
    isBehind = false;
  };
  // What has come meanwhile; then it goes on by a stream, or by asking again.
  const catchUp = async () => {
    clearTimeout(timer);
    if (asks) return;
    let isWell = true;
    asks = true;
    try {
      await gather();
    } catch (error) {
      isWell = false;
      isBehind = isBehind || error.status === 410;
    }
    asks = false;
    if (!isSeen) return;
    if (isWell && mayHold) return open();
    onState?.(isWell);
    timer = setTimeout(catchUp, ASK_MS);
  };
  const letGo = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
    if (mayHold) tabs.postMessage([me, false]);
    mayHold = false;
  };
  const rest = () => {
    isSeen = false;
    letGo();
  };
  // This tab is looked at.
  const hold = (go) => {
    isSeen = true;
    others.clear();
    tabs.postMessage([me, true]);
    if (mayHold) return;
    mayHold = true;
    go();
  };
  const look = () => {
    clearTimeout(hides);
    if (document.hidden) hides = setTimeout(rest, HIDDEN_MS);
    else hold(catchUp);
  };
  tabs.onmessage = ({ data: [one, holds] }) => {
    others[holds ? "add" : "delete"](one);
    if (!mayHold || others.size < STREAMS) return;
    letGo();
    catchUp();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("focus", look);
  if (!document.hidden) hold(since ? open : catchUp);
  return () => {
    isOver = true;
    clearTimeout(hides);
    rest();
    tabs.close();
    document.removeEventListener("visibilitychange", look);
    removeEventListener("focus", look);
  };
}
