// A phone in a browser: signing in, dialling, what rings, and the calls on the screen.

import { Agent, Unauthorized } from "/v1/client/index.js";
import { canPush, disablePush, enablePush } from "/v1/client/push.js";
import { Devices } from "/phone/devices.js";
import { find } from "/phone/elements.js";
import { History } from "/phone/history.js";
import { Panel } from "/phone/panel.js";
import { Tones } from "/phone/tones.js";
import { isMissed, nameOf, outcomeOf, peopleIn, troubleOf } from "/phone/texts.js";

const STATES = {
  offline: "Offline", connecting: "Connecting …", online: "Online",
  reconnecting: "The connection was lost, trying again …", stopped: "Signed out",
};
const BUSY_TIME = 3_000; // milliseconds of the busy tone
const NAME = "phone name";
const TOKEN = "phone token";

const tones = new Tones();
const panels = new Map(); // by call
const { isDevelopment } = await (await fetch("/phone/server.json")).json();
let agent = null;
let isBusy = false; // the tone after a call that nobody answered
let asked = null; // what a click on a notification wants: { id, verb }

const history = new History({ call: (user) => dial([user]) });
const devices = new Devices((chosen) => {
  for (const panel of panels.values()) attempt(() => panel.use(chosen));
});

function say(text) {
  find("news").textContent = text;
}

async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    say(troubleOf(error));
  }
}

// Signing in

function showSignIn(text = "") {
  find("state").textContent = text || "Signed out";
  find("sign-in").hidden = false;
  find("token-label").hidden = isDevelopment;
  find("name-label").hidden = !isDevelopment;
  find("name").required = isDevelopment;
  find("token").required = !isDevelopment;
  find("phone").hidden = find("sign-out").hidden = true;
  find("name").value = localStorage[NAME] ?? "";
}

function credential() {
  const kept = isDevelopment ? sessionStorage[NAME] : sessionStorage[TOKEN];
  return kept && (isDevelopment ? `dev:${kept}` : kept);
}

function token(reason) {
  const known = credential();
  const isUseless = !known || (!isDevelopment && reason !== "first" && reason !== "again");
  if (isUseless) throw new Unauthorized("sign in again");
  return known;
}

async function signIn() {
  find("sign-in").hidden = true;
  history.clear();
  say("");
  agent = new Agent({ url: location.origin, token });
  agent.on("state", (state, why) => {
    find("state").textContent = `${agent.user ?? ""} ${STATES[state]}`.trim();
    if (state === "stopped") signedOut(why);
  });
  agent.on("error", (error) => say(`No token: ${error.message}`));
  agent.on("incoming", (call) => {
    call.on("ended", () => {
      if (isMissed(call)) history.missed(call);
      if (!panels.has(call)) over(call, outcomeOf(call));
    });
    look(call);
  });
  agent.on("call", look);
  agent.on("leading", render);
  agent.on("missed", (call, count) => history.missed(call, count));
  try {
    await agent.start();
  } catch {
    return; // `stopped` was told
  }
  find("phone").hidden = find("sign-out").hidden = false;
  find("wake").hidden = !(canPush() && (await fetch("/v1/push/web-key")).ok);
  history.begin(agent);
  obey();
}

function signedOut(why) {
  for (const panel of panels.values()) panel.media?.stop();
  panels.clear();
  find("calls").replaceChildren();
  delete sessionStorage[TOKEN];
  delete sessionStorage[NAME];
  tones.play(null);
  find("incoming").close();
  showSignIn(`Signed out: ${why.error?.message ?? (why.reason || why.code)}`);
}

find("sign-in").onsubmit = (event) => {
  event.preventDefault();
  tones.allow();
  if (isDevelopment) sessionStorage[NAME] = localStorage[NAME] = find("name").value.trim();
  else sessionStorage[TOKEN] = find("token").value.trim();
  signIn();
};

find("sign-out").onclick = async () => {
  if (canPush() && (await navigator.serviceWorker.getRegistration())) {
    await disablePush(agent).catch(() => {});
  }
  delete localStorage[NAME];
  agent.stop({ bye: true });
};

find("wake").onclick = () => attempt(async () => {
  await enablePush(agent, { token: credential(), icon: "/phone/icon.svg" });
  say("This browser rings also when the page is closed.");
});

// Dialling

