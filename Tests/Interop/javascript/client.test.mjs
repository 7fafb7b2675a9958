// The client in Node: `node client.test.mjs CLIENT SERVER`, where CLIENT is its index.js.
// Node before 22 has no WebSocket of its own, and takes that of the package `ws`.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [, , client, url] = process.argv;
const { Agent, Call, OfflineError, RefusedError, StoppedError } = await import(client);
const WebSocket = globalThis.WebSocket ?? createRequire(import.meta.url)("/usr/share/nodejs/ws");

function agentOf(user, more = {}) {
  return new Agent({ url, token: () => `dev:${user}`, WebSocket, ...more });
}

function next(emitter, name) {
  return new Promise((resolve) => {
    const off = emitter.on(name, (...told) => (off(), resolve(told)));
  });
}

// Whatever the storage holds, by whomever it was written.
const wrong = [
  "", "{", "null", "5", "[]", "{}", '{"session":"x"}', '{"here":5,"calls":[]}',
  '{"session":5,"seq":1,"here":[],"calls":[]}', '{"session":"x","seq":"1","here":[],"calls":[]}',
  '{"session":"x","seq":-1,"here":[],"calls":[]}', '{"session":"x","seq":1.5,"here":[],"calls":[]}',
  '{"session":"x","seq":7,"here":["y"],"calls":[null]}',
  '{"session":"x","seq":7,"here":[],"calls":[{}]}',
  '{"session":"x","seq":7,"here":[],"calls":[{"call_id":"y","participants":5}]}',
];
for (const text of wrong) {
  const storage = { getItem: () => text, setItem() {}, removeItem() {} };
  const erin = agentOf("erin", { device: "phone", storage });
  await erin.start();
  assert.deepEqual([erin.state, erin.isResumed, erin.calls.size], ["online", false, 0], text);
  await erin.stop({ bye: true });
}

// What keeps nothing, or has no room any more, is no reason to have no calls.
const full = () => {
  throw new Error("no room");
};
for (const broken of [["getItem"], ["setItem"], ["setItem", "removeItem"],
  ["getItem", "setItem", "removeItem"]]) {
  const storage = { getItem: () => null, setItem() {}, removeItem() {} };
  for (const name of broken) storage[name] = full;
  const erin = agentOf("erin", { storage });
  await erin.start();
  const tried = await erin.invite(["frank"]);
  await tried.cancel();
  await erin.stop({ bye: true });
  assert.deepEqual([erin.state, tried.isEnded], ["stopped", true], String(broken));
}

const alice = agentOf("alice");
const bob = agentOf("bob", { device: "phone" });
assert.equal(alice.state, "offline");
await assert.rejects(alice.request("ping", {}, { wait: false }), OfflineError);
await Promise.all([alice.start(), bob.start()]);
assert.deepEqual([alice.user, bob.device, alice.isLeading], ["alice", "phone", true]);

const rings = next(bob, "incoming");
const call = await alice.invite(["bob"], { mode: "direct", items: { a: "1" }, extendedData: [7] });
const [there] = await rings;
assert.ok(there instanceof Call && there.rings && there.id === call.id);
assert.deepEqual([there.extendedData, there.values], [[7], { a: "1" }]);
assert.equal(there.others[0].user, "alice");

const told = [];
const iterated = (async () => {
  for await (const { event } of call) told.push(event);
})();
await there.accept({ audio: true, video: false });
assert.equal(there.state, "active");
assert.deepEqual(await there.items({ put: { b: "2" }, delete: ["a"] }), { b: "2" });
await Promise.all([there.report("connected"), call.report("connected")]);
while (call.mediaPhase !== "connected" || !call.values.b) await next(call, "changed");
await call.hold();
assert.equal(call.me.held, true);
await call.hold(false);
const heard = next(there, "signal");
await call.signal({ deep: ["ü", null] });
assert.deepEqual((await heard)[1].data.data, { deep: ["ü", null] });
await assert.rejects(call.add(["carol"]), (error) => {
  assert.ok(error instanceof RefusedError && error.code === "wrong_mode", String(error));
  return true;
});
const over = next(there, "ended");
await call.end({ extendedData: "bye" });
assert.deepEqual((await over)[0].outcome, {
  reason: "completed", detail: null, by: "alice", extendedData: "bye",
});
await iterated;
assert.equal(told.at(-1), "call.ended");
assert.ok(told.includes("call.items") && told.includes("call.media_phase"), String(told));
assert.deepEqual([alice.calls.size, bob.calls.size], [0, 0]);

// Who is to take somebody's place knows whose, and why; who is called as usual knows of none.
const kept = new Map();
const storage = {
  getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text),
  removeItem: (name) => kept.delete(name),
};
const page = agentOf("carol", { device: "page", storage });
await page.start();
const first = next(bob, "incoming");
const handed = await alice.invite(["bob"]);
assert.equal((await first)[0].transferredBy, undefined);
await (await first)[0].accept();
const offered = next(page, "incoming");
await (await first)[0].transfer("carol", { extendedData: { why: "for you" } });
const reason = { by: "bob", extendedData: { why: "for you" } };
assert.deepEqual((await offered)[0].transferredBy, reason);
// Also after a reload of the page, when nothing is told anew.
while (![...kept.values()].some((text) => text.includes(handed.id))) {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
page.stop();
const carol = agentOf("carol", { device: "page", storage });
const again = next(carol, "incoming");
await carol.start();
const [offer] = await again;
assert.deepEqual([carol.isResumed, offer.rings, offer.id], [true, true, handed.id]);
assert.deepEqual(offer.transferredBy, reason);
await offer.accept();
assert.deepEqual(offer.transferredBy?.by, "bob");
await handed.end();
await carol.stop({ bye: true });

const under = alice.request("call.list");
await bob.stop({ bye: true });
assert.equal((await under).calls.length, 2);

// Options stand last in every method, and what is not sent for them does not ring on.
const given = new AbortController();
const aborted = alice.invite(["frank"], { mode: "common" }, { signal: given.signal });
given.abort();
await assert.rejects(aborted, { name: "AbortError" });
alice.stop();
assert.equal(alice.state, "stopped");
await assert.rejects(alice.request("ping"), StoppedError);
await assert.rejects(alice.start(), StoppedError);
console.log("all is well in Node", process.versions.node); // nothing keeps the process alive
