// The console: which screen is shown, and who looks at it.

import { h, fill, button, field, say } from "./page.js";
import { server } from "./server.js";
import { now } from "./now.js";
import { call } from "./call.js";
import { history } from "./history.js";
import { people } from "./people.js";
import { policies } from "./policies.js";
import { deliveries } from "./deliveries.js";
import { log } from "./log.js";
import { health } from "./health.js";

/**
 * Each screen fills `main` until `signal` says that another one is wanted.
 * @type {[string, string, (main: Element, how: any) => Promise<void>][]}
 */
const SCREENS = [
  ["now", "Now", now], ["history", "History", history], ["people", "People", people],
  ["policies", "Policies", policies], ["deliveries", "Deliveries", deliveries],
  ["log", "Audit and log", log], ["health", "Health", health],
];

let shown = new AbortController();

/** Shows that something is wrong, until it is not any more; what the screen says may be over. */
export function trouble(text, isOld = false) {
  const line = document.getElementById("trouble");
  const at = new Date().toLocaleTimeString(undefined, { hour12: false });
  line.hidden = !text;
  line.textContent = isOld ? `${text}; what stands here is of ${at}, or before` : text ?? "";
  document.getElementById("main").classList.toggle("old", isOld);
}

function links(name) {
  fill(document.getElementById("screens"), SCREENS.map(([word, title]) =>
    h("a", { href: `#/${word}`, "aria-current": word === name ? "page" : undefined }, title)),
  h("a", { href: "/help/Operating" }, "Help"));
}

/** What a part of the address says; of one that nobody here wrote, as it stands there. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const [path, query] = location.hash.slice(2).split("?");
  const [name, ...rest] = path.split("/").map(decoded);
  /** @type {(typeof SCREENS)[0]} */
  const known = name === "call" ? ["call", "Call", call] : SCREENS.find(([word]) => word === name);
  const [word, title, screen] = known ?? SCREENS[0];
  links(word);
  const main = fill(document.getElementById("main"), h("h1", {}, title));
  document.title = `${title} – callagent`;
  main.focus();
  trouble("");
  try {
    await screen(main, { signal, path: rest, query: new URLSearchParams(query ?? "") });
  } catch (error) {
    if (failed(error) && !error.status) wait(signal);
  }
}

/** Says what failed; whether it did: another screen that was wanted meanwhile is no failure. */
function failed(error) {
  if (error?.name === "AbortError") return false;
  if (error?.status === 401) {
    signIn("The token is not good any more.");
    return false;
  }
  trouble(error?.message ?? String(error), !error?.status);
  return true;
}

/** The server is away: the screen is shown anew when it is back. */
async function wait(signal) {
  while (!signal.aborted) {
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    if (signal.aborted || document.hidden) continue;
    try {
      await server.get("/status", {}, signal);
      return show();
    } catch (error) {
      if (error.status === 401) return signIn("The token is not good any more.");
    }
  }
}

function signIn(why) {
  shown.abort();
  server.token = null;
  fill(document.getElementById("screens"));
  document.getElementById("who").textContent = "";
  trouble("");
  const input = h("input", { type: "password", autocomplete: "off", size: 40, required: true });
  const form = h("form", { class: "filter" }, field("Token", input),
    h("button", { type: "submit", class: "main" }, "Sign in"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    server.token = input.value.trim();
    enter();
  });
  fill(document.getElementById("main"), h("h1", {}, "Sign in"),
    why ? h("p", { class: "bad" }, why) : null,
    h("p", {}, "A token of role operator or viewer: ",
      h("code", {}, "callagent token NAME --role viewer"), ". On the server's own machine ",
      h("code", {}, "callagent console"), " prints an address that needs none."), form);
  input.focus();
}

/** Asks who this is, and begins. */
async function enter() {
  if (!server.token) return signIn();
  try {
    const { you } = await server.get("/status");
    server.role = you.role;
    server.name = you.name;
  } catch (error) {
    if (error.status) return signIn(error.message);
    trouble(error.message);
    setTimeout(enter, 1000);
    return;
  }
  fill(document.getElementById("who"), `${server.name}, ${server.role} `,
    button("Sign out", () => signIn()));
  if (!location.hash.startsWith("#/")) location.replace("#/now");
  show();
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
// Nothing else would show the failure of what a button began.
addEventListener("unhandledrejection", (event) => {
  if (!failed(event.reason)) event.preventDefault();
});
addEventListener("hashchange", () => {
  const before = server.token;
  server.takeToken();
  if (server.token !== before) enter();
  else if (server.token) show();
});
server.takeToken();
say("");
// Those of the log and of the tools are UTC.
document.getElementById("zone").textContent =
  `Times are those of this browser: ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;
enter();