async function dial(people) {
  tones.allow();
  const mode = find("mode").value || (people.length === 1 ? "direct" : "advanced");
  say("");
  const kind = find("kind").value;
  const call = await attempt(() => agent.invite(people, { mode, kind }));
  if (!call) return;
  if (call.errors.length > 0) say(troubleOf({ detail: { errors: call.errors } }));
  if (call.isEnded) over(call, outcomeOf(call));
  else look(call);
}

find("dial").onsubmit = (event) => {
  event.preventDefault();
  const people = peopleIn(find("whom").value);
  if (people.length > 0) dial(people);
};

// Calls

function look(call) {
  if (!panels.has(call) && !call.isEnded && !call.isPending) {
    const panel = new Panel(call, {
      said: say, devices: () => devices.chosen, constraints: (kind) => devices.constraints(kind),
      left: (text) => {
        panels.delete(call);
        over(call, text);
      },
    });
    panels.set(call, panel);
    find("calls").append(panel.element);
  }
  render();
}

function over(call, text) {
  say(`${call.others.map(nameOf).join(", ")}: ${text}`);
  isBusy = call.me?.role === "caller" && !call.answeredAt && call.outcome?.by !== agent.user;
  if (isBusy) setTimeout(() => (isBusy = false, render()), BUSY_TIME);
  history.ended();
  render();
}

/** Rings for the first call that asks, and sounds as the calls are. */
function render() {
  const calls = [...agent.calls.values()];
  const pending = calls.find(({ isPending }) => isPending);
  const dialog = find("incoming");
  if (pending) ask(pending);
  else if (dialog.open) dialog.close();
  const isWaiting = calls.some((call) =>
    call.state === "ringing" && call.isHere && call.me.role === "caller"
    && call.others.some(({ state }) => state === "ringing"));
  const rings = calls.some((call) => call.rings);
  tones.play(rings ? "ring" : isWaiting ? "ringback" : isBusy ? "busy" : null);
}

function ask(call) {
  const caller = call.participants.find(({ user }) => user === (call.me.invitedBy ?? call.caller));
  const kind = call.kind === "video" ? " with video" : "";
  find("who").textContent = `${nameOf(caller ?? { user: call.caller })} calls${kind}`;
  const others = call.others.filter(({ user }) => user !== caller?.user).map(nameOf);
  const words = call.transferredBy ? "Take over the call with: " : "Also called: ";
  find("subject").textContent = others.length > 0 ? words + others.join(", ") : "";
  find("accept").onclick = () => answer(call, () => accept(call));
  find("reject").onclick = () => answer(call, () => call.reject());
  find("busy").onclick = () => answer(call, () => call.reject({ reason: "busy" }));
  const dialog = find("incoming");
  if (dialog.open) return;
  dialog.showModal();
  obey();
}

// Two people who call each other at once want one call: who accepts the other's takes back the own
// one, unless that was accepted meanwhile.
async function accept(call) {
  const own = [...agent.calls.values()].find((one) => one.state === "ringing"
    && one.me?.role === "caller" && one.others.every(({ user }) => user === call.caller));
  await call.accept({ holdActive: true });
  await own?.cancel().then(() => own.isEnded || own.end(), () => {});
}

async function answer(call, act) {
  tones.allow();
  say("");
  await attempt(act);
  look(call);
}

find("incoming").oncancel = (event) => event.preventDefault(); // Escape answers nothing

// What a notification's buttons want

function hear(mark) {
  const words = new URLSearchParams(mark.slice(1));
  if (words.has("call")) asked = { id: words.get("call"), words };
  obey();
}

function obey() {
  const call = asked && agent?.calls.get(asked.id);
  if (!call?.isPending) return;
  const { words } = asked;
  asked = null;
  if (words.has("accept")) find("accept").click();
  else if (words.has("reject")) find("reject").click();
}

navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data?.callagent) hear(data.callagent);
});
if (location.hash.startsWith("#call=")) {
  // A link shows a call; only the worker says that somebody has pressed a button.
  hear(location.hash.split("&")[0]);
  navigator.serviceWorker?.ready.then(({ active }) => active.postMessage({ callagent: "pressed" }));
  globalThis.history.replaceState(null, "", "/");
  // A tab that a notification has opened is the one who was called.
  if (isDevelopment && localStorage[NAME]) sessionStorage[NAME] ??= localStorage[NAME];
}

addEventListener("pointerdown", () => tones.allow(), { once: true });
if (credential()) signIn();
else showSignIn("Who are you?");
