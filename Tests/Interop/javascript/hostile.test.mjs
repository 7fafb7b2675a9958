// A server that means harm, or is none: `node hostile.test.mjs CLIENT`, where CLIENT is index.js.

import assert from "node:assert/strict";

const { Agent } = await import(process.argv[2]);
const HELLO = {
  user: "ann", session: "s", resumed: false, calls: [], server_time_at: Date.now(), limits: {},
};
const greeting = (more) => JSON.stringify({ re: 0, ok: { ...HELLO, ...more } });
const expires = { sub: "ann", exp: Math.floor(Date.now() / 1000) + 3600 };
const token = `x.${Buffer.from(JSON.stringify(expires)).toString("base64url")}.x`;

/** An agent whose server says `words` over each of its first connections, and then greets. */
function agentOf(...words) {
  let count = 0;
  class Line {
    constructor() {
      count += 1;
      const said = words.shift() ?? [greeting()];
      setTimeout(() => {
        this.onopen?.();
        for (const data of said) this.onmessage?.({ data });
      });
    }
    send() {}
    close() {}
  }
  const agent = new Agent({ url: "ws://x", token: () => token, WebSocket: Line, tabs: false });
  return { agent, count: () => count };
}

// What cannot be read ends the connection, neither the process nor the agent.
for (const text of [
  "no JSON", "null", new ArrayBuffer(2), '{"re":0}', '{"re":0,"ok":5}', greeting({ calls: null }),
  greeting({ calls: [{ call_id: "x" }] }), "[".repeat(100_000),
]) {
  const { agent, count } = agentOf([text]);
  const lost = new Promise((resolve) => agent.on("state", (_, why) => why && resolve(why)));
  agent.start();
  assert.equal((await lost).code, 0, String(text).slice(0, 40));
  while (agent.state !== "online" || count() < 2) {
    await new Promise((resolve) => agent.on("state", resolve));
  }
  agent.stop();
}

// An event that cannot be read is told once.
const { agent, count } = agentOf([
  greeting(), '{"seq":1,"event":"call.incoming","data":null}',
], [greeting({ resumed: true })]);
await agent.start();
while (count() < 2 || agent.state !== "online") {
  await new Promise((resolve) => agent.on("state", resolve));
}
agent.stop();

// Without the server's time nobody knows when to renew a token: it is not done at once, for ever.
const pauses = [];
const { setTimeout: begin } = globalThis;
globalThis.setTimeout = (act, pause = 0, ...more) => {
  pauses.push(pause);
  return begin(act, pause, ...more);
};
const hasty = agentOf([greeting({ server_time_at: undefined })]);
await hasty.agent.start();
assert.ok(pauses.every((pause) => pause >= 0), String(pauses));
hasty.agent.stop();
console.log("all is well in Node", process.versions.node); // nothing keeps the process alive
