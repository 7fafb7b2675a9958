// A call, as the app has it.

import { Emitter, tell } from "./emitter.js";
import { PENDING, isLive, participantOf } from "./snapshots.js";
import { fromWire, parsed, toWire } from "./words.js";

const NAMES = { "call.media_phase": "phase", "call.media_flags": "flags" };
const told = Symbol("told");
export const update = Symbol("update");

export class Call extends Emitter {
  #agent;
  #snapshot;
  #participants;
  transferredBy;

  constructor(agent, snapshot) {
    super();
    this.#agent = agent;
    this[update](snapshot);
  }

  get agent() {
    return this.#agent;
  }
  /** The object of the wire. It is another one after every change. */
  get snapshot() {
    return this.#snapshot;
  }
  get id() {
    return this.#snapshot.call_id;
  }
  get mode() {
    return this.#snapshot.mode;
  }
  get kind() {
    return this.#snapshot.kind;
  }
  get state() {
    return this.#snapshot.state;
  }
  get caller() {
    return this.#snapshot.caller;
  }
  get revision() {
    return this.#snapshot.revision;
  }
  get createdAt() {
    return this.#snapshot.created_at;
  }
  get answeredAt() {
    return this.#snapshot.answered_at;
  }
  get connectedAt() {
    return this.#snapshot.connected_at;
  }
  get endedAt() {
    return this.#snapshot.ended_at;
  }
  get mediaPhase() {
    return this.#snapshot.media;
  }
  get values() {
    return this.#snapshot.items;
  }
  get participants() {
    return this.#participants;
  }
  get me() {
    return participantOf(this, this.#agent.user);
  }
  get others() {
    return this.#participants.filter(({ user }) => user !== this.#agent.user);
  }
  /** Whether it is over, for everybody or for this user alone, who rejected it, left, …. */
  get isEnded() {
    return !isLive(this.#snapshot, this.#agent.user);
  }
  /** Whether the user is asked: accept or reject. */
  get isPending() {
    return !this.isEnded && PENDING.includes(this.me?.state);
  }
  /** Whether this tab is the one that should ring. */
  get rings() {
    return this.isPending && this.#agent.isLeading;
  }
  /** Whether this tab called, accepted or joined, so that voice belongs here. */
  get isHere() {
    return this.#agent.hasCall(this.id);
  }
  get outcome() {
    return fromWire(this.#snapshot.end);
  }
  get extendedData() {
    return parsed(this.#snapshot.extended_data);
  }
  /** Milliseconds since the first accept, until the end; 0 while nobody has accepted. */
  get duration() {
    const { duration_ms: length, answered_at: from } = this.#snapshot;
    return length ?? (from ? Math.max(0, this.#agent.now() - from) : 0);
  }

  accept(options, more) {
    return this.#act("accept", options, more);
  }
  reject(options, more) {
    return this.#act("reject", options, more);
  }
  join(options, more) {
    return this.#act("join", options, more);
  }
  leave(options, more) {
    return this.#act("leave", options, more);
  }
  end(options, more) {
    return this.#act("end", options, more);
  }
  media(flags, more) {
    return this.#act("media", flags, more);
  }
  transfer(to, options, more) {
    return this.#act("transfer", { to, ...options }, more);
  }
  report(media, more) {
    return this.#act("report", { media }, more);
  }
  hold(on = true, options, more) {
    return this.#act("hold", { on, ...options }, more);
  }
  signal(data, options, more) {
    return this.#act("signal", { data, ...options }, more);
  }
  /** Resolves with the list of those whom it could not be done for. */
  async cancel(options, more) {
    return (await this.#ask("cancel", options, more)).errors;
  }
  async add(invitees, options, more) {
    return (await this.#ask("add", { invitees, ...options }, more)).errors;
  }
  async remove(users, more) {
    return (await this.#ask("remove", { users }, more)).errors;
  }
  /** Resolves with the values after the change. */
  async items(changes, more) {
    return (await this.#ask("items", changes, more)).items;
  }
  /** Resolves with what the server's plugin made for the media side. */
  async token(more) {
    return (await this.#ask("token", {}, more)).token;
  }

  async #act(word, options, more) {
    await this.#ask(word, options, more);
    return this;
  }

  async #ask(word, options, more) {
    /** @type {any} */
    const data = { call_id: this.id, ...toWire(options) };
    const ok = await this.#agent.request(`call.${word}`, data, more);
    if (word === "media" || word === "hold" || data.hold_active) await this.#lookAgain();
    return ok;
  }

  // No event tells what this user's own hold and flags have changed, here and in other calls.
  #lookAgain() {
    const looks = [...this.#agent.calls.keys()].map((id) =>
      this.#agent.request("call.get", { call_id: id }).catch(() => {}));
    return Promise.all(looks);
  }

  /** `for await (const { event, data } of call)`: what is told from now on, until the end. */
  async *[Symbol.asyncIterator]() {
    const waiting = [];
    let isOver = this.isEnded;
    let wake = (..._) => {};
    const off = this.on(told, (message, isLast) => {
      if (message) waiting.push(message);
      isOver ||= isLast;
      wake();
    });
    try {
      for (;;) {
        while (waiting.length > 0) yield waiting.shift();
        if (isOver) return;
        await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      off();
    }
  }

  /** For the agent: what the call is like now. */
  [update](snapshot) {
    if (this.#snapshot === snapshot) return false;
    this.#snapshot = Object.freeze(snapshot);
    this.#participants = Object.freeze(snapshot.participants.map(fromWire));
    return true;
  }

  /**
   * For the agent: tells what happened; without a message an answer or a new session told it.
   * @returns {any}
   */
  [tell](message, isChanged, isLast) {
    const name = message && (NAMES[message.event] ?? message.event.slice("call.".length));
    if (name && name !== "changed" && name !== "ended") super[tell](name, this, message);
    if (isChanged) super[tell]("changed", this, message);
    if (isLast) super[tell]("ended", this, message);
    super[tell](told, message, isLast);
  }
}
