// Now: figures, alarms, live calls as they change.

import {
  h, fill, Table, callLink, linked, people, peopleText, moment, field, choice, say,
} from "./page.js";
import { server, either, follow, repeat } from "./server.js";

const SHOWN = 200;

function tiles(status) {
  const figures = status.figures;
  const rows = [
    ["Live calls", status.live_calls], ["Connections", status.connections],
    ["Sessions", status.sessions], ["Calls begun", figures.calls_started],
    ["Refusals", figures.refusals], ["Waiting for plugins", figures.policy_backlog],
    ["Store behind", `${figures.commit_age_ms} ms`], ["Pushes under way", figures.pushes_open],
    ["Events under way", figures.webhooks_open],
  ];
  return h("dl", { class: "figures" }, rows.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function state(status, doctor) {
  const kinds = { trouble: "bad", warning: "warn" };
  const lines = doctor.findings.filter((one) => one.grade !== "good").map((one) =>
    h("li", { class: kinds[one.grade] }, linked(`${one.text} → ${one.advice}`)));
  return [
    h("p", { class: status.ready ? "good mark" : "bad mark" },
      status.ready ? "It takes calls." : "It takes no calls."),
    lines.length
      ? h("ul", {}, lines)
      : h("p", { class: "faint verdict" }, "Nothing is wrong, as far as it knows."),
    tiles(status),
    h("p", { class: "faint" }, `${status.node}, version ${status.version}, generation `,
      h("a", { href: "#/policies" }, status.generation ?? "none"), ", since ",
      moment(status.since_at)),
  ];
}

export async function now(main, { signal, query }) {
  const figures = h("section", { "aria-label": "Figures" });
  const calls = new Map();
  const table = new Table("Live calls, the newest first", [
    ["Call", (one) => callLink(one.call_id), (one) => one.call_id],
    ["State", (one) => h("span", { class: one.state === "active" ? "good" : "" }, one.state),
      (one) => one.state],
    ["Mode", (one) => `${one.mode}, ${one.kind}`, (one) => `${one.mode}, ${one.kind}`],
    ["People", people, peopleText],
    ["Since", (one) => moment(one.created_at), (one) => one.created_at],
  ], (one) => one.call_id, "No live calls.");
  const user = h("input", { name: "user", value: query.get("user") ?? "", maxlength: 64 });
  const which = choice("state", [["", "all"], ["ringing", "ringing"], ["active", "active"]]);
  const wanted = () => ({ user: user.value.trim(), state: which.value });
  let restart = new AbortController();
  const form = h("form", { class: "filter" }, field("User", user), field("State", which),
    h("button", { type: "submit" }, "Show"));
  const again = (event) => { event.preventDefault(); restart.abort(); };
  form.addEventListener("submit", again);
  which.addEventListener("change", again);
  main.append(figures, h("h2", {}, "Calls"), form, table.element);

  const draw = () => table.show([...calls.values()]
    .sort((a, b) => (a.call_id < b.call_id ? 1 : -1)).slice(0, SHOWN));

  const begin = async (turn) => {
    const page = await server.get("/calls", { ...wanted(), limit: SHOWN }, turn);
    calls.clear();
    for (const one of page.items) calls.set(one.call_id, one);
    draw();
    return page.after;
  };

  const news = (items) => {
    let ended = 0;
    for (const one of items) {
      if (one.state === "ended") ended += calls.delete(one.call_id) ? 1 : 0;
      else if (!which.value || one.state === which.value) calls.set(one.call_id, one);
      else calls.delete(one.call_id);
    }
    // Only what can be seen is kept.
    if (calls.size > SHOWN) {
      for (const id of [...calls.keys()].sort().reverse().slice(SHOWN)) calls.delete(id);
    }
    draw();
    if (ended) say(`${ended} calls ended`);
  };

  const watch = async () => {
    while (!signal.aborted) {
      restart = new AbortController();
      const turn = either(signal, restart.signal);
      try {
        // What has ended must be heard of, so the state is not asked for.
        await follow(turn, "/calls", () => ({ user: wanted().user }), () => begin(turn), news);
      } catch (error) {
        if (error.name !== "AbortError" || signal.aborted) throw error;
      }
    }
  };
  await Promise.all([
    watch(),
    repeat(signal, 3000, async () => fill(figures, state(...await Promise.all([
      server.get("/status", {}, signal), server.get("/doctor", {}, signal)])))),
  ]);
}
