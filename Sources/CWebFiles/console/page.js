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
    element.append(child instanceof Node ? child : shown(String(child)));
  }
  return element;
}

// What has no face, and what changes the direction of the text behind it.
const UNSHOWN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text with what nobody would see written out: it cannot pass for another text. */
function shown(text) {
  return text.replace(UNSHOWN, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`);
}

/** Puts `children` in the place of whatever an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

// Milliseconds for which a table makes rows before the page is drawn and somebody may click.
const SLICE = 8;

/**
 * A table: columns as [name, cell(row), face(row)?], rows keyed so that a change touches one row
 * only, and the focus stays where it is. A cell whose `face`, the text for which it stands, is the
 * same stays as it is. A long list is shown in slices, one a frame; what comes meanwhile is shown
 * with the next one, so that however much changes, nobody waits for the page.
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
    this.from = 0;
    this.show([]);
  }

  show(items) {
    this.wanted = new Map(items.map((item) => [this.key(item), item]));
    this.table.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
    // A frame that is due takes the newest.
    if (!this.isDue) this.draw();
  }

  draw() {
    const end = performance.now() + SLICE;
    const { wanted, rows } = this;
    // First, so that those behind them need not move.
    for (const [key, { element }] of rows) {
      if (wanted.has(key)) continue;
      element.remove();
      rows.delete(key);
    }
    const keys = [...wanted.keys()];
    let place = this.body.firstChild;
    for (const key of keys) {
      const element = rows.get(key)?.element;
      if (!element) continue;
      if (element === place) place = place.nextSibling;
      else this.body.insertBefore(element, place);
    }
    // On from where the last slice ended: no row is passed over for ever.
    let left = keys.length;
    for (; left > 0; left -= 1) {
      if (this.from >= keys.length) this.from = 0;
      if (this.refresh(keys, this.from) && performance.now() > end) break;
      this.from += 1;
    }
    this.isDue = left > 0;
    if (this.isDue) requestAnimationFrame(() => this.draw());
    else this.from = 0;
  }

  /** The row at `at` shows what is wanted; whether something had to be done for that. */
  refresh(keys, at) {
    const item = this.wanted.get(keys[at]);
    const known = this.rows.get(keys[at]);
    if (!known) {
      const row = { item, ...this.row(item) };
      this.rows.set(keys[at], row);
      let next = at + 1;
      while (next < keys.length && !this.rows.has(keys[next])) next += 1;
      this.body.insertBefore(row.element, this.rows.get(keys[next])?.element ?? null);
      return true;
    }
    // What is the very object of before needs no look: most of a long list.
    if (known.item === item) return false;
    this.patch(known, item);
    known.item = item;
    return true;
  }

  row(item) {
    const faces = this.columns.map((column) => column[2]?.(item));
    const element = h("tr", {}, this.columns.map(([name, cell]) =>
      h("td", { "data-name": name || undefined }, cell(item))));
    return { element, faces };
  }

  patch(row, item) {
    let isOther;
    this.columns.forEach(([, cell, face], place) => {
      if (face) {
        const now = face(item);
        if (now === row.faces[place]) return;
        row.faces[place] = now;
      } else {
        // Without a face any change of the item may show.
        isOther ??= JSON.stringify(row.item) !== JSON.stringify(item);
        if (!isOther) return;
      }
      fill(row.element.children[place], cell(item));
    });
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

// Rows of a list that a page of it is added to; the oldest go.
const PAGED = 2000;

/** A list that comes page by page into `table`: `ask` gets the one at a cursor, "" is the first. */
export class Pages {
  constructor(table, ask) {
    this.table = table;
    this.ask = ask;
    this.items = [];
    this.more = button("More", () => this.load(this.cursor));
    this.row = h("div", { class: "row" }, this.more);
  }

  /** Shows the first page in the place of what is there. */
  begin() { return this.load(""); }

  async load(cursor) {
    const page = await this.ask(cursor);
    this.items = cursor ? [...this.items, ...page.items].slice(-PAGED) : page.items;
    this.cursor = page.cursor;
    this.table.show(this.items);
    this.more.hidden = !page.cursor;
  }
}

// Words

// Made once: to make one takes longer than to make the row.
/** @type {Intl.DateTimeFormatOptions} */
const HOURS = { hour: "numeric", minute: "numeric", second: "numeric", hour12: false };
const TIME = new Intl.DateTimeFormat(undefined, HOURS);
/** @type {Intl.DateTimeFormatOptions} */
const DATE = { year: "numeric", month: "numeric", day: "numeric", ...HOURS };
const DAY = new Intl.DateTimeFormat(undefined, DATE);
const ZONED = new Intl.DateTimeFormat(undefined, { ...DATE, timeZoneName: "short" });

/** The time alone only of today: at three in the night 23:50 would be taken for what is to come. */
export function moment(at) {
  if (!at) return "";
  const date = new Date(at);
  const today = new Date().setHours(0, 0, 0, 0);
  const isToday = at >= today && at < today + 86_400_000;
  return h("time", { datetime: date.toISOString(), title: ZONED.format(date) },
    (isToday ? TIME : DAY).format(date));
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

const LONG = 24; // characters of a name that has to break where there is little room

export function userLink(user) {
  return h("a", {
    href: `#/people/${encodeURIComponent(user)}`, class: user?.length > LONG ? "long" : undefined,
  }, user);
}

/** A text in which ids of calls are links. */
export function linked(text) {
  return String(text ?? "").split(/\b([0-9a-f]{32})\b/).map((part, place) =>
    (place % 2 ? callLink(part) : part));
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

/** All of that as one text. */
export function peopleText(call) {
  const all = (call.participants ?? []).map((one) => `${one.user} ${one.state}`);
  return `${call.caller} ${all.join(",")}`;
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
    const before = /** @type {HTMLElement} */ (document.activeElement);
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
