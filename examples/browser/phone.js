// The page: one call at a time, in mode `direct`, where `call.end` is the red button of both sides.

import { CallAgent } from "./callagent.js";
import { Voice } from "./voice.js";

const server = new URLSearchParams(location.search).get("server") ?? "ws://127.0.0.1:7600/v1/ws";
const user = location.hash.slice(1) || "alice";
addEventListener("hashchange", () => location.reload());

// Every tab is a device: two tabs of one user ring both. It stays the same when loaded again.
const device = (sessionStorage.device ??= `tab-${Math.random().toString(36).slice(2, 10)}`);

// `dev:` tokens are for a server without keys, on this machine. Else the page's own backend, which
// knows who is logged in, gives out a JWT: `async () => (await fetch("/call-token")).text()`.
const agent = new CallAgent(server, device, async () => `dev:${user}`);

let call = null; // as far as it is known
const past = new Set(); // the ids of calls that are over: what is told of them late is ignored
let isDialling = false;
let voice = null;

const IS_ASKED = ["inviting", "undelivered", "ringing"];
const element = (id) => document.getElementById(id);
const participant = (name) => call.participants.find((one) => one.user === name);
const other = () => call.participants.find((one) => one.user !== user).user;
const isHere = ({ participants }) =>
  participants.some((one) => one.user === user && one.device === device);

function show(text) {
  const mine = call && participant(user).state;
  const rings = IS_ASKED.includes(mine);
  document.body.dataset.state = call ? (rings ? "incoming" : "busy") : "idle";
  element("state").textContent = text;
  element("call").disabled = Boolean(call);
  element("accept").disabled = !rings;
  element("end").disabled = !call;
}

// An answer and an event may tell of the same change, in either order: the newer one counts. An
// answer that comes again over a new connection may tell of a call that has ended since.
function learn(told) {
  if (told.state === "ended" || past.has(told.call_id)) return;
  if (call?.call_id !== told.call_id || told.revision >= call.revision) call = told;
}

function over(text) {
  voice?.stop();
  if (call) past.add(call.call_id);
  call = voice = null;
  show(text);
}

// What is asked about a call: if it fails, the page says why; how the call goes on, events tell.
async function ask(op, data) {
  try {
    return await agent.request(op, data);
  } catch (error) {
    show(`${op}: ${error.message}`);
  }
}

function on(name, act) {
  agent.addEventListener(name, ({ detail }) => act(detail));
}

function onCall(name, act) {
  on(name, (data) => call?.call_id === data.call_id && act(data));
}

// The session

on("connected", () => show(call ? "connected again" : "ready"));
on("token_failed", ({ error }) => show(`no token: ${error.message}; trying again …`));
on("lost", () => show("connection lost, trying again …"));
on("stopped", ({ code, reason }) => over(`disconnected for good (${code || reason})`));

// The full truth, when the page is new or was away for too long. What is missing has ended.
on("calls", (calls) => {
  const known = call && calls.find((one) => one.call_id === call.call_id);
  if (call && !known) over("the call has ended");
  if (known) learn(known);
  for (const one of calls.filter((one) => one !== known && isHere(one))) {
    if (isDialling) call = one;
    else ask("call.end", { call_id: one.call_id }); // loaded again: its voice is gone
  }
});

// The call

on("call.incoming", (data) => {
  const { call_id } = data;
  const mine = data.call.participants.find((one) => one.user === user);
  if (!IS_ASKED.includes(mine?.state)) return; // a policy has answered
  if (isDialling || (call && call.call_id !== call_id)) {
    agent.request("call.reject", { call_id, reason: "busy" }).catch(() => {});
    return;
  }
  call = data.call;
  show(`${data.inviter} calls`);
  agent.shows(call_id).catch(() => {}); // it may have ended meanwhile
});

onCall("call.changed", ({ revision, changes }) => {
  if (revision < call.revision) return;
  call.revision = revision;
  for (const change of changes) Object.assign(participant(change.user), change);
  const their = participant(other()).state;
  if (call.caller === user && their === "ringing") show(`ringing at ${other()}`);
});

onCall("call.media_phase", ({ call_id, media }) => {
  show(`with ${other()}: ${media}`);
  if (voice || media !== "establishing") return;
  const to = other();
  const tell = (op, data) => agent.request(op, { call_id, ...data }).catch(() => {});
  const report = (media) => tell("call.report", { media });
  voice = new Voice((data) => tell("call.signal", { to, data }), report);
  if (call.caller === user) voice.offer().catch(() => report("failed"));
});

onCall("call.signal", ({ data }) => voice?.take(data));
on("call.ended", ({ call_id }) => past.add(call_id));
onCall("call.ended", ({ end }) => over(`ended: ${end.reason}`));
onCall("call.cancelled", () => over("the caller gave up"));
onCall("call.timed_out", () => over("missed"));
onCall("call.elsewhere", ({ what }) => over(`${what} on another device`));

// The buttons

element("user").textContent = user;

element("dial").onsubmit = async (event) => {
  event.preventDefault();
  const invitees = [element("callee").value];
  isDialling = true;
  const reply = await ask("call.invite", { mode: "direct", invitees });
  isDialling = false;
  if (!reply) return;
  learn(reply.call);
  if (call) show(`calling ${invitees[0]} …`);
  else if (reply.call.end) show(`ended: ${reply.call.end.reason}`); // it was decided at once
};

element("accept").onclick = async () => {
  const reply = await ask("call.accept", { call_id: call.call_id });
  if (reply) learn(reply.call);
};

element("end").onclick = () => {
  ask("call.end", { call_id: call.call_id });
  over("ended by you");
};

show("connecting …");
