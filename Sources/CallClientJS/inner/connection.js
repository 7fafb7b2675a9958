// One WebSocket after the other, until the server or the app says that it is enough.

import { alarm } from "./alarms.js";
import { TimeoutError, Unauthorized } from "./errors.js";
import { claimsOf } from "./tokens.js";

const LONGEST_PAUSE = 30_000;
const CONNECT_CHECK = 5_000; // how often a connection that is being made is looked at
const DOUBT_CHECK = 2_000; // and one that may have died unnoticed
const CHANCES = 2; // questions without any answer, after which a line is dead
const RENEW_BEFORE = 30_000; // a token is replaced so long before its end
const IS_BACK = ["online", "visibilitychange", "pageshow"]; // after these nothing is sure

export class Connection {
  #settings;
  #owner;
  #socket = null;
  #refusal = null; // why `hello` was refused
  #isGreeted = false;
  #isAsking = false; // for a token
  #isEnded = false;
  #failures = 0;
  #pause = null; // the wait before the next attempt
  #pingInterval; // since the greeting
  #unanswered = 0; // questions since anything was heard
  #isInDoubt = false;
  #stopWatch = () => {};
  #stopRenewal = () => {};
  #look = (event) => this.#lookAgain(event);

  // The owner has `position()`, `greeted(ok)`, `heard(message)`, `lost(why)`, `ended(why)`,
  // `tokenFailed(error, pause)`.
  constructor(settings, owner) {
    this.#settings = settings;
    this.#owner = owner;
    for (const name of IS_BACK) globalThis.addEventListener?.(name, this.#look, true);
  }

  get isGreeted() {
    return this.#isGreeted;
  }

  send(text) {
    this.#socket.send(text);
  }

  /** Connects; `why` is told to the app's `token`, unless there is one already. */
  async open(why, known) {
    this.#pause?.();
    this.#pause = null;
    if (this.#isAsking || this.#isEnded) return;
    this.#isAsking = true;
    try {
      const token = known ?? (await askToken(this.#settings, why));
      if (!this.#isEnded) this.#connect(token);
    } catch (error) {
      if (this.#isEnded) return;
      if (error instanceof Unauthorized) {
        return this.#end({ code: 0, reason: error.message, error });
      }
      this.#owner.tokenFailed(error, this.#retry(why));
    } finally {
      this.#isAsking = false;
    }
  }

  close() {
    if (!this.#isEnded) this.#end({ code: 1000, reason: "by the app" });
  }

  #connect(token) {
    let socket;
    try {
      socket = new this.#settings.WebSocket(this.#settings.url, "callagent.v1.json");
    } catch (error) {
      return this.#end({ code: 0, reason: error.message }); // no address that can be used
    }
    this.#drop();
    this.#socket = socket;
    this.#watchOver(CONNECT_CHECK);
    socket.onopen = () => {
      const resume = this.#owner.position();
      const { device } = this.#settings;
      const data = { token, device, missed: true, ...(resume && { resume }) };
      socket.send(JSON.stringify({ id: 0, op: "hello", data }));
    };
    socket.onmessage = ({ data }) => {
      try {
        this.#hear(JSON.parse(data), token);
      } catch (error) {
        // Whoever speaks there is no server of ours, or not yet again.
        this.#closed({ code: 0, reason: error.message });
      }
    };
    socket.onclose = ({ code, reason }) => this.#closed({ code, reason });
    socket.onerror = () => {}; // `close` follows
  }

  // Nothing more of this socket counts.
  #drop() {
    this.#stopWatch();
    this.#stopRenewal();
    const socket = this.#socket;
    this.#socket = null;
    this.#isGreeted = false;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  }

  #retry(reason) {
    const pause = Math.random() * Math.min(LONGEST_PAUSE, 500 * 2 ** this.#failures++);
    this.#pause = alarm(pause, () => this.open(reason));
    return pause;
  }

  // The hundreds of the code tell what to do.
  #closed(why) {
    if (this.#refusal) why.error = this.#refusal;
    this.#refusal = null;
    const { code } = why;
    // A token that was good once is no reason to stay away, only to ask the app for another one.
    const word = why.error?.detail?.code;
    const isFinal = code === 1000 || code === 1003 || (code >= 4200 && code < 4300);
    if (isFinal && !word) return this.#end(why);
    this.#drop();
    this.#owner.lost(why);
    // Of the codes that want a new token, 4102 means revoked, and the others that it ran out.
    const reason = word ?? (code === 4102 ? "revoked" : code > 4099 ? "expired" : "again");
    if (!this.#isEnded) this.#retry(reason);
  }

  #end(why) {
    this.drop();
    this.#owner.ended(why);
  }

  /** Ends without a word. */
  drop() {
    this.#isEnded = true;
    this.#pause?.();
    this.#drop();
    for (const name of IS_BACK) globalThis.removeEventListener?.(name, this.#look, true);
  }

  // A connection is silent when nothing came after a question; the clock does not count: timers of
  // a hidden tab fire once a minute, and after a machine has slept they fire before what had
  // arrived is read.

  #watchOver(interval) {
    this.#stopWatch();
    this.#unanswered = 0;
    const next = () => {
      this.#stopWatch = alarm(interval, () => {
        next();
        this.#ask();
      });
    };
    next();
  }

  #ask() {
    if (this.#unanswered === CHANCES) return this.#closed({ code: 1006, reason: "silence" });
    this.#unanswered++;
    if (this.#isGreeted) this.send('{"op":"ping"}');
  }

  // The page is seen again, or the network is back.
  #lookAgain({ type }) {
    if (type === "visibilitychange" && globalThis.document?.hidden) return;
    if (this.#pause && !this.#isGreeted) return void this.open("again");
    if (!this.#isGreeted || this.#isInDoubt) return;
    this.#isInDoubt = true;
    this.#watchOver(DOUBT_CHECK);
    this.#ask();
  }

  #hear(message, token) {
    this.#unanswered = 0;
    if (this.#isInDoubt) this.#trust();
    if (message.re !== 0) return this.#owner.heard(message);
    if (message.error) return void (this.#refusal = message.error); // then the server closes
    const { ok } = message;
    this.#isGreeted = true;
    this.#pingInterval = ok.ping_interval_ms ?? 25_000;
    this.#trust();
    this.#renewLater(claimsOf(token).exp, ok.server_time_at);
    this.#owner.greeted(ok);
    this.#failures = 0;
  }

  #trust() {
    this.#isInDoubt = false;
    this.#watchOver(this.#pingInterval / 2);
  }

  // A new connection with a new token takes the old one's place, before the server ends that.
  #renewLater(expiry, now) {
    const left = expiry * 1000 - now;
    if (!left) return; // one of both is not known
    const pause = Math.max(left - RENEW_BEFORE, left * 0.8, 1000);
    this.#stopRenewal = alarm(pause, () => this.open("expired"));
  }
}

/** The app's token, within the time that a request may take. */
export async function askToken({ token, timeout }, reason) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no token within ${timeout} ms`)), timeout);
  });
  try {
    const made = await Promise.race([token(reason), late]);
    if (typeof made !== "string") throw new TypeError("token() gave no text");
    return made;
  } finally {
    clearTimeout(timer);
  }
}

/** `wss://HOST/v1/ws` of the server's address. */
export function socketAddress(url) {
  if (/^wss?:/.test(url)) return url;
  return url.replace(/^http/, "ws").replace(/\/+$/, "") + "/v1/ws";
}

