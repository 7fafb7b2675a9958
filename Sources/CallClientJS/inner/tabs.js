// The tabs of one user on one site are one device: one of them leads and has the connection.

export class Tabs {
  #channel = null;
  #end = new AbortController();
  #release = (..._) => {};

  // `name` is the same in all tabs of one device; `hear` gets what others post; `lead` is called
  // once, when no tab before this one leads any more. A tab without a name leads itself alone.
  constructor(name, hear, lead) {
    if (!name) return void queueMicrotask(lead);
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => hear(data);
    const hold = () => new Promise((release) => {
      this.#release = release;
      lead();
    });
    navigator.locks.request(name, { signal: this.#end.signal }, hold).catch(() => {});
  }

  static get arePossible() {
    return globalThis.document && globalThis.navigator?.locks && globalThis.BroadcastChannel;
  }

  post(message) {
    this.#channel?.postMessage(message);
  }

  close() {
    this.#end.abort();
    this.#release();
    this.#channel?.close();
    this.#channel = null;
  }
}
