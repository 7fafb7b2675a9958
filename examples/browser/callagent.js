// A session of callagent.v1.json that outlives lost connections. No dependencies: copy it.
//
//   const agent = new CallAgent("ws://127.0.0.1:7600/v1/ws", "tab-1", async () => "dev:alice");
//   agent.addEventListener("calls", ({ detail }) => …);          // all live calls: the full truth
//   agent.addEventListener("call.incoming", ({ detail }) => …);  // and every other event
//   agent.addEventListener("lost", ({ detail }) => …);           // it connects again by itself
//   agent.addEventListener("token_failed", ({ detail }) => …);   // { error, retry_in_ms }
//   agent.addEventListener("stopped", ({ detail }) => …);        // stay away: bad token, bad URL
//   const { call } = await agent.request("call.invite", { invitees: ["bob"] });
//   agent.shows(call_id);                                        // the page shows this call
//   agent.close();

const LONGEST_PAUSE_MS = 30_000;
const PING_INTERVAL_MS = 25_000; // until the server says its own
const MESSAGE_BYTES = 65_536; // likewise
const CONNECT_CHECK_MS = 5_000; // how often a connection that is being made is looked at
const DOUBT_CHECK_MS = 2_000; // and one that may have died unnoticed
const CHANCES = 2; // questions without any answer, after which a line is dead
const IS_BACK = ["online", "visibilitychange", "pageshow"]; // after these nothing is sure

// What every operation may say. The server ignores what it does not know; here it is a mistake.
// <!-- generated: fields -->
export const FIELDS = {
  "ping": "",
  "bye": "",
  "call.invite": "invitees mode kind timeout_ms extended_data delivery_check items push audio video",
  "call.add": "call_id invitees push",
  "call.ringing": "call_id",
  "call.accept": "call_id extended_data audio video hold_active",
  "call.accept_ack": "call_id user",
  "call.reject": "call_id extended_data reason",
  "call.cancel": "call_id users extended_data push",
  "call.join": "call_id extended_data audio video",
  "call.leave": "call_id extended_data push",
  "call.end": "call_id extended_data push",
  "call.transfer": "call_id to extended_data push",
  "call.remove": "call_id users",
  "call.report": "call_id media",
  "call.media": "call_id audio video",
  "call.hold": "call_id on force",
  "call.items": "call_id put delete clear",
  "call.signal": "call_id data to",
  "call.get": "call_id",
  "call.list": "kind limit cursor state role end_reasons peer since_at until_at",
  "call.token": "call_id",
  "device.push_register": "provider token subscription environment",
  "device.push_unregister": "provider",
};
// <!-- end of fields -->
const PUSH_FIELDS = "title body payload";

export class CallAgent extends EventTarget {
  #url;
  #device;
  #token;
  #answerWithin;
  #socket = null;
  #user = null; // as the server says
  #session = null; // to resume
  #seq = 0; // of the last event that arrived
  #open = new Map(); // requests without a reply, by id
  #lastID = 0;
  #failures = 0;
  #isGreeted = false;
  #ending = null; // why it stopped
  #messageBytes = MESSAGE_BYTES;
  #pingInterval = PING_INTERVAL_MS;
  #unanswered = 0; // questions since anything was heard
  #isInDoubt = false;
  #watch = 0;
  #pause = 0; // the wait before the next attempt
  #look = () => this.#lookAgain();

