// One call: its ladder, and why it went so.

import {
  h, add, fill, button, callLink, userLink, pluginLink, between, moment, span, confirmed, say,
} from "./page.js";
import { server, repeat } from "./server.js";

const MARKS = {
  request: "→", told: "←", acknowledged: "✓", connected: "+", disconnected: "−", asked: "?",
  answered: "!", timer: "◷", push: "↗", webhook: "↗", media: "♪", note: "…", change: "=",
};
const LOOKS_AFTER_END = 40; // a minute
const TOGGLES = [
  ["push", "Pushes"], ["webhook", "Webhooks"], ["media", "Media"], ["timer", "Timers"],
];

function who(entry) {
  return entry.user ? [userLink(entry.user), entry.device ? `/${entry.device}` : ""] : "nobody";
}

function sent(entry) {
  const kind = { failed: "bad", unreached: "bad", open: "warn" }[entry.state] ?? "good";
  const word = entry.state === "open" ? "not taken yet" : entry.state;
  return [`${entry.target} `, h("span", { class: kind }, word),
    entry.status ? `: ${entry.status}` : "", ` after ${entry.ms} ms`];
}

function change(entry) {
  // Who acts without a device is a plugin, or the server.
  const by = entry.device ? [userLink(entry.actor), `/${entry.device}`] : entry.actor;
  const end = entry.end
    ? ` ${entry.end.reason}${entry.end.detail ? ` (${entry.end.detail})` : ""}` : "";
  return [h("strong", {}, `${entry.state}${end}`), " ",
    between(entry.changes.map((one) => [userLink(one.user),
      ` ${one.state}${one.reason ? ` (${one.reason})` : ""}`])),
    h("span", { class: "faint" }, " by ", by, `, revision ${entry.revision}`)];
}

const WORDS = {
  request: (one) => [who(one), " asked for ", h("code", {}, one.op),
    one.code ? h("span", { class: "bad" }, `: refused, ${one.code}`) : ""],
  told: (one) => [who(one), " was told ", h("code", {}, one.event),
    h("span", { class: "faint" }, ` (${one.seq})`)],
  acknowledged: (one) => [who(one), " has it"],
  connected: (one) => [who(one), " is connected"],
  disconnected: (one) => [who(one), ` is gone${one.why ? ` (${one.why})` : ""}`],
  asked: (one) => [h("code", {}, `on.${one.hook}`), " is asked", one.user ? " for " : "",
    one.user ? userLink(one.user) : ""],
  answered: (one) => [pluginLink(one.plugin), " said ",
    h("strong", { class: one.failure ? "bad" : "" }, `${one.decision} ${one.detail ?? ""}`.trim()),
    one.failure ? h("span", { class: "bad" }, ` (${one.failure})`) : "",
    h("span", { class: "faint" }, `, ${one.cpu_us} µs, generation ${one.generation.slice(0, 8)}`)],
  timer: (one) => `the time of ${one.name} is over`,
  push: (one) => (one.state === "unreached"
    ? ["no push to ", who(one), ": ",
      h("span", { class: "bad" }, "neither a device nor a registration is there")]
    : ["push to ", who(one), " by ", sent(one)]),
  webhook: (one) => ["event ", one.event ? h("code", {}, one.event) : "", " to ", sent(one)],
  media: (one) => `media ${one.media}`,
  note: (one) => one.text,
  change,
};

function step(entry, start) {
  const time = entry.at ? span(Math.max(0, entry.at - start)) : "";
  return h("li", { class: entry.kind, "data-kind": entry.kind },
    h("span", { class: "number faint", title: entry.at && new Date(entry.at).toISOString() }, time),
    h("span", { "aria-hidden": "true" }, MARKS[entry.kind] ?? "·"),
    h("span", {}, (WORDS[entry.kind] ?? WORDS.note)(entry)));
}

function summary(call) {
  const rows = [
    ["State", [call.state, call.end ? `, ${call.end.reason}` : "",
      call.end?.detail ? ` (${call.end.detail})` : ""].join("")],
    ["Mode", `${call.mode}, ${call.kind}`], ["Caller", userLink(call.caller)],
    ["Made", moment(call.created_at)], ["Answered", moment(call.answered_at)],
    ["Ended", moment(call.ended_at)], ["Media", call.media],
  ];
  return [
    h("table", { class: "summary" }, h("caption", { class: "unseen" }, "The call"), h("tbody", {},
      rows.filter(([, value]) => value).map(([name, value]) =>
        h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))))),
    h("h2", {}, "People"),
    h("ul", {}, call.participants.map((one) => h("li", {}, userLink(one.user),
      ` ${one.role}, ${one.state}${one.reason ? ` (${one.reason})` : ""}`,
      one.device ? ` on ${one.device}` : ""))),
  ];
}

