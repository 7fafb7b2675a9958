// Speaks to the management API. The token stays in this tab, and leaves it in a header only.

const ROOT = "/admin/v1";
const KEY = "callagent-token";

// A browser takes these out of a path, however they are written.
const LOST = new Set([".", ".."]);

/** The path with values in the place of their names; a value that cannot stand there stays. */
function filled(path, values) {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    if (LOST.has(values[name])) return "";
    const text = encodeURIComponent(values[name]);
    delete values[name];
    return text;
  });
}

/** The server said no, or did not answer. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const server = {
  role: "viewer",
  name: "",

  /** Takes the token out of the address, where it came from a command line. */
  takeToken() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!given) return;
    this.token = given;
    history.replaceState(null, "", location.pathname + "#/now");
  },

  get token() { return sessionStorage.getItem(KEY); },
  set token(text) {
    if (text) sessionStorage.setItem(KEY, text);
    else sessionStorage.removeItem(KEY);
  },

  get isOperator() { return this.role === "operator"; },

  /**
   * A JSON answer; throws `Refused`. `{name}` in the path is filled in from the query or the body.
   */
  async ask(method, path, /** @type {any} */ given = {}) {
    const { signal } = given;
    const query = { ...given.query };
    const body = given.body && { ...given.body };
    path = filled(path, body ?? query);
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined && value !== null && value !== "") words.set(name, value);
    }
    const text = String(words) && `?${words}`;
    let response;
    try {
      response = await fetch(ROOT + path + text, {
        method, signal, cache: "no-store",
        headers: { Authorization: `Bearer ${this.token ?? ""}` },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, "the server does not answer");
    }
    const answer = await response.json().catch((error) => {
      // Who has left the screen must not be shown nothing as if it were the answer.
      if (error.name === "AbortError") throw error;
      return {};
    });
    if (response.ok) return answer;
    throw new Refused(response.status, answer.detail || `the server answered ${response.status}`);
  },

  get(path, query, signal) { return this.ask("GET", path, { query, signal }); },
  post(path, body = {}) { return this.ask("POST", path, { body }); },

  /** Begins a job and waits for its end; `progress` hears from 0 to 1. */
  async job(path, body, progress = (..._) => {}, signal) {
    const { job } = await this.post(path, body);
    for (;;) {
      const state = await this.get(`/jobs/${job}`, {}, signal);
      progress(state.progress);
      if (state.state === "done") return state.result;
      if (state.state !== "running") throw new Refused(0, state.error ?? "it was cancelled");
      await pause(300, signal);
    }
  },
};

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", leave);
  });
}

/** Says that it is over when one of these does. */
export function either(...signals) {
  return /** @type {any} */ (AbortSignal).any(signals);
}

/** Resolves when the page is seen; a page that nobody sees asks nothing. */
export function seen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal?.addEventListener("abort", () => {
      document.removeEventListener("visibilitychange", look);
      reject(new DOMException("left", "AbortError"));
    });
  });
}

/** Runs `turn` again and again while the screen is there and seen, with a pause between. */
export async function repeat(signal, milliseconds, turn) {
  for (;;) {
    await seen(signal);
    await turn();
    await pause(milliseconds, signal);
  }
}

// Milliseconds of news that are shown at once: nobody reads faster, and the page has time. It is
// also how long a page rests that was told nothing at once, because too many wait.
const GATHER = 300;

/**
 * Follows a list that goes on: `begin` asks for it anew and gives `after`, `news` hears of more.
 * A page that is hidden stops asking, and asks anew when it is seen.
 */
export async function follow(signal, path, query, begin, news) {
  for (;;) {
    await seen(signal);
    let after = await begin();
    while (!document.hidden) {
      const turn = new AbortController();
      const leave = () => turn.abort();
      signal.addEventListener("abort", leave);
      document.addEventListener("visibilitychange", leave);
      let page;
      try {
        page = await server.get(path, { ...query(), after, wait_ms: 25000 }, turn.signal);
      } catch (error) {
        if (error.name === "AbortError" && !signal.aborted) break;
        throw error;
      } finally {
        signal.removeEventListener("abort", leave);
        document.removeEventListener("visibilitychange", leave);
      }
      after = page.after;
      if (page.reset) break;
      if (page.items.length) news(page.items);
      await pause(GATHER, signal);
    }
  }
}
