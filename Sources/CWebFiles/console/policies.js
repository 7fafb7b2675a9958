// Policies: what plugins do, their texts, and what another set of them would do.

import {
  h, fill, Table, field, button, callLink, userLink, pluginLink, moment, between, confirmed,
} from "./page.js";
import { server, repeat } from "./server.js";

function failures(plugin) {
  const all = Object.entries(plugin.failures ?? {});
  return all.length
    ? h("span", { class: "bad" }, all.map(([kind, count]) => `${count} ${kind}`).join(", ")) : "0";
}

function chain() {
  return new Table("Plugins, in the order in which they are asked", [
    ["Plugin", (one) => pluginLink(one.name)],
    ["State", (one) => h("span", { class: one.state === "active" ? "good" : "bad" }, one.state,
      one.paused_count ? `, passed over for ${one.paused_count}` : "")],
    ["Hooks", (one) => one.hooks.join(", ")],
    ["Asked", (one) => one.asked], ["Decided", (one) => one.decided],
    ["Failed", failures],
    ["Time", (one) => `${one.cpu_us} µs`],
    ["Memory", (one) => `${Math.round(one.memory_bytes / 1024)} KB`],
  ], (one) => one.name, "No plugins are configured.");
}

function decisions(caption) {
  return new Table(caption, [
    ["When", (one) => moment(one.at)], ["Call", (one) => callLink(one.call)],
    ["Hook", (one) => one.event ?? ""], ["User", (one) => userLink(one.user)],
    ["Asked", (one) => between((one.asked ?? []).map((part) => [pluginLink(part.plugin),
      ` ${part.said}`, part.failure ? ` (${part.failure})` : ""]))],
    ["Decision", (one) => one.decision?.action ?? one.after ?? ""],
    ["Took", (one) => `${one.took_ms ?? 0} ms`],
  ], (one) => `${one.call} ${one.event} ${one.user} ${one.at}`, "None.");
}

async function one(main, name, signal) {
  main.querySelector("h1").textContent = name;
  const state = h("div");
  const accounts = new Table("For whom", [
    ["Account", (row) => userLink(row.account)], ["Asked", (row) => row.asked],
    ["Failed", (row) => h("span", { class: row.failed ? "bad" : "" }, row.failed)],
    ["Time", (row) => `${row.cpu_us} µs`],
  ], (row) => row.account, "It was asked for no account yet.");
  const table = decisions("The newest decisions");
  main.append(state, accounts.element, table.element);
  await repeat(signal, 3000, async () => {
    const { plugins } = await server.get("/plugins", {}, signal);
    const plugin = plugins.find((row) => row.name === name);
    if (!plugin) return fill(state, h("p", {}, "No such plugin is in force."));
    const kind = plugin.state === "active" ? "good mark" : "bad mark";
    const numbers = `, asked ${plugin.asked}, decided ${plugin.decided}, failed `;
    fill(state, h("p", {}, h("span", { class: kind }, plugin.state), numbers, failures(plugin)),
    h("ul", {}, plugin.paused.map((row) => h("li", {}, `passed over: ${row.what} until `,
      moment(row.until_at)))));
    accounts.show(plugin.by_account ?? []);
    const page = await server.get("/decisions", { plugin: name, limit: 50 }, signal);
    table.show(page.items);
  });
}

function progress() {
  return h("progress", { max: 1, value: 0, "aria-label": "how far it is" });
}

/** A button that begins a job, shows how far it is, and then its result. */
function jobButton(text, begin, show, signal) {
  const out = h("div", { "aria-live": "polite" });
  const go = button(text, async () => {
    const bar = progress();
    go.disabled = true;
    fill(out, bar);
    try {
      const [path, body] = begin();
      fill(out, show(await server.job(path, body, (part) => { bar.value = part; }, signal)));
    } catch (error) {
      if (error.name !== "AbortError") fill(out, h("pre", { class: "bad" }, error.message));
    } finally {
      go.disabled = false;
    }
  });
  return [go, out];
}

