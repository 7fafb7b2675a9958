// The requests of one tab, from the first attempt to the end of each.

import { OfflineError, RefusedError, StoppedError, TimeoutError } from "./errors.js";
import { FIELDS } from "./fields.js";
import { randomText } from "./words.js";

const NO_CONNECTION = "no connection";
const PUSH_FIELDS = "title body payload";
const GIVEN_UP_FOR = 120_000; // so long an invitation that nobody waits for is looked after

export class Requests {
  #line;
  #prefix;
  #open = new Map(); // by id; one may be taken out while all are looked at
  #lastID = 0;

  // The line has `look()`, which gives `isOnline`, `limit` (bytes of a message), and
  // `closeReason` once it has stopped; `carry(text)`, `withdraw(callID)`, `timeout`.
  constructor(prefix, line) {
    this.#prefix = prefix;
    this.#line = line;
  }

  make(op, data = {}, /** @type {any} */ options = {}) {
    const { signal, timeout = this.#line.timeout, key, wait = true } = options;
    const message = { id: `${this.#prefix}.${++this.#lastID}`, op, key: key ?? randomText(), data };
    return new Promise((resolve, reject) => {
      const text = JSON.stringify(message);
      const problem = this.#refusalBefore(op, data, text, signal, wait);
      if (problem) return reject(problem);
      const request = {
        id: message.id, op, text, wait, isSent: false, resolve, reject,
        deadline: Date.now() + timeout,
        timer: setTimeout(() => this.#giveUp(
          request, new TimeoutError(`${op} was not answered within ${timeout} ms`)), timeout),
      };
      const abort = () => this.#giveUp(request, signal.reason);
      request.settled = () => signal?.removeEventListener("abort", abort);
      signal?.addEventListener("abort", abort);
      this.#open.set(request.id, request);
      if (this.#line.look().isOnline) this.#send(request);
    });
  }

  #refusalBefore(op, data, text, signal, wait) {
    const { closeReason, isOnline } = this.#line.look();
    if (closeReason) return new StoppedError(closeReason);
    if (signal?.aborted) return signal.reason;
    if (!wait && !isOnline) return new OfflineError(NO_CONNECTION);
    return refusalOf(op, data) ?? this.#tooLarge(text);
  }

  /** Over every new connection: with its key a request is carried out once. */
  sendAll() {
    for (const request of this.#open.values()) this.#send(request);
  }

  /** The connection is gone; 1009: something on the way takes less than the server does. */
  lost({ code }) {
    if (code === 1009) this.#failLargest();
    for (const request of this.#open.values()) {
      request.isSent = false;
      if (!request.wait) this.#reject(request, new OfflineError(NO_CONNECTION));
    }
  }

  failAll(error) {
    for (const request of this.#open.values()) this.#reject(request, error);
  }

  /** Whether the reply was to a request of this tab that somebody still waits for. */
  settle({ re, ok, error }) {
    const request = this.#open.get(re);
    if (!request) return;
    const pause = error?.retry_after_ms ?? 0;
    if (error?.retryable && Date.now() + pause < request.deadline) {
      request.isSent = false;
      setTimeout(() => this.#repeat(request), pause);
    } else if (error) {
      this.#reject(request, new RefusedError(error));
    } else {
      this.#forget(request);
      request.resolve(ok);
    }
  }

  /** The request of this tab that a reply answers; an invitation may be given up (`isGivenUp`). */
  find(re) {
    return this.#open.get(re);
  }

  // What is too large would close the connection, and again after every loss.
  #send(request) {
    const problem = this.#tooLarge(request.text);
    if (problem) return this.#reject(request, problem);
    request.isSent = true;
    request.wasSent = true;
    this.#line.carry(request.text);
  }

  // Unless it was answered, or sent over a new connection, meanwhile.
  #repeat(request) {
    if (!this.#open.has(request.id) || request.isSent) return;
    if (this.#line.look().isOnline) this.#send(request);
  }

  // Nobody waits any more. An invitation may ring nevertheless, so its reply is still wanted.
  #giveUp(request, error) {
    request.reject(error);
    if (request.op !== "call.invite" || !request.wasSent) return this.#forget(request);
    clearTimeout(request.timer);
    request.settled();
    request.isGivenUp = true;
    request.deadline = 0;
    request.timer = setTimeout(() => this.#forget(request), GIVEN_UP_FOR);
    request.resolve = ({ call_id }) => this.#line.withdraw(call_id);
  }

  #reject(request, error) {
    this.#forget(request);
    request.reject(error);
  }

  #forget(request) {
    clearTimeout(request.timer);
    request.settled();
    this.#open.delete(request.id);
  }

  #tooLarge(text) {
    const size = bytesOf(text);
    const { limit } = this.#line.look();
    if (size <= limit) return null;
    return refusal("too_large", `a request of ${size} bytes; a message has at most ${limit}`);
  }

  #failLargest() {
    const sent = [...this.#open.values()].filter(({ isSent }) => isSent);
    const [largest] = sent.sort((one, other) => bytesOf(other.text) - bytesOf(one.text));
    if (!largest) return;
    const message = `a request of ${bytesOf(largest.text)} bytes closed the connection`;
    this.#reject(largest, refusal("too_large", message));
  }
}

// A refusal that needs no server: a field that the operation does not have, almost always misspelt.
function refusalOf(op, data) {
  if (!(op in FIELDS)) return null; // of a newer server
  return unknownField(op, data, FIELDS[op]) ?? unknownField(`${op} push`, data.push, PUSH_FIELDS);
}

function unknownField(what, object, names) {
  const field = Object.keys(object ?? {}).find((key) => !names.split(" ").includes(key));
  if (field === undefined) return null;
  const message = `${what} has no field '${field}'; it has: ${names || "none"}`;
  return refusal("bad_request", message, { field });
}

function refusal(code, message, detail) {
  return new RefusedError({ code, message, detail });
}

function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}
