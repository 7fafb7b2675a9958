// The log as it comes, and who changed what.

import {
  h, Table, Pages, field, choice, callLink, userLink, pluginLink, between, linked, moment,
} from "./page.js";
import { server, either, follow } from "./server.js";

const SHOWN = 500;
const KINDS = { warn: "warn", error: "bad" };

function fields(line) {
  const all = Object.entries(line.fields).filter(([name]) => name !== "call" && name !== "plugin");
  return between(all.map(([name, value]) =>
    [`${name}=`, name === "user" ? userLink(value) : linked(value)]), "  ");
}

/** What was asked for, with links to the call, the user or the plugin in its path. */
function path(text) {
  const about = /^(\/admin\/v1\/(calls|users)\/)([^/]+)(.*)$/.exec(text);
  if (!about) return text;
  const [, before, kind, part, rest] = about;
  try {
    const name = decodeURIComponent(part);
    return [before, kind === "calls" ? linked(name) : userLink(name), rest];
  } catch {
    return text; // nobody is called so
  }
}

export async function log(main, { signal, query }) {
  const level = choice("level", [
    ["debug", "all"], ["info", "info"], ["warn", "warnings"], ["error", "errors"],
  ], query.get("level") ?? "info");
  const plugin = h("input", { name: "plugin", value: query.get("plugin") ?? "" });
  const call = h("input", {
    name: "call_id", value: query.get("call_id") ?? "", pattern: "[0-9a-f]{32}",
  });
  const form = h("form", { class: "filter" }, field("Level", level), field("Plugin", plugin),
    field("Call", call), h("button", { type: "submit" }, "Show"));
  let lines = [];
  const table = new Table("Lines of the log, the newest first", [
    ["When", (one) => moment(one.at)],
    ["Level", (one) => h("span", { class: KINDS[one.level] }, one.level)],
    ["Message", (one) => one.message],
    ["Plugin", (one) => (one.fields.plugin ? pluginLink(one.fields.plugin) : "")],
    ["Call", (one) => (/^[0-9a-f]{32}$/.test(one.fields.call ?? "")
      ? callLink(one.fields.call) : "")],
    ["Fields", (one) => h("span", { class: "code" }, fields(one))],
  ], (one) => one.n, "No such lines.");
  let restart = new AbortController();
  form.addEventListener("submit", (event) => { event.preventDefault(); restart.abort(); });
  const wanted = () => ({
    level: level.value, plugin: plugin.value.trim(), call_id: call.value.trim(),
  });

  const audit = new Table("Who changed what, the newest first", [
    ["When", (one) => moment(one.at)],
    ["Who", (one) => `${one.who} (${one.role})`], ["From", (one) => one.from],
    ["What", (one) => h("code", {}, `${one.method} `, path(one.path))],
    ["With", (one) => (one.body === null ? "" : h("code", {}, JSON.stringify(one.body)))],
    ["Answer", (one) => h("span", { class: one.status < 400 ? "good" : "bad" }, one.status)],
  ], (one) => one.n, "Nothing was changed.");
  const pages = new Pages(audit, (cursor) =>
    server.get("/audit", { limit: 50, cursor }, signal));
  main.append(h("h2", {}, "Audit"), audit.element, pages.row,
    h("h2", {}, "Log"), form, table.element);
  await pages.begin();
  while (!signal.aborted) {
    restart = new AbortController();
    const turn = either(signal, restart.signal);
    try {
      await follow(turn, "/log", wanted, async () => {
        const page = await server.get("/log", { ...wanted(), limit: SHOWN }, turn);
        lines = page.items;
        table.show(lines);
        return page.after;
      }, (items) => {
        lines = [...items.reverse(), ...lines].slice(0, SHOWN);
        table.show(lines);
      });
    } catch (error) {
      if (error.name !== "AbortError" || signal.aborted) throw error;
    }
  }
}