function tried(result) {
  return [
    h("p", {}, h("strong", {}, result.answers.join(", then ") || "nothing"),
      result.answers.join() === "nothing" ? `: ${result.otherwise}` : ""),
    result.problem ? h("pre", { class: "bad" }, result.problem) : null,
    h("ul", {}, [...result.asked, ...result.actions.map((line) => `did: ${line}`),
      ...result.log.map((line) => `log: ${line}`)].map((line) => h("li", { class: "code" }, line))),
  ];
}

function replayed(report) {
  return [
    h("p", {}, `${report.asked} asked again: `,
      h("strong", { class: report.changed || report.failing ? "warn" : "good" },
        `${report.changed} would change, ${report.failing} would fail`),
      `; ${report.unknown} cannot be asked again, of ${report.unsure} it is not sure.`),
    report.changes.length ? h("table", {}, h("caption", {}, "Differences side by side"),
      h("thead", {}, h("tr", {}, ["Call", "User", "It was", "It would be"].map((name) =>
        h("th", { scope: "col" }, name)))),
      h("tbody", {}, report.changes.map((row) => h("tr", {},
        h("td", { "data-name": "Call" }, callLink(row.call)),
        h("td", { "data-name": "User" }, userLink(row.user)),
        h("td", { "data-name": "It was" }, row.before),
        h("td", { "data-name": "It would be" }, row.after,
          row.problem ? h("div", { class: "bad" }, row.problem) : ""))))) : null,
  ];
}

function tested(result) {
  return [
    h("p", { class: result.failed ? "bad" : "good" },
      `${result.passed} passed, ${result.failed} failed`),
    h("ul", {}, result.tests.map((row) => h("li", { class: row.passed ? "code" : "code bad" },
      `${row.passed ? "ok" : "FAILED"} ${row.text}`))),
    h("ul", {}, result.coverage.map((row) => h("li", { class: "code" }, row.text))),
  ];
}

function source(file, coverage) {
  const missed = new Set();
  const name = file.path.replace("plugins/", "");
  const line = (coverage ?? []).find((row) => row.text.startsWith(name));
  for (const part of (line?.text.split("not run: ")[1] ?? "").split(", ")) {
    const [from, to] = part.split("-").map(Number);
    for (let at = from; at <= (to || from); at += 1) missed.add(at);
  }
  return h("pre", { class: "lines", tabindex: 0, "aria-label": file.path },
    file.text.split("\n").map((text, place) =>
      h("span", { class: missed.has(place + 1) ? "missed" : undefined }, text)));
}

function diff(found) {
  if (!found.files.length) return h("p", {}, "They are the same.");
  return found.files.map((file) => [
    h("h3", {}, `${file.path}: ${file.state}`),
    file.lines ? h("pre", { class: "diff", tabindex: 0, "aria-label": file.path },
      file.lines.map((row) => h("span", {
        class: { "+": "added", "-": "removed" }[row.op],
      }, `${row.op} ${row.text}`))) : h("p", {}, "Too long to be shown."),
  ]);
}

async function showSource(out, generation, path, signal) {
  const query = encodeURIComponent(path ?? "callagent.lua");
  const file = await server.get(`/generations/${generation}/files/${query}`, {}, signal);
  const [test, result] = jobButton("Run its tests and mark lines that did not run",
    () => ["/test", {}], (found) => {
      fill(text, source(file, found.coverage));
      return tested(found);
    }, signal);
  const text = h("div", {}, source(file));
  fill(out, h("h3", {}, `${file.path} of ${generation.slice(0, 12)}`),
    h("p", {}, between(file.files.map((one) => button(one, () =>
      showSource(out, generation, one, signal))), " ")),
    text, test, result);
}

