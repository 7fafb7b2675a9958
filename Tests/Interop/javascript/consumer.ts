// An app's use of the client, and misuse that the types must refuse: a line without an error under
// `@ts-expect-error` is an error.

import { Agent, Call, RefusedError, StoppedError, Unauthorized } from "callagent";
import type { AgentState, CallEvent, CallObject, Participant } from "callagent";
import type { Operations } from "callagent/protocol";

const agent = new Agent({
  url: "https://calls.example.com",
  token: async (reason) => {
    if (reason === "revoked") throw new Unauthorized("signed out");
    // @ts-expect-error: no such reason
    if (reason === "later") return "";
    return "token";
  },
  storage: null,
});

// @ts-expect-error: a token is required
new Agent({ url: "wss://calls.example.com/v1/ws" });
// @ts-expect-error: a call comes from an agent
new Call();

const off: () => void = agent.on("incoming", async (call) => {
  if (call.rings) await call.accept({ extendedData: { a: 1 }, video: false });
});
off();
agent.on("state", (state: AgentState, why) => void why?.code.toFixed());
agent.on("missed", (call, count) => void (count + call.createdAt));
// @ts-expect-error: no such event
agent.on("incomming", () => {});

async function use(): Promise<void> {
  await agent.start();
  const call = await agent.invite(["bob"], { kind: "video", timeout: 30_000, mode: "direct" });
  // @ts-expect-error: a list of people
  await agent.invite("bob");
  // @ts-expect-error: a mode has a name
  await agent.invite(["bob"], { mode: 5 });
  // @ts-expect-error: the app's name for it is `timeout`
  await agent.invite(["bob"], { timeout_ms: 30_000 });
  // @ts-expect-error: declined or busy
  await call.reject({ reason: "tired" });
  // @ts-expect-error: not to be changed from outside
  call.state = "ended";
  // @ts-expect-error: no such report
  await call.report("fine");
  const other: Participant | undefined = call.others[0];
  const snapshot: Readonly<CallObject> = call.snapshot;
  void [other?.state, snapshot.call_id, call.outcome?.reason];
  call.on("signal", (now, { data }) => void [now.id, data.from, data.data]);
  // @ts-expect-error: an event of the wire, not of a call
  call.on("call.signal", () => {});
  for await (const told of call) {
    const event: CallEvent = told;
    if (event.event === "call.ended") void event.data.end.reason;
    // @ts-expect-error: only when it has ended
    void event.data.end.reason;
  }
  const { calls, cursor } = await agent.request("call.list", { limit: 20 }, { timeout: 1_000 });
  void [calls[0].participants[0].user, cursor];
  await agent.request("ping");
  // @ts-expect-error: no such operation
  await agent.request("call.lists");
  // @ts-expect-error: call_id is missing
  await agent.request("call.get");
  // @ts-expect-error: misspelt
  await agent.request("call.list", { limits: 20 });
  const data: Operations["call.invite"]["data"] = { invitees: ["bob"] };
  void data;
}

use().catch((error) => {
  if (error instanceof RefusedError && error.code === "busy") void error.detail.call_id;
  if (error instanceof StoppedError) void error.closeReason.reason;
});
