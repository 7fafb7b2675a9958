// Health: what is wrong, what to do, and what is in force.

import { h, fill, Table, button, linked } from "./page.js";
import { server, repeat } from "./server.js";

const WORDS = { good: ["good", "ok"], warning: ["warn", "warning"], trouble: ["bad", "trouble"] };
const ORDER = ["trouble", "warning", "good"];

function findings(found) {
  const all = [...found.findings].sort((a, b) => ORDER.indexOf(a.grade) - ORDER.indexOf(b.grade));
  return [
    h("p", { class: found.healthy ? "good mark" : "bad mark" },
      found.healthy ? "Calls can work." : "Something is wrong."),
    h("ul", {}, all.map((one) => h("li", {},
      h("span", { class: `${WORDS[one.grade][0]} mark` }, `${WORDS[one.grade][1]}: `),
      linked(one.text),
      one.advice ? h("div", { class: "faint" }, `→ ${one.advice}`) : ""))),
  ];
}

/** A text in which code stands between backticks. */
function coded(text) {
  return text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));
}

export async function health(main, { signal }) {
  const quick = h("section", { "aria-label": "Found at once" });
  const whole = h("div", { "aria-live": "polite" });
  const go = server.isOperator ? button("Look the installation over", async () => {
    go.disabled = true;
    const bar = h("progress", { "aria-label": "how far it is" });
    fill(whole, bar);
    try {
      fill(whole, findings(await server.job("/doctor", {}, () => {}, signal)));
    } catch (error) {
      if (error.name !== "AbortError") fill(whole, h("p", { class: "bad" }, error.message));
    }
    go.disabled = false;
  }, "main") : null;
  const config = new Table("What is in force; *** stands for a secret", [
    ["Name", (one) => h("code", {}, one.name)],
    ["Value", (one) => h("code", {}, one.value)],
    ["Set by", (one) => (one.written ? "the file" : h("span", { class: "faint" }, "default"))],
    ["About", (one) => coded(one.about)],
  ], (one) => one.name, "");
  config.table.className = "settings";
  main.append(quick, h("div", { class: "row" }, go), whole, h("h2", {}, "Settings"),
    config.element);
  config.show((await server.get("/config", {}, signal)).items);
  await repeat(signal, 5000, async () =>
    fill(quick, findings(await server.get("/doctor", {}, signal))));
}