function asText(entries, start) {
  return entries.map((one) => step(one, start).textContent).join("\n");
}

function explained(why, made, ended) {
  const pushes = (why.pushes ?? []).map((one) => h("li", {}, userLink(one.user),
    `/${one.device}: push ${one.kind} by ${one.provider}: `,
    h("span", { class: one.result === "sent" ? "" : "bad" }, one.result)));
  const absent = (why.unreached ?? []).map((user) => h("li", { class: "bad" }, userLink(user),
    " had neither a device nor a registration for pushes"));
  const decisions = (why.decisions ?? []).map((one) => h("li", {}, h("code", {}, `on.${one.event}`),
    " for ", userLink(one.user), ": ", between((one.asked ?? []).map((part) =>
      [pluginLink(part.plugin), ` ${part.said}`,
        part.message ? h("span", { class: "bad" }, ` ${part.message}`) : ""])),
    h("strong", {}, ` → ${one.decision?.action ?? "?"}`), ` in ${one.took_ms} ms`));
  const until = ended ?? Date.now();
  const lost = (why.gaps ?? []).filter((gap) => gap.since_at <= until).map((gap) =>
    h("li", { class: "bad" }, `${gap.left_out} lines of the decision log were lost between `,
      moment(gap.since_at), " and ", moment(gap.at), ": some may have been about this call"));
  const old = why.kept_since_at >= made
    ? [h("li", { class: "bad" }, "Decisions older than ", moment(why.kept_since_at),
      " are not kept")] : [];
  const all = [...absent, ...pushes, ...decisions, ...lost, ...old];
  if (all.length) return h("ul", {}, all);
  return h("p", { class: "faint" }, "No plugin was asked, no push sent.");
}

export async function call(main, { signal, path }) {
  const [id] = path;
  const about = h("section", { "aria-label": "The call" });
  const why = h("section", { "aria-label": "Why" });
  const ladder = h("ol", { class: "ladder" });
  const note = h("p", { class: "faint" });
  const hidden = new Set();
  let entries = [];
  let start = 0;
  const draw = () => {
    fill(ladder, entries.filter((one) => !hidden.has(one.kind)).map((one) => step(one, start)));
  };
  const ticks = h("div", { class: "row", role: "group", "aria-label": "What the ladder shows" },
    TOGGLES.map(([kind, name]) => {
      const box = h("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(kind); else hidden.add(kind);
        draw();
      });
      return h("label", { class: "tick" }, box, name);
    }),
    button("Copy as text", async () => {
      await navigator.clipboard.writeText(`${id}\n${asText(entries, start)}`);
      say("copied");
      note.textContent = "Copied.";
    }));
  const end = server.isOperator ? button("End the call", async () => {
    if (!await confirmed("End this call for everybody?", id.slice(0, 8), "End it")) return;
    try {
      await server.post(`/calls/${id}/end`, { reason: "operator" });
      note.textContent = "It was ended.";
    } catch (error) {
      note.textContent = error.message;
    }
  }, "harm") : null;
  // Why, and the way out, before what may be hundreds of lines.
  main.append(h("p", { class: "code" }, id), about, h("h2", {}, "Why"), why,
    add(h("div", { class: "row" }), [end]), h("h2", {}, "What happened"), ticks, note, ladder);

  // Pushes and events of a call may be under way when it is over.
  let looks = LOOKS_AFTER_END;
  await repeat(signal, 1500, async () => {
    if (looks === 0) return;
    const { call: found } = await server.get(`/calls/${id}`, {}, signal);
    const isLive = found.state !== "ended";
    if (!isLive) looks -= 1;
    fill(about, summary(found));
    if (end) end.hidden = !isLive;
    const [journal, reasons] = await Promise.allSettled([
      server.get(`/calls/${id}/journal`, {}, signal),
      server.get(`/calls/${id}/explain`, {}, signal)]);
    if (journal.status === "fulfilled") {
      entries = journal.value.items;
      start = entries[0]?.at ?? 0;
      if (journal.value.truncated) note.textContent = "Its beginning is not kept.";
      draw();
    } else if (!entries.length) {
      note.textContent = journal.reason.message;
    }
    if (reasons.status === "fulfilled") {
      fill(why, explained(reasons.value, found.created_at, found.ended_at));
    }
  });
}
