// Timers. Timers of a hidden tab fire once a minute, those of its worker on time: the first that
// fires counts. Where a page may have no worker its own timers have to do.

import { scriptURL } from "./trusted.js";

let worker;
let lastID = 0;
const waiting = new Map();

/** Calls `act` once, in `ms` milliseconds; returns a function that prevents it. */
export function alarm(ms, act) {
  const id = ++lastID;
  const own = setTimeout(() => ring(id), Math.min(ms, 2 ** 31 - 1));
  const cancel = () => {
    clearTimeout(own);
    return waiting.delete(id);
  };
  waiting.set(id, () => cancel() && act());
  if (globalThis.document) helper()?.postMessage([id, ms]);
  return cancel;
}

function ring(id) {
  waiting.get(id)?.();
}

function helper() {
  if (worker !== undefined) return worker;
  try {
    worker = new Worker(scriptURL(new URL("./ticks.js", import.meta.url)));
    worker.onmessage = ({ data }) => ring(data);
    worker.onerror = () => (worker = null);
  } catch {
    worker = null; // from another origin, or not allowed by the page's policy
  }
  return worker;
}
