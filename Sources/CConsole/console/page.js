// Makes elements. Nothing is ever written as HTML: what comes from outside stays text.

/** An element: h("a", { href: "#/now", class: "x", on: { click } }, child, …). */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Puts `children` in the place of whatever an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/**
 * A table: columns as [name, cell(row)], rows keyed so that a change touches one row only, and the
 * focus stays where it is.
 */
export class Table {
  constructor(caption, columns, key, empty) {
    this.columns = columns;
    this.key = key;
    this.body = h("tbody");
    this.empty = h("p", { class: "faint" }, empty);
    this.table = h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map(([name]) => h("th", { scope: "col" },
        name || h("span", { class: "unseen" }, "Actions"))))),
      this.body);
    this.rows = new Map();
    this.element = h("div", {}, this.table, this.empty);
    this.show([]);
  }

  row(item) {
    return h("tr", {}, this.columns.map(([name, cell]) =>
      h("td", { "data-name": name || undefined }, cell(item))));
  }

  show(items) {
    const wanted = new Set(items.map(this.key));
    // First, so that those behind them need not move.
    for (const [key, { element }] of this.rows) if (!wanted.has(key)) element.remove();
    const kept = new Map();
    let place = this.body.firstChild;
    for (const item of items) {
      const key = this.key(item);
      let known = this.rows.get(key);
      // What is the very object of before needs no look at its text: most of a long list.
      const text = known?.item === item ? known.text : JSON.stringify(item);
      if (known?.text !== text) {
        const element = this.row(item);
        if (known) {
          if (place === known.element) place = element;
          known.element.replaceWith(element);
        }
        known = { element, text, item };
      }
      kept.set(key, known);
      if (known.element === place) {
        place = place.nextSibling;
      } else {
        this.body.insertBefore(known.element, place);
      }
    }
    this.rows = kept;
    this.table.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
  }
}

/** A field with its name. */
export function field(name, input) {
  return h("label", {}, name, input);
}

export function choice(name, options, value = "") {
  return h("select", { name }, options.map(([word, text]) =>
    h("option", { value: word, selected: word === value }, text)));
}

export function button(text, act, kind = "") {
  return h("button", { type: "button", class: kind || undefined, on: { click: act } }, text);
}

// Words

export function moment(at) {
  if (!at) return "";
  const date = new Date(at);
  const text = date.toLocaleString(undefined, { hour12: false });
  return h("time", { datetime: date.toISOString(), title: text },
    Date.now() - at < 86_400_000 ? date.toLocaleTimeString(undefined, { hour12: false }) : text);
}

export function span(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

export function callLink(id) {
  return h("a", { href: `#/call/${id}`, class: "code", title: id }, `${id.slice(0, 12)}…`);
}

export function userLink(user) {
  return h("a", { href: `#/people/${encodeURIComponent(user)}` }, user);
}

export function pluginLink(plugin) {
  return h("a", { href: `#/policies/${encodeURIComponent(plugin)}` }, plugin);
}

export function between(parts, text = ", ") {
  return parts.flatMap((part, place) => place ? [text, part] : [part]);
}

/** Who calls whom: a link for each. */
export function people(call) {
  const others = (call.participants ?? []).filter((one) => one.user !== call.caller);
  return [userLink(call.caller), " → ", between(others.map((one) =>
    [userLink(one.user), " ", h("span", { class: "faint" }, one.state)]))];
}

/** Says something to people who hear the page. */
export function say(text) {
  document.getElementById("news").textContent = text;
}

/** Asks for the name of what a change hurts, and resolves to whether it was typed. */
export function confirmed(what, name, word) {
  return new Promise((resolve) => {
    const input = h("input", { autocomplete: "off", spellcheck: "false" });
    const go = h("button", { type: "submit", class: "harm", disabled: true }, word);
    input.addEventListener("input", () => { go.disabled = input.value !== name; });
    const dialog = h("dialog", { "aria-labelledby": "ask" },
      h("form", { method: "dialog", on: { submit: (event) => {
        event.preventDefault();
        if (input.value === name) end(true);
      } } },
        h("h2", { id: "ask" }, what),
        h("p", {}, "Type ", h("code", {}, name), " to go on."),
        field("Name", input),
        h("div", { class: "row" }, go, button("Cancel", () => end(false)))));
    const before = document.activeElement;
    function end(answer) {
      dialog.close();
      dialog.remove();
      if (before?.isConnected) before.focus();
      resolve(answer);
    }
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); end(false); });
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
}
