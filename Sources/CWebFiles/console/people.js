// People: who is online, on what, and why a phone did not ring.

import {
  h, fill, Table, Pages, field, choice, button, userLink, callLink, pluginLink, between, linked,
  moment, confirmed,
} from "./page.js";
import { server, repeat } from "./server.js";
import { calls } from "./history.js";

const SPANS = [
  ["3600000", "1 hour"], ["7200000", "2 hours"], ["86400000", "1 day"], ["604800000", "7 days"],
];

export async function people(main, { signal, path, query }) {
  return path[0] ? person(main, path[0], signal) : list(main, query, signal);
}

async function list(main, query, signal) {
  const prefix = h("input", { name: "prefix", value: query.get("prefix") ?? "", maxlength: 64 });
  const online = choice("online", [["", "all"], ["true", "online"], ["false", "offline"]],
    query.get("online") ?? "");
  const form = h("form", { class: "filter" }, field("Name begins with", prefix),
    field("Who", online), h("button", { type: "submit", class: "main" }, "Search"));
  const one = h("form", { class: "filter" },
    field("Anybody by name", h("input", { name: "user", required: true, maxlength: 64 })),
    h("button", { type: "submit" }, "Open"));
  const table = new Table("People with devices or live calls", [
    ["User", (user) => userLink(user.user)],
    ["Online", (user) => h("span", { class: user.online ? "good" : "faint" },
      user.online ? "online" : "offline")],
    ["Devices", (user) => user.devices], ["Calls", (user) => user.calls],
  ], (user) => user.user, "Nobody.");
  const pages = new Pages(table, (cursor) => server.get("/users", {
    prefix: prefix.value.trim(), online: online.value, limit: 100, cursor,
  }, signal));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    pages.begin();
  });
  one.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = String(new FormData(one).get("user")).trim();
    location.hash = `#/people/${encodeURIComponent(name)}`;
  });
  main.append(form, one, table.element, pages.row);
  await pages.begin();
}

function devices(note, user, reload) {
  return new Table("Devices", [
    ["Device", (one) => one.device],
    ["State", (one) => h("span", { class: one.connected ? "good" : "warn" },
      one.connected ? "connected" : "may come back")],
    ["Since", (one) => moment(one.since_at)],
    ["Address", (one) => one.address ?? ""],
    ["Program", (one) => one.agent ?? ""],
    ["Has", (one) => `${one.acknowledged ?? 0} of ${one.sent ?? 0} events`],
    ["", (one) => (server.isOperator ? button("Disconnect", async () => {
      if (!await confirmed("End this session?", one.device, "Disconnect")) return;
      const path = "/users/{user}/disconnect";
      await tell(note, server.post(path, { user, device: one.device }));
      reload();
    }, "harm") : "")],
  ], (one) => one.device, "No device is there.");
}

async function tell(note, work) {
  try {
    await work;
    note.textContent = "Done.";
  } catch (error) {
    note.textContent = error.message;
  }
}

async function person(main, user, signal) {
  const note = h("p", { role: "status" });
  const state = h("p");
  const load = async () => show(await server.get("/users/{user}", { user }, signal));
  const table = devices(note, user, load);
  const registrations = new Table("Registrations for pushes", [
    ["Provider", (one) => one.provider], ["Device", (one) => one.device],
    ["Token", (one) => h("code", {}, one.token)], ["Since", (one) => moment(one.since_at)],
  ], (one) => `${one.provider} ${one.device}`, "No registrations for pushes.");
  const since = choice("since", SPANS, "7200000");
  const reasons = h("div", { "aria-live": "polite" });
  const why = h("form", { class: "filter" }, field("Calls of the last", since),
    h("button", { type: "submit", class: "main" }, "Why did it not ring?"));
  why.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = await server.get("/users/{user}/explain",
      { user, since_at: Date.now() - Number(since.value) }, signal);
    fill(reasons, whyNot(answer));
  });
  const ended = calls("The last calls");
  const revoke = server.isOperator ? button("Take back all tokens", async () => {
    if (!await confirmed(`Take back all tokens of ${user}?`, user, "Take back")) return;
    await tell(note, server.post("/revoke", { user }));
    load();
  }, "harm") : null;

  const forget = server.isOperator ? button("Forget this person", async () => {
    const what = `Forget ${user} for ever? Registrations, the name and keys go, and old calls name `
      + "nobody in this place. Tokens stay good: take them back first.";
    if (!await confirmed(what, user, "Forget")) return;
    await tell(note, server.job("/users/{user}/forget", { user }, (part) => {
      note.textContent = `Forgetting, ${Math.round(part * 100)} %`;
    }, signal));
    load();
    ended.show((await server.get("/history", { user, limit: 20 }, signal)).items);
  }, "harm") : null;

  function show(found) {
    fill(state, h("span", { class: found.online ? "good mark" : "faint mark" },
      found.online ? "online" : "offline"), `, missed calls not seen: ${found.missed ?? 0}`,
      found.calls.length ? [", in ", between(found.calls.map(callLink))] : "",
      found.breakers.length ? [", passed over by ",
        between(found.breakers.map((one) => pluginLink(one.plugin)))] : "");
    table.show(found.devices);
    registrations.show(found.registrations);
  }
  main.querySelector("h1").textContent = user;
  main.append(state, note, why, reasons, table.element, registrations.element, ended.element,
    h("div", { class: "row" }, revoke, forget));
  const page = await server.get("/history", { user, limit: 20 }, signal);
  ended.show(page.items);
  await repeat(signal, 3000, load);
}

const GOOD = new Set(["rang"]);

function whyNot(answer) {
  const rows = answer.items.map((one) => h("li", {}, moment(one.at), " ", userLink(one.caller),
    " called: ", h("strong", { class: GOOD.has(one.verdict) ? "good" : "bad" }, linked(one.text)),
    " ",
    callLink(one.call_id)));
  const refused = answer.refused.map((one) => h("li", {}, moment(one.at), " ", userLink(one.caller),
    " could not call: ", h("strong", { class: "bad" }, `${one.code}, ${one.text}`)));
  // An owner of the version before does not tell of these.
  const tried = (answer.tried ?? []).map((one) => h("li", {}, moment(one.at), " could not call ",
    between(one.invitees.map(userLink)), ": ",
    h("strong", { class: "bad" }, `${one.code}, ${one.text}`)));
  const outages = (answer.outages ?? []).map((one) => h("li", {}, moment(one.at), " to ",
    one.until_at ? moment(one.until_at) : "now", ": ", h("strong", { class: "bad" }, one.text)));
  const lines = answer.connections.slice(-20).map((one) => h("li", {}, moment(one.at), " ",
    `${one.device} ${one.state}`, one.why ? ` (${one.why})` : ""));
  return [
    rows.length + refused.length
      ? h("ul", {}, rows, refused) : h("p", {}, "Nobody called in that time."),
    tried.length ? [h("h2", {}, "Calls that were refused"), h("ul", {}, tried)] : null,
    outages.length ? [h("h2", {}, "Nobody could call"), h("ul", {}, outages)] : null,
    answer.kept_since_at > answer.since_at ? h("p", {}, "Refusals and devices before ",
      moment(answer.kept_since_at), " are not known: the server began then.") : null,
    lines.length ? [h("h2", {}, "Devices came and went"), h("ul", {}, lines)] : null,
  ];
}
