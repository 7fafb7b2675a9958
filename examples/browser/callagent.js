// A session of callagent.v1.json that outlives lost connections. No dependencies: copy it.
//
//   const agent = new CallAgent("ws://127.0.0.1:7600/v1/ws", "tab-1", async () => "dev:alice");
//   agent.addEventListener("calls", ({ detail }) => …);          // all live calls: the full truth
//   agent.addEventListener("call.incoming", ({ detail }) => …);  // and every other event
//   agent.addEventListener("stopped", ({ detail }) => …);        // stay away: replaced, bad token
//   const { call } = await agent.request("call.invite", { invitees: ["bob"] });

const LONGEST_PAUSE_MS = 30_000;
const PING_INTERVAL_MS = 25_000; // until the server says its own

export class CallAgent extends EventTarget {
  #url;
  #device;
  #token;
  #socket = null;
  #session = null; // to resume
  #seq = 0; // of the last event that arrived
  #open = new Map(); // requests without a reply, by id
  #lastID = 0;
  #failures = 0;
  #isGreeted = false;
  #heardAt = 0;
  #watch = 0;

  // `token` is asked before every connection, so that one that ran out is replaced.
  constructor(url, device, token) {
    super();
    this.#url = url;
    this.#device = device;
    this.#token = token;
    this.#connect();
  }

  // Resolves with `ok`; rejects with the error of the protocol. The key makes it safe to send the
  // request again after a loss: it is carried out once.
  request(op, data = {}) {
    const message = { id: ++this.#lastID, op, key: randomText(), data };
    return new Promise((resolve, reject) => {
      this.#open.set(message.id, { message, resolve, reject });
      if (this.#isGreeted) this.#send(message);
    });
  }

  async #connect() {
    let token;
    try {
      token = await this.#token();
    } catch {
      return this.#retry();
    }
    const socket = new WebSocket(this.#url, "callagent.v1.json");
    this.#socket = socket;
    socket.onopen = () => {
      this.#watchOver(socket, PING_INTERVAL_MS);
      const resume = this.#session && { session: this.#session, seq: this.#seq };
      this.#send({ id: 0, op: "hello", data: { token, device: this.#device, resume } });
    };
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    socket.onclose = ({ code, reason }) => this.#closed(socket, code, reason);
  }

  #send(message) {
    this.#socket.send(JSON.stringify(message));
  }

  #hear(message) {
    this.#heardAt = Date.now();
    if (message.event) this.#take(message);
    else if (message.re === 0) this.#greeted(message);
    else this.#settle(message);
  }

  #greeted({ ok, error }) {
    if (error) return this.#tell("refused", error); // then the server closes
    this.#failures = 0;
    this.#isGreeted = true;
    this.#session = ok.session;
    if (!ok.resumed) {
      this.#seq = 0;
      this.#tell("calls", ok.calls);
    }
    this.#tell("connected", ok);
    for (const { message } of this.#open.values()) this.#send(message);
    this.#watchOver(this.#socket, ok.ping_interval_ms);
  }

  // A dead line says nothing: a browser would notice after minutes, if at all.
  #watchOver(socket, interval) {
    clearInterval(this.#watch);
    this.#heardAt = Date.now();
    this.#watch = setInterval(() => {
      if (Date.now() - this.#heardAt < 2 * interval) this.#send({ op: "ping" });
      else this.#closed(socket, 1006, "silence");
    }, interval);
  }

  #settle({ re, ok, error }) {
    const request = this.#open.get(re);
    if (request && error?.retryable) return this.#repeat(request.message, error.retry_after_ms);
    this.#open.delete(re);
    if (error) request?.reject(Object.assign(new Error(error.message), error));
    else request?.resolve(ok);
  }

  #repeat(message, pause) {
    setTimeout(() => this.#isGreeted && this.#send(message), pause);
  }

  // Events come again until they are acknowledged.
  #take({ seq, event, data }) {
    if (seq <= this.#seq) return;
    this.#seq = seq;
    this.#tell(event, data);
    this.#send({ ack: seq });
  }

  // The hundreds of the code tell what to do.
  #closed(socket, code, reason) {
    if (socket !== this.#socket) return;
    clearInterval(this.#watch);
    this.#socket = null;
    this.#isGreeted = false;
    socket.onmessage = null;
    socket.close();
    const isFinal = code === 1000 || code === 1003 || (code >= 4200 && code < 4300);
    this.#tell(isFinal ? "stopped" : "lost", { code, reason });
    if (isFinal) this.#giveUp(code);
    else this.#retry();
  }

  #giveUp(code) {
    for (const { reject } of this.#open.values()) reject(new Error(`closed with ${code}`));
    this.#open.clear();
  }

  #retry() {
    const longest = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** this.#failures++);
    setTimeout(() => this.#connect(), Math.random() * longest);
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

// crypto.randomUUID is missing on pages without https.
function randomText() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
