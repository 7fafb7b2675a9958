// All calls of the user, one object each, merged by revision.

import { Call, update } from "./call.js";
import { tell } from "./emitter.js";
import { after, namesStranger } from "./snapshots.js";
import { fromWire } from "./words.js";

const PAST_KEPT = 200; // calls that are over and whose late answers are still recognized

export class Calls {
  live = new Map();
  #agent;
  #changed;
  #past = new Map();
  #here = new Set();
  #announced = new WeakSet();
  #fetched = new Set();

  // `changed(name, …)` tells the app, and returns how many listened.
  constructor(agent, changed) {
    this.#agent = agent;
    this.#changed = changed;
  }

  snapshots() {
    return [...this.live.values()].map(({ snapshot, transferredBy }) =>
      ({ transferredBy, ...snapshot }));
  }

  get here() {
    return [...this.#here];
  }
  isHere(id) {
    return this.#here.has(id);
  }
  /** This tab called, accepted or joined. */
  take(id) {
    this.#here.add(id);
  }

  #find({ call_id: id }) {
    return this.live.get(id) ?? this.#past.get(id);
  }

  /** What an answer, a new session, another tab or this page before its reload says of a call. */
  learn(/** @type {any} */ { transferredBy, ...told }, message) {
    let call = this.#find(told);
    const isNew = !call;
    call ??= new Call(this.#agent, told);
    call.transferredBy = message
      ? fromWire(message.data.transfer) : transferredBy ?? call.transferredBy;
    const isChanged = isNew || (told.revision > call.revision && call[update](told));
    return isChanged || message ? this.#settle(call, isChanged, message) : call;
  }

  /** The answer to an invitation of this tab. */
  invited({ call: told, errors }) {
    const call = this.learn(told);
    call.errors = errors;
    return call;
  }

  /** An event; its call may be one that nobody has told of. */
  hear(message) {
    const { data, event } = message;
    if (event === "call.missed") {
      return this.#changed("missed", new Call(this.#agent, data.call), data.missed);
    }
    if (data.call) return this.learn(data.call, message);
    const call = this.#find(data);
    if (!call) return this.#ask(data.call_id);
    // The event does not say everything about a new participant: the call is read anew.
    const isNews = namesStranger(call.snapshot, message);
    if (isNews) this.#ask(data.call_id);
    const next = isNews ? call.snapshot : after(call.snapshot, message, this.#agent.user);
    this.#settle(call, call[update](next), message);
  }

  /** The full truth: what is missing is over, and how, the server is asked. */
  replace(all, isMore) {
    const ids = new Set(all.map(({ call_id: id }) => id));
    for (const told of all) this.learn(told);
    if (isMore) return;
    for (const id of this.live.keys()) if (!ids.has(id)) this.#ask(id, true);
  }

  /** This tab leads from now on: what rings must ring here. */
  leads() {
    for (const call of this.live.values()) {
      call[tell](null, true, false);
      this.#acknowledge(call);
      this.#ring(call);
    }
    this.#changed("leading");
  }

  // The tab that leads asks, and the others hear the answer too; calls that a reload brought back
  // here may have been over for them for long.
  async #ask(id, isOver = false) {
    if (!(isOver || this.#agent.isLeading) || this.#fetched.has(id)) return;
    this.#fetched.add(id);
    try {
      await this.#agent.request("call.get", { call_id: id }); // its answer is learned
    } catch (error) {
      const call = this.live.get(id);
      if (isOver && call && error.code) {
        call[update]({ ...call.snapshot, state: "ended" });
        this.#settle(call, true);
      }
    } finally {
      this.#fetched.delete(id);
    }
  }

  // Where the call belongs now, and who is told.
  #settle(call, isChanged, message) {
    const { id } = call;
    const wasLive = this.live.has(id);
    const isNowLive = !call.isEnded;
    this.#past.delete(id);
    if (isNowLive) {
      this.live.set(id, call);
    } else {
      this.live.delete(id);
      this.#here.delete(id);
      this.#past.set(id, call);
      if (this.#past.size > PAST_KEPT) this.#past.delete(this.#past.keys().next().value);
    }
    if (message?.event === "call.elsewhere") this.#here.delete(id); // another device has it now
    call[tell](message, isChanged, wasLive && !isNowLive);
    this.#changed("call", call, message);
    this.#acknowledge(call);
    if (isNowLive) this.#announce(call);
    return call;
  }

  #announce(call) {
    if (!call.isPending || this.#announced.has(call)) return;
    this.#announced.add(call);
    const count = this.#changed("incoming", call);
    if (count > 0) this.#ring(call);
  }

  // The app shows the call: the caller hears that it rings.
  #ring(call) {
    if (!this.#agent.isLeading || !call.isPending || !this.#announced.has(call)) return;
    this.#agent.request("call.ringing", { call_id: call.id }).catch(() => {});
  }

  // Where accepts are acknowledged (mode `handshake`, or one made like it), who accepts is in the
  // call when the one who invited has acknowledged it.
  #acknowledge(call) {
    if (!this.#agent.isLeading) return;
    const { user } = this.#agent;
    for (const one of call.snapshot.participants) {
      const inviter = one.invited_by ?? call.caller;
      if (one.state !== "accepting" || one.user === user || inviter !== user) continue;
      const data = { call_id: call.id, user: one.user };
      this.#agent.request("call.accept_ack", data).catch(() => {});
    }
  }
}