function generations(out, note, signal, reload) {
  let active = "";
  const table = new Table("Kept generations, the last one first", [
    ["Generation", (row) => h("code", {}, row.generation.slice(0, 12))],
    ["State", (row) => (row.active ? h("span", { class: "good mark" }, "in force")
      : row.canary ? h("span", { class: "warn" }, "canary")
        : row.rolled_back_at ? h("span", { class: "warn" }, "rolled back") : "kept")],
    ["In force since", (row) => moment(row.activated_at)],
    ["", (row) => (server.isOperator ? h("span", { class: "row" },
      button("Source", () => showSource(out, row.generation, null, signal)),
      row.active ? null : button("Differences", async () => {
        fill(out, h("h3", {}, "From this one to the one in force"),
          diff(await server.get(`/generations/${row.generation}/diff/${active}`, {}, signal)));
      }),
      row.active ? null : button("Go back to it", async () => {
        const name = row.generation.slice(0, 12);
        if (!await confirmed("Put this generation into force?", name, "Go back")) return;
        await carryOut(note, "/rollback", { generation: row.generation }, reload);
      }, "harm")) : "")],
  ], (row) => row.generation, "None are kept.");
  return {
    element: table.element,
    show(items) {
      active = items.find((row) => row.active)?.generation ?? "";
      table.show(items);
    },
  };
}

async function carryOut(note, path, body, reload) {
  note.className = "";
  note.textContent = "…";
  try {
    const done = await server.post(path, body);
    note.className = "good";
    const warnings = (done.warnings ?? []).join(" ");
    note.textContent = `Generation ${done.generation} ${done.canary
      ? `decides for ${done.canary.for}` : "is in force"}. ${warnings}`;
  } catch (error) {
    note.className = "bad";
    note.textContent = error.message;
  }
  reload();
}

/** What a canary and the generation in force decided, side by side, and what becomes of it. */
function canaryView(note, reload) {
  const head = h("p");
  const table = new Table("Side by side, since the canary began", [
    ["", (row) => row.name], ["In force", (row) => row.beside], ["Canary", (row) => row.own],
  ], (row) => row.name, "");
  const name = (found) => found.generation.slice(0, 12);
  let canary = null;
  const act = async (path, question, word) => {
    if (!await confirmed(question, name(canary), word)) return;
    await carryOut(note, path, {}, reload);
  };
  const element = h("section", { "aria-label": "Canary", hidden: true }, h("h2", {}, "Canary"),
    head, table.element, server.isOperator ? h("div", { class: "row" },
      button("Promote", () => act("/promote",
        "Put the canary into force for all? What its plugins kept in state is dropped.",
        "Promote"), "harm"),
      button("Take back", () => act("/abort", "Let the generation in force decide for all again?",
        "Take back"), "harm")) : null);
  return {
    element,
    show(found) {
      canary = found ?? null;
      element.hidden = !canary;
      if (!canary) return;
      const most = canary.abort_on_failure;
      fill(head, h("code", {}, name(canary)), ` decides for ${canary.for}`,
        canary.for.endsWith("%") ? ` of the accounts, salt ${canary.salt}` : "", ", since ",
        moment(canary.since_at), `: ${canary.accounts} `,
        canary.accounts === 1 ? "account" : "accounts", " met it, it fails for ",
        h("span", { class: canary.failing ? "bad" : "good" }, canary.failing),
        most ? `, ${canary.failures} of ${most} failures` : "");
      table.show(canaryRows(canary));
    },
  };
}

function canaryRows({ own, beside }) {
  const bound = (side) => (side.cpu_seconds.p99_below === null
    ? "–" : `${Math.round(side.cpu_seconds.p99_below * 1e6)} µs`);
  const actions = new Set([...Object.keys(beside.decided), ...Object.keys(own.decided)]);
  return [
    { name: "asked", beside: beside.asked, own: own.asked },
    ...[...actions].map((name) => ({
      name, beside: beside.decided[name] ?? 0, own: own.decided[name] ?? 0,
    })),
    { name: "failed", beside: beside.failed, own: own.failed },
    { name: "99 % of CPU below", beside: bound(beside), own: bound(own) },
  ];
}

