// Deliveries: pushes and webhooks, and what became of them.

import { h, Table, field, choice, button, callLink, userLink, moment, confirmed } from "./page.js";
import { server, repeat } from "./server.js";

function mark(state) {
  const kind = { sent: "good", delivered: "good", failed: "bad", open: "warn" }[state] ?? "";
  return h("span", { class: kind }, state);
}

/** Whoever takes no events does not keep up, however few wait. */
function receiverState({ enabled, trouble, behind }) {
  if (!enabled) return h("span", { class: "bad" }, "disabled");
  if (trouble) return h("span", { class: "bad" }, "takes none");
  return h("span", { class: behind ? "warn" : "good" }, behind ? "behind" : "keeps up");
}

export async function deliveries(main, { signal, query }) {
  const note = h("p", { role: "status" });
  const act = async (work) => {
    try {
      await work;
      note.textContent = "Done.";
    } catch (error) {
      note.textContent = error.message;
    }
    await load();
  };
  const pushState = choice("pushes", [
    ["", "all"], ["open", "under way"], ["sent", "sent"], ["failed", "failed"],
  ], query.get("pushes") ?? "");
  const pushes = new Table("Pushes, the newest first", [
    ["Since", (one) => moment(one.since_at)], ["Call", (one) => callLink(one.call_id)],
    ["To", (one) => [userLink(one.user), `/${one.device}`]],
    ["By", (one) => one.provider], ["Kind", (one) => one.kind], ["State", (one) => mark(one.state)],
    ["Tried", (one) => one.attempts ?? ""], ["Answer", (one) => one.result ?? ""],
    ["", (one) => (server.isOperator && one.state === "failed"
      ? button("Send again", () => {
        act(server.post("/pushes/{push}/retry", { push: one.push }));
      }) : "")],
  ], (one) => `${one.push} ${one.ended_at}`, "No pushes since the start.");
  const receivers = new Table("Receivers of events", [
    ["Name", (one) => one.name], ["Address", (one) => one.url],
    ["State", receiverState],
    ["Under way", (one) => one.under_way], ["Trouble", (one) => one.trouble ?? ""],
    ["", (one) => (server.isOperator && !one.enabled ? button("Enable", async () => {
      if (!await confirmed("Send events to it again?", one.name, "Enable")) return;
      await act(server.post("/webhooks/{name}/enable", { name: one.name }));
    }) : "")],
  ], (one) => one.name, "No webhooks are configured.");
  const eventState = choice("events", [
    ["failed", "failed"], ["open", "under way"], ["delivered", "delivered"],
  ], query.get("events") ?? "failed");
  const events = new Table("Events", [
    ["When", (one) => moment(one.at)],
    ["Call", (one) => (one.call_id ? callLink(one.call_id) : "")],
    ["Type", (one) => one.type], ["Receiver", (one) => one.endpoint],
    ["State", (one) => mark(one.state)], ["Tried", (one) => one.attempts],
    ["Next", (one) => moment(one.due_at)], ["Answer", (one) => one.error ?? ""],
    ["", (one) => (server.isOperator && one.state === "failed"
      ? button("Send again", () => act(server.post(`/webhooks/${one.event}/retry`))) : "")],
  ], (one) => `${one.event} ${one.endpoint}`, "No such events.");

  async function load() {
    const [sent, known, found] = await Promise.all([
      server.get("/pushes", { state: pushState.value, limit: 100 }, signal),
      server.get("/webhooks", {}, signal),
      server.get("/webhooks", { state: eventState.value, limit: 100 }, signal)]);
    pushes.show(sent.items);
    receivers.show(known.items);
    events.show(found.items);
  }
  pushState.addEventListener("change", load);
  eventState.addEventListener("change", load);
  main.append(note, h("h2", {}, "Pushes"),
    h("div", { class: "row" }, field("State", pushState)), pushes.element,
    h("h2", {}, "Webhooks"), receivers.element,
    h("div", { class: "row" }, field("Events that are", eventState)), events.element);
  await repeat(signal, 4000, load);
}
