// Missed calls, and those of the past, each with a way to call back.

import { find, make } from "/phone/elements.js";
import { lengthOf, nameOf } from "/phone/texts.js";

const PAGE = 20;
const MISSED_SHOWN = 50;

export class History {
  #host;
  #agent = null;
  #cursor = null;
  #isShown = false;
  #missedCount = 0;

  // The host has `call(user)`.
  constructor(host) {
    this.#host = host;
    find("more").onclick = () => this.#more();
  }

  /** Somebody signs in: nothing is left of who did before. */
  clear() {
    this.#missedCount = 0;
    find("missed").replaceChildren();
    find("missed-title").textContent = "Missed calls";
    find("past").replaceChildren();
  }

  begin(agent) {
    this.#agent = agent;
    this.#isShown = false;
    this.#cursor = null;
    find("past").replaceChildren();
    find("more").textContent = "Show history";
    find("more").hidden = false;
  }

  /** Missed while nobody was here, of which `count` were not seen, or just now. */
  missed(call, count = this.#missedCount + 1) {
    this.#missedCount = count;
    const list = find("missed");
    const caller = call.participants.find(({ user }) => user === call.caller);
    const name = nameOf(caller ?? { user: call.caller });
    list.prepend(this.#row(call.caller, `${name}, ${when(call.createdAt)}`));
    while (list.children.length > MISSED_SHOWN) list.lastChild.remove();
    find("missed-title").textContent = `Missed calls (${count})`;
  }

  /** A call is over: what is shown is read anew. */
  ended() {
    if (!this.#isShown) return;
    this.begin(this.#agent);
    this.#more();
  }

  async #more() {
    this.#isShown = true;
    const data = { limit: PAGE, state: "ended", ...(this.#cursor && { cursor: this.#cursor }) };
    const { calls, cursor } = await this.#agent.request("call.list", data);
    this.#cursor = cursor;
    for (const call of calls) {
      const others = call.participants.filter(({ user }) => user !== this.#agent.user);
      const arrow = call.caller === this.#agent.user ? "to" : "from";
      const names = others.map(nameOf).join(", ");
      const text = `${arrow} ${names}, ${when(call.created_at)}, ${how(call)}`;
      find("past").append(this.#row(others[0]?.user ?? call.caller, text));
    }
    find("more").textContent = "Show more";
    find("more").hidden = !cursor;
  }

  #row(user, text) {
    const again = make("button", { type: "button", onclick: () => this.#host.call(user) },
      "Call back");
    again.setAttribute("aria-label", `Call back ${user}`);
    return make("li", {}, make("span", {}, text), again);
  }
}

function how({ end, duration_ms: duration }) {
  return duration > 0 ? lengthOf(duration) : (end?.reason ?? "").replaceAll("_", " ");
}

function when(moment) {
  const options = { dateStyle: "medium", timeStyle: "short" };
  return new Intl.DateTimeFormat(undefined, options).format(moment);
}