function trials(note, signal, reload) {
  const from = h("input", { name: "from", value: "ann", required: true });
  const to = h("input", { name: "to", value: "", required: true, placeholder: "account" });
  const at = h("input", { name: "at", placeholder: "Sat 10:00" });
  const path = h("input", { name: "path", placeholder: "plugins/desk.lua" });
  const text = h("textarea", { name: "text", spellcheck: "false" });
  const files = () => (path.value.trim() ? { files: { [path.value.trim()]: text.value } } : {});
  const [attempt, answer] = jobButton("Try", () => ["/try", {
    invite: { from: from.value.trim(), to: to.value.trim(), ...(at.value ? { at: at.value } : {}) },
    ...files(),
  }], tried, signal);
  const [test, results] = jobButton("Run the tests", () => ["/test", files()], tested, signal);
  const day = new Date().setHours(0, 0, 0, 0);
  const apply = button("Reload", async () => {
    if (!await confirmed("Put the files on disk into force?", "reload", "Reload")) return;
    await carryOut(note, "/reload", { generation: replayedFiles }, reload);
    allow("");
  }, "harm");
  const accounts = h("input", { name: "canary", placeholder: "desk-1* or 10%" });
  const tryOut = button("Canary", async () => {
    const extent = accounts.value.trim();
    if (!extent) return accounts.focus();
    if (!await confirmed("Let the files on disk decide for these accounts?", extent, "Begin")) {
      return;
    }
    await carryOut(note, "/reload", { canary: extent, generation: replayedFiles }, reload);
  }, "harm");
  // Only what was looked at comes into force: other files have to be replayed first, too.
  let replayedFiles = "";
  const allow = (generation) => {
    replayedFiles = generation;
    apply.disabled = tryOut.disabled = !generation;
  };
  allow("");
  const [replay, report] = jobButton("Replay yesterday and today", () => ["/replay", {
    since_at: day - 86_400_000,
  }], (found) => {
    allow(found.generation);
    return replayed(found);
  }, signal);
  return [
    h("h2", {}, "Try an invitation"),
    h("p", { class: "faint" }, "Nothing is written, and nothing comes into force."),
    h("div", { class: "row" }, field("From", from), field("To", to), field("When", at)),
    h("details", {}, h("summary", {}, "With another text of a file"), field("File", path),
      field("Its text", text)),
    h("div", { class: "row" }, attempt, test), answer, results,
    h("h2", {}, "Put the files on disk into force"),
    h("p", { class: "faint" }, "First see what they would have decided differently."),
    h("div", { class: "row" }, replay, apply), report,
    h("p", { class: "faint" }, "A canary decides for some accounts only, until it is promoted."),
    h("div", { class: "row" }, field("Accounts", accounts), tryOut),
  ];
}

export async function policies(main, { signal, path }) {
  if (path[0]) return one(main, path[0], signal);
  const state = h("p");
  const note = h("p", { role: "status" });
  const out = h("div", { "aria-live": "polite" });
  const plugins = chain();
  const load = async () => {
    const [found, marks] = await Promise.all([
      server.get("/plugins", {}, signal), server.get("/generations", {}, signal)]);
    plugins.show(found.plugins);
    canary.show(found.canary);
    fill(state, `Generation ${(found.generation ?? "none").slice(0, 12)}`,
      found.probation ? h("span", { class: "warn" }, ", on probation") : "",
      found.shadow ? h("span", { class: "warn" }, ", beside it ",
        `${found.shadow.generation.slice(0, 12)} is asked: ${found.shadow.changed} others`) : "");
    kept.show(marks.items);
  };
  const kept = generations(out, note, signal, load);
  const canary = canaryView(note, load);
  const table = decisions("The newest decisions");
  main.append(state, note, plugins.element, canary.element, h("h2", {}, "Generations"),
    kept.element, out);
  if (server.isOperator) main.append(...trials(note, signal, load));
  main.append(h("h2", {}, "Decisions"), table.element);
  await repeat(signal, 4000, async () => {
    await load();
    table.show((await server.get("/decisions", { limit: 30 }, signal)).items);
  });
}
