// One user's session and calls, in every tab of the site the same.

import { alarm } from "./alarms.js";
import { Calls } from "./calls.js";
import { Connection, askToken, socketAddress } from "./connection.js";
import { Emitter, tell } from "./emitter.js";
import { StoppedError } from "./errors.js";
import { Requests } from "./requests.js";
import { deviceName, openStorage } from "./storage.js";
import { Tabs } from "./tabs.js";
import { claimsOf } from "./tokens.js";
import { randomText, toWire } from "./words.js";

const MESSAGE_BYTES = 65_536; // until the server says its own
const ACK_PAUSE = 250; // milliseconds
const ACK_EVENTS = 32;
const TOKEN_FRESH_FOR = 30_000;
const BYE_PATIENCE = 2_000;
const TAKING = ["call.invite", "call.accept", "call.join"]; // the call is in this tab from now on
const BY_APP = "by the app";

export class Agent extends Emitter {
  #settings;
  // What all tabs of a device have in common.
  #now = {
    state: "offline", closeReason: null, user: null, session: null,
    seq: 0, // of the last event that arrived
    greeting: null, // one word for each connection
    isResumed: false, limit: MESSAGE_BYTES,
    offset: 0, // the server's clock less this one's
  };
  #started = null;
  #online = {}; // how `start` settles
  #tabs = null;
  #connection = null; // of the tab that leads
  #hasFollowers = false;
  #isTold = false; // a follower knows the truth
  #acknowledged = 0;
  #ackAlarm = null;
  #calls;
  #requests;
  #storage;
  #view = null;
  #keep = ({ persisted }) => {
    this.#save();
    if (persisted) this.#pause();
  };

  constructor({ url, token, device, timeout = 30_000, tabs = true, ...more }) {
    super();
    this.#storage = openStorage(more.storage);
    const isShared = tabs && Tabs.arePossible;
    const { WebSocket = globalThis.WebSocket } = more;
    if (!WebSocket) throw new TypeError("give a WebSocket");
    device ??= deviceName(isShared ? openStorage(undefined, "localStorage") : this.#storage);
    this.#settings = { url: socketAddress(url), token, device, timeout, WebSocket, isShared };
    this.#calls = new Calls(this, (name, ...told) => this.#tellAll(name, ...told));
    this.#requests = new Requests(randomText().slice(0, 12), {
      timeout,
      look: () => ({
        isOnline: this.#isOnline, limit: this.#now.limit,
        closeReason: this.#now.state === "stopped" && this.#now.closeReason,
      }),
      carry: (text) => this.#carry(text),
      withdraw: (id) => this.request("call.cancel", { call_id: id }).catch(() => {}),
    });
  }

  get state() {
    return this.#now.state;
  }
  get closeReason() {
    return this.#now.closeReason;
  }
  get user() {
    return this.#now.user;
  }
  get device() {
    return this.#settings.device;
  }
  /** `https://HOST` of the server. */
  get serverURL() {
    return new URL(this.#settings.url.replace(/^ws/, "http")).origin;
  }
  /** Whether this tab has the connection, and rings. */
  get isLeading() {
    return this.#connection !== null;
  }
  /** Whether the last connection went on with the session: nothing was missed. */
  get isResumed() {
    return this.#now.isResumed;
  }
  /** The live calls by id; the same Map always. */
  get calls() {
    return this.#calls.live;
  }
  /** The server's clock, milliseconds since 1970. */
  now() {
    return Date.now() + this.#now.offset;
  }

  /** Resolves when online; rejects when the first token cannot be had, or when stopped. */
  start() {
    return (this.#started ??= this.#begin());
  }

  async #begin() {
    this.#check();
    this.#become("connecting");
    let token;
    try {
      token = await askToken(this.#settings, "first");
    } catch (error) {
      this.#check();
      this.#started = null;
      this.#become("offline");
      throw error;
    }
    this.#check();
    this.#now.user = claimsOf(token).sub ?? null;
    const online = new Promise((resolve, reject) => (this.#online = { resolve, reject }));
    this.#restore();
    globalThis.addEventListener?.("pagehide", this.#keep);
    const fresh = Date.now() + TOKEN_FRESH_FOR;
    const lead = () => this.#lead(Date.now() < fresh ? token : undefined);
    this.#enter(lead);
    return online;
  }

  #enter(lead) {
    const name = this.#settings.isShared && this.#place;
    this.#tabs = new Tabs(name, (posted) => this.#hearTab(posted), lead);
    this.#tabs.post({ ask: true });
  }

  // A page that its browser keeps aside, for the way back, must not keep others from leading.
  #pause() {
    this.#connection?.drop();
    this.#connection = null;
    this.#tabs.close();
    this.#lost({ code: 0, reason: "kept aside" });
    const enter = () => this.#now.state !== "stopped" && this.#enter(() => this.#lead());
    globalThis.addEventListener("pageshow", enter, { once: true });
  }

  #check() {
    if (this.#now.state === "stopped") throw new StoppedError(this.#now.closeReason);
  }

  /** `bye`: the server logs the device out; else it waits a while for it to come back. */
  async stop({ bye = false } = {}) {
    if (this.#now.state === "stopped") return;
    if (bye && this.#isOnline) {
      await this.request("bye", {}, { timeout: BYE_PATIENCE, wait: false }).catch(() => {});
      this.#storage.removeItem(this.#place);
      this.#now.session = null;
    }
    if (this.#connection) this.#connection.close();
    else this.#stopped({ code: 1000, reason: BY_APP });
  }

  /** The answer of any operation, with the names of the wire. */
  request(op, data, options) {
    return this.#requests.make(op, data, options);
  }

  /**
   * Calls people; an aborted one is cancelled, if it rings nevertheless. Options of the request
   * stand last, as everywhere; they may stand among the call's own, too.
   */
  async invite(
    invitees, /** @type {any} */ { signal, key, wait, within, ...options } = {},
    /** @type {any} */ more) {
    return this.#calls.invited(await this.request(
      "call.invite", { invitees, ...toWire(options) },
      { signal, key, wait, timeout: within, ...more }));
  }

  /** For the app's call objects: whether this tab has the call. */
  hasCall(id) {
    return this.#calls.isHere(id);
  }

  // For frameworks: both are bound, and the snapshot is the same until something changes.
  subscribe = (listener) => this.on("change", listener);
  getSnapshot = () => (this.#view ??= Object.freeze({
    state: this.#now.state, user: this.#now.user, isLeading: this.isLeading,
    calls: Object.freeze([...this.calls.values()]),
  }));

  #tellAll(name, ...told) {
    this.#view = null;
    const count = this[tell](name, ...told);
    this[tell]("change");
    return count;
  }

  #become(state) {
    if (this.#now.state === state) return;
    this.#now.state = state;
    this.#shareTruth();
    this.#tellAll("state", state, this.#now.closeReason);
  }

  get #isOnline() {
    return this.#now.state === "online" && (this.#connection?.isGreeted ?? true);
  }

  // The tab that leads

  #lead(token) {
    if (this.#now.state === "stopped") return;
    this.#connection = new Connection(this.#settings, {
      position: () => this.#now.session && { session: this.#now.session, seq: this.#now.seq },
      greeted: (ok) => this.#greeted(ok),
      heard: (message) => this.#hear(message, true),
      lost: (why) => this.#lost(why),
      ended: (why) => this.#stopped(why),
      tokenFailed: (error, retryIn) => this.#tellAll("error", error, { retryIn }),
    });
    this.#tabs?.post({ leads: true });
    this.#hasFollowers = this.#isTold;
    if (this.#isTold) this.#lost({ code: 0, reason: "another tab led" });
    this.#connection.open(token ? "first" : "again", token);
    this.#calls.leads();
  }

  #greeted(ok) {
    this.#now.user = ok.user;
    this.#now.limit = ok.limits?.message_bytes ?? MESSAGE_BYTES;
    this.#now.offset = (ok.server_time_at ?? Date.now()) - Date.now();
    this.#now.greeting = randomText();
    this.#now.session = ok.session;
    this.#now.isResumed = ok.resumed;
    if (!ok.resumed) this.#now.seq = 0;
    this.#acknowledged = this.#now.seq;
    this.#save();
    this.#become("online");
    this.#shareTruth();
    if (!ok.resumed) this.#calls.replace(ok.calls, ok.calls_more);
    this.#online.resolve?.();
    this.#requests.sendAll();
  }

  #lost(why) {
    this.#now.closeReason = why;
    this.#requests.lost(why);
    this.#become(this.#now.greeting ? "reconnecting" : "connecting");
  }

  #stopped(why) {
    this.#now.closeReason = why;
    if (this.isLeading && why.reason !== BY_APP) this.#save();
    this.#become("stopped");
    this.#ackAlarm?.();
    globalThis.removeEventListener?.("pagehide", this.#keep);
    this.#connection = this.#started = null;
    this.#tabs?.close();
    const error = new StoppedError(why);
    this.#online.reject?.(error);
    this.#requests.failAll(error);
  }

  #carry(text) {
    if (this.#connection) this.#connection.send(text);
    else this.#tabs.post({ carry: text });
  }

  // What is heard

  #hear(message, isFirst) {
    if (message.event) this.#take(message, isFirst);
    else this.#settle(message);
    if (isFirst && this.#hasFollowers) this.#tabs.post({ heard: message });
  }

  #settle(message) {
    const { op, isGivenUp } = this.#requests.find(message.re) ?? {};
    const told = message.ok?.call;
    if (told && !isGivenUp) {
      if (TAKING.includes(op)) this.#calls.take(told.call_id);
      this.#calls.learn(told);
    }
    this.#requests.settle(message);
  }

  // Events come again until they are acknowledged.
  #take(message, isFirst) {
    if (message.seq <= this.#now.seq) return;
    this.#now.seq = message.seq;
    this.#calls.hear(message);
    if (!isFirst) return;
    if (this.#now.seq - this.#acknowledged >= ACK_EVENTS) this.#acknowledge();
    else this.#ackAlarm ??= alarm(ACK_PAUSE, () => this.#acknowledge());
  }

  #acknowledge() {
    this.#ackAlarm?.();
    this.#ackAlarm = null;
    if (!this.#connection?.isGreeted) return;
    this.#acknowledged = this.#now.seq;
    this.#save();
    this.#connection.send(`{"ack":${this.#now.seq}}`);
  }

  // The other tabs

  #hearTab({ ask, leads, carry, heard, truth }) {
    if (this.#connection) {
      if (ask) {
        this.#hasFollowers = true;
        this.#shareTruth();
      }
      if (carry && this.#isOnline) this.#connection.send(carry);
    } else if (leads) {
      this.#tabs.post({ ask: true });
    } else if (truth) {
      this.#believe(truth);
    } else if (heard && this.#isTold) {
      this.#hear(heard, false);
    }
  }

  #shareTruth() {
    if (!this.#hasFollowers || !this.#connection) return;
    this.#tabs.post({ truth: { ...this.#now, calls: this.#calls.snapshots() } });
  }

  #believe(truth) {
    const isNew = truth.greeting !== this.#now.greeting;
    this.#isTold = true;
    const { state, calls, ...now } = truth;
    Object.assign(this.#now, now);
    const why = now.closeReason ?? {};
    if (state === "stopped") {
      // Stopped by its app alone, a tab makes room for the next one.
      if (why.reason !== BY_APP) this.#stopped(why);
      return;
    }
    if (state !== "online") this.#requests.lost(why);
    this.#become(state);
    this.#calls.replace(calls, false);
    if (state !== "online") return;
    this.#online.resolve?.();
    if (isNew) this.#requests.sendAll();
  }

  // What a reload of the page finds

  get #place() {
    return `callagent ${this.#settings.url} ${this.#settings.device} ${this.#now.user}`;
  }

  #save() {
    const { session, seq } = this.#now;
    const calls = this.#calls.snapshots();
    const kept = { here: this.#calls.here, ...(this.#connection && { session, seq, calls }) };
    this.#storage.setItem(this.#place, JSON.stringify(kept));
  }

  // What is damaged counts as nothing: the session is the last, and without one the server tells
  // the whole truth.
  #restore() {
    try {
      const found = JSON.parse(this.#storage.getItem(this.#place));
      for (const id of found.here) this.#calls.take(id);
      for (const told of found.calls) this.#calls.learn(told);
      const { session, seq } = found;
      if (session.at(0) && seq >>> 0 === seq) Object.assign(this.#now, { session, seq });
    } catch {
      // Nothing was kept, or no session.
    }
  }
}
