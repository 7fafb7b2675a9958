// The service worker, in a world of its own: `node worker.test.mjs SW.JS`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const script = readFileSync(process.argv[2], "utf8");
const MINE = { url: "https://calls", user: "bob", device: "d", page: "/", token: "t" };

/** A browser with one registration, what is shown in it, and what it asked of the server. */
function world(kept = MINE) {
  const listeners = {};
  let shown = [];
  const asked = [];
  const registration = {
    async showNotification(title, options) {
      const { tag } = options;
      shown = shown.filter((one) => !tag || one.tag !== tag);
      const one = { title, ...options, close: () => { shown = shown.filter((x) => x !== one); } };
      shown.push(one);
    },
    getNotifications: async ({ tag } = {}) => shown.filter((one) => !tag || one.tag === tag),
  };
  // `onsuccess` of the opening, then that of the reading.
  const later = (result) => {
    const request = { result, transaction: {} };
    setTimeout(() => request.onsuccess());
    return request;
  };
  const store = { get: () => later(kept) };
  const database = { transaction: () => ({ objectStore: () => store }), close() {} };
  const self = {
    registration, location: { href: "https://app/sw.js" }, clients: { matchAll: async () => [],
      openWindow: async (url) => asked.push(["open", url]) },
    addEventListener: (name, act) => { listeners[name] = act; }, skipWaiting() {},
  };
  const fetch = async (url, { body }) => (asked.push([url, JSON.parse(body)]), { ok: true });
  const open = () => later(database);
  runInContext(script, createContext({ self, indexedDB: { open }, fetch, URL, Date, JSON }));
  async function tell(name, event) {
    let done;
    listeners[name]({ ...event, waitUntil: (promise) => { done = promise; } });
    await done;
  }
  return {
    asked,
    titles: () => shown.map(({ title }) => title),
    push: (text) => tell("push", { data: text === null ? null : { json: () => JSON.parse(text) } }),
    click: (action) => tell("notificationclick", { action, notification: shown[0] }),
  };
}

const ring = (more = {}) => JSON.stringify({
  kind: "invite", call_id: "c", caller: "alice", user: "bob", call_kind: "audio", ...more });

// A name is no pattern, whatever its owner writes into it.
const named = world();
await named.push(ring({ title: "$& $` $' $$" }));
assert.deepEqual(named.titles(), ["$& $` $' $$ calls"]);

// It rings, says so, and Reject answers.
let here = world();
await here.push(ring());
assert.deepEqual(here.titles(), ["alice calls"]);
await here.click("reject");
assert.deepEqual(here.titles(), []);
assert.deepEqual(here.asked.map(([url]) => url),
  ["https://calls/v1/call/ringing", "https://calls/v1/call/reject"]);

// What is over rings no more; what was missed is said.
for (const [kind, left] of [["cancel", []], ["end", []], ["missed", ["Missed call"]]]) {
  here = world();
  await here.push(ring());
  await here.push(ring({ kind }));
  assert.deepEqual(here.titles(), left, kind);
}

// Browsers take the right to push from who shows nothing; and nothing is silent because of it.
here = world();
await here.push(ring());
let count = 0;
for (const text of [null, "no JSON", "null", "[]", "{}", '{"kind":5}', '"x"', '{"kind":"end"}']) {
  await here.push(text);
  assert.deepEqual(here.titles().sort(),
    [...Array(++count).fill("Missed call"), "alice calls"].sort(), String(text));
}

// For who was here before, and after the time to answer, nothing rings.
for (const more of [{ user: "carol" }, { expires_at: 1 }]) {
  here = world();
  await here.push(ring(more));
  assert.deepEqual([here.titles(), here.asked], [["Missed call"], []]);
}

// Without a token it can only open the page.
here = world({ ...MINE, token: null });
await here.push(ring());
await here.click("reject");
assert.deepEqual(here.asked, [["open", "https://app/#call=c&reject"]]);
console.log("all is well");
