// History: calls that ended, searched.

import { h, Table, Pages, field, choice, callLink, people, moment, span } from "./page.js";
import { server } from "./server.js";

const REASONS = [
  "completed", "not_connected", "cancelled", "rejected", "busy", "no_answer", "settled",
  "peer_offline", "peer_no_ack", "expired", "connect_timeout", "connection_lost", "dial_failed",
  "accept_failed", "last_left", "idle", "policy",
];

function input(name, query, more = {}) {
  return h("input", { name, value: query.get(name) ?? "", ...more });
}

function seconds(value) { return value === "" ? "" : Math.round(Number(value) * 1000); }

export function calls(caption) {
  return new Table(caption, [
    ["Call", (one) => callLink(one.call_id)],
    ["People", people],
    ["Mode", (one) => one.mode],
    ["End", (one) => `${one.end?.reason ?? ""}${one.end?.detail ? ` (${one.end.detail})` : ""}`],
    ["Lasted", (one) => (one.answered_at && one.ended_at
      ? span(one.ended_at - one.answered_at) : "not answered")],
    ["Ended", (one) => moment(one.ended_at)],
  ], (one) => one.call_id, "No such calls.");
}

export async function history(main, { signal, query }) {
  const form = h("form", { class: "filter" },
    field("User", input("user", query, { maxlength: 64 })),
    field("With", input("peer", query, { maxlength: 64 })),
    field("Reason", choice("reason", [["", "all"], ...REASONS.map((one) => [one, one])],
      query.get("reason") ?? "")),
    field("Plugin", input("plugin", query)),
    field("From", input("from", query, { type: "datetime-local" })),
    field("Until", input("until", query, { type: "datetime-local" })),
    field("Longer than (s)", input("longer", query, { type: "number", min: 0, step: "any" })),
    field("Shorter than (s)", input("shorter", query, { type: "number", min: 0, step: "any" })),
    h("button", { type: "submit", class: "main" }, "Search"));
  const table = calls("Ended calls, the last one first");
  const pages = new Pages(table, (cursor) => {
    const data = new FormData(form);
    const text = (name) => String(data.get(name)).trim();
    const at = (name) => (text(name) ? new Date(text(name)).getTime() : "");
    return server.get("/history", {
      user: text("user"), peer: text("peer"), reason: text("reason"),
      plugin: text("plugin"), since_at: at("from"), until_at: at("until"),
      longer_ms: seconds(text("longer")), shorter_ms: seconds(text("shorter")), cursor,
    }, signal);
  });
  main.append(form, table.element, pages.row);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = [...new FormData(form)].filter(([, value]) => value)
      .map(([name, value]) => [name, String(value)]);
    const text = `#/history?${new URLSearchParams(data)}`;
    if (location.hash === text) pages.begin(); else location.hash = text;
  });
  await pages.begin();
}