  // `token` is asked before every connection, so that one that ran out is replaced. A request and
  // a question for a token are given up after `answerWithin` milliseconds.
  constructor(url, device, token, { answerWithin = 30_000 } = {}) {
    super();
    this.#url = url;
    this.#device = device;
    this.#token = token;
    this.#answerWithin = answerWithin;
    for (const name of IS_BACK) globalThis.addEventListener(name, this.#look, true);
    this.#connect();
  }

  // Resolves with `ok`; rejects with the error of the protocol, whose `code` may also be made here:
  // `unanswered` when time is up, connected or not: it may have been carried out; `stopped`. The
  // key makes it safe to send the request again after a loss: it is carried out once.
  request(op, data = {}, { within = this.#answerWithin } = {}) {
    const message = { id: ++this.#lastID, op, key: randomText(), data };
    return new Promise((resolve, reject) => {
      const text = JSON.stringify(message);
      const refusal = this.#ending ?? refusalOf(op, data) ?? this.#tooLarge(text);
      if (refusal) return reject(refusal);
      const timer = setTimeout(() => this.#fail(message.id, lateness(op, within)), within);
      const deadline = Date.now() + within;
      const request = { id: message.id, text, isSent: false, deadline, timer, resolve, reject };
      this.#open.set(message.id, request);
      if (this.#isGreeted) this.#sendRequest(request);
    });
  }

  // The page shows this call to its user: the caller hears that it rings.
  shows(callID) {
    return this.request("call.ringing", { call_id: callID });
  }

  // Stops. The server counts the user as connected for a while; after `request("bye")` it does not.
  close() {
    if (this.#ending) return;
    const socket = this.#socket;
    this.#socket = null;
    this.#stop(1000, "closed by the page");
    socket?.close(1000);
  }

  // Connecting

  async #connect() {
    clearTimeout(this.#pause);
    this.#pause = 0;
    let token;
    try {
      token = await within(this.#answerWithin, this.#token());
    } catch (error) {
      if (this.#ending) return;
      return this.#tell("token_failed", { error, retry_in_ms: this.#retry() });
    }
    if (this.#ending) return;
    let socket;
    try {
      socket = new WebSocket(this.#url, "callagent.v1.json");
    } catch (error) {
      return this.#stop(0, error.message); // a bad address, or one that this page may not use
    }
    this.#socket = socket;
    this.#watchOver(CONNECT_CHECK_MS);
    socket.onopen = () => {
      const resume = this.#session && { session: this.#session, seq: this.#seq };
      this.#send({ id: 0, op: "hello", data: { token, device: this.#device, resume } });
    };
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    socket.onclose = ({ code, reason }) => this.#closed(socket, code, reason);
  }

  #retry() {
    const longest = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** this.#failures++);
    const pause = Math.random() * longest;
    this.#pause = setTimeout(() => this.#connect(), pause);
    return pause;
  }

  // The hundreds of the code tell what to do.
  #closed(socket, code, reason) {
    if (socket !== this.#socket) return;
    clearInterval(this.#watch);
    this.#socket = null;
    this.#isGreeted = false;
    socket.onmessage = null;
    socket.close();
    if (code === 1000 || code === 1003 || (code >= 4200 && code < 4300)) {
      return this.#stop(code, reason);
    }
    if (code === 1009) this.#failLargest();
    for (const request of this.#open.values()) request.isSent = false;
    this.#tell("lost", { code, reason });
    if (!this.#ending) this.#retry();
  }

  #stop(code, reason) {
    clearInterval(this.#watch);
    clearTimeout(this.#pause);
    for (const name of IS_BACK) globalThis.removeEventListener(name, this.#look, true);
    this.#isGreeted = false;
    this.#ending = failure("stopped", code ? `closed with ${code}` : reason);
    for (const id of [...this.#open.keys()]) this.#fail(id, this.#ending);
    this.#tell("stopped", { code, reason });
  }

  // Silence
  //
  // It is judged by questions that nothing came after, never by the clock: the timers of a hidden
  // tab come once a minute, and those of a machine that slept before what had arrived meanwhile.

  #watchOver(interval) {
    clearInterval(this.#watch);
    this.#unanswered = 0;
    this.#watch = setInterval(() => this.#ask(), interval);
  }

  #ask() {
    if (this.#unanswered === CHANCES) return this.#closed(this.#socket, 1006, "silence");
    this.#unanswered++;
    if (this.#isGreeted) this.#send({ op: "ping" });
  }

  // The page is seen again, or the network is back.
  #lookAgain() {
    if (globalThis.document?.hidden) return;
    if (this.#pause) return this.#connect();
    if (!this.#isGreeted || this.#isInDoubt) return;
    this.#isInDoubt = true;
    this.#watchOver(DOUBT_CHECK_MS);
    this.#ask();
  }

  #hear(message) {
    this.#unanswered = 0;
    if (this.#isInDoubt) this.#trust();
    if (message.event) this.#take(message);
    else if (message.re === 0) this.#greeted(message);
    else if (this.#open.has(message.re)) this.#settle(message);
  }

  #trust() {
    this.#isInDoubt = false;
    this.#watchOver(this.#pingInterval / 2);
  }

  #greeted({ ok, error }) {
    if (error) return this.#tell("refused", error); // then the server closes
    this.#failures = 0;
    this.#isGreeted = true;
    this.#user = ok.user;
    this.#session = ok.session;
    this.#messageBytes = ok.limits?.message_bytes ?? MESSAGE_BYTES;
    this.#pingInterval = ok.ping_interval_ms ?? PING_INTERVAL_MS;
    this.#trust();
    if (!ok.resumed) {
      this.#seq = 0;
      this.#tell("calls", ok.calls);
      for (const call of ok.calls) this.#acknowledge(call.call_id, call.participants);
    }
    this.#tell("connected", ok);
    for (const request of [...this.#open.values()]) {
      if (!request.isSent && this.#isGreeted) this.#sendRequest(request);
    }
  }

  // Requests

  #send(message) {
    this.#socket.send(JSON.stringify(message));
  }

  // What is too large would close the connection, and again after every loss.
  #sendRequest(request) {
    const refusal = this.#tooLarge(request.text);
    if (refusal) return this.#fail(request.id, refusal);
    request.isSent = true;
    this.#socket.send(request.text);
  }

  #tooLarge(text) {
    const size = bytesOf(text);
    const limit = this.#messageBytes;
    return size <= limit
      ? null
      : failure("too_large", `the request has ${size} bytes; a message has at most ${limit}`);
  }

  // Something between here and the server takes less than the server does.
  #failLargest() {
    const sent = [...this.#open.values()].filter(({ isSent }) => isSent);
    if (sent.length === 0) return;
    const sizes = sent.map(({ text }) => bytesOf(text));
    const size = Math.max(...sizes);
    const error = failure("too_large", `a request of ${size} bytes closed the connection`);
    this.#fail(sent[sizes.indexOf(size)].id, error);
  }

  #settle({ re, ok, error }) {
    const request = this.#open.get(re);
    const pause = error?.retry_after_ms ?? 0;
    if (error?.retryable && Date.now() + pause < request.deadline) {
      request.isSent = false;
      setTimeout(() => this.#repeat(re), pause);
    } else if (error) {
      this.#fail(re, Object.assign(new Error(error.message), error));
    } else {
      this.#forget(re);
      request.resolve(ok);
    }
  }

  // Unless it was answered, or sent over a new connection, meanwhile.
  #repeat(id) {
    const request = this.#open.get(id);
    if (request && !request.isSent && this.#isGreeted) this.#sendRequest(request);
  }

  #fail(id, error) {
    const request = this.#open.get(id);
    this.#forget(id);
    request?.reject(error);
  }

  #forget(id) {
    clearTimeout(this.#open.get(id)?.timer);
    this.#open.delete(id);
  }

  // Events

  // They come again until they are acknowledged.
  #take({ seq, event, data }) {
    if (seq <= this.#seq) return;
    this.#seq = seq;
    this.#tell(event, data);
    if (this.#socket) this.#send({ ack: seq });
    if (event === "call.changed") this.#acknowledge(data.call_id, data.changes);
  }

  // Mode `handshake`: who accepts is in the call when the one who invited has acknowledged it.
  #acknowledge(callID, participants) {
    for (const { user, state, invited_by: inviter = this.#user } of participants) {
      if (state !== "accepting" || user === this.#user || inviter !== this.#user) continue;
      this.request("call.accept_ack", { call_id: callID, user }).catch(() => {});
    }
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

// A refusal that needs no server: a field that the operation does not have, almost always misspelt.
function refusalOf(op, data) {
  if (!(op in FIELDS)) return null; // of a newer server
  return unknownField(op, data, FIELDS[op]) ?? unknownField(`${op} push`, data.push, PUSH_FIELDS);
}

function unknownField(what, object, names) {
  const known = names.split(" ");
  const field = Object.keys(object ?? {}).find((key) => !known.includes(key));
  if (field === undefined) return null;
  const message = `${what} has no field '${field}'; it has: ${known.join(", ") || "none"}`;
  return Object.assign(failure("bad_request", message), { detail: { field } });
}

function failure(code, message) {
  return Object.assign(new Error(message), { code, retryable: false });
}

function lateness(op, within) {
  return failure("unanswered", `${op} was not answered within ${within} ms`);
}

// The promise, given up after so many milliseconds.
function within(limit, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(failure("unanswered", `no token within ${limit} ms`)), limit);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

// crypto.randomUUID is missing on pages without https.
function randomText() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
