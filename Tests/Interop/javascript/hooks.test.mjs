// The hooks in a real React: `node hooks.test.mjs FOLDER SERVER`, where FOLDER is the client beside
// React. React on a server renders once; what a hook subscribes to is tried by hand.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [, , folder, url] = process.argv;
const { Agent } = await import(`${folder}/index.js`);
const { useAgent, useCall, useCalls } = await import(`${folder}/react.js`);
const require = createRequire(`${folder}/index.js`);
const React = require("react");
const { renderToString } = require("react-dom/server");
const WebSocket = globalThis.WebSocket ?? require("/usr/share/nodejs/ws");

const agent = new Agent({ url, token: () => "dev:alice", WebSocket });
let renders = 0;
agent.subscribe(() => renders++);

function Page() {
  const { state, user } = useAgent(agent);
  return `${user} is ${state}, calls: ${useCalls(agent).length}`;
}

function Line({ call }) {
  const { state, others } = useCall(call);
  return `${others[0].user}: ${state}`;
}

const show = (...element) => renderToString(React.createElement(...element));
assert.equal(show(Page), "null is offline, calls: 0");
await agent.start();
assert.equal(show(Page), "alice is online, calls: 0");
const call = await agent.invite(["bob"]);
assert.equal(show(Page), "alice is online, calls: 1");
assert.equal(show(Line, { call }), "bob: ringing");
assert.equal(agent.getSnapshot(), agent.getSnapshot(), "another one without a change");
const before = [renders, call.snapshot, agent.getSnapshot()];
await call.cancel();
assert.ok(renders > before[0] && call.snapshot !== before[1] && agent.getSnapshot() !== before[2]);
assert.equal(show(Page), "alice is online, calls: 0");
assert.equal(show(Line, { call }), "bob: ended");
assert.equal(useCall.length, 1);
agent.stop();
console.log("all is well in React", React.version);
