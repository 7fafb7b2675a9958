// Where a page keeps what its reload needs. Not everywhere it may.

import { randomText } from "./words.js";

/**
 * `given`, or the page's own; in memory where there is none. One that throws keeps nothing: that is
 * no reason to lose a call.
 */
export function openStorage(given, name = "sessionStorage") {
  const attempt = (act) => {
    try {
      return act();
    } catch {
      // The browser lets this page keep nothing.
    }
  };
  const kept = {};
  const storage = (given === undefined && globalThis.document
    ? attempt(() => globalThis[name]) : given) ?? {
    getItem: (key) => kept[key],
    setItem: (key, text) => (kept[key] = text),
    removeItem: (key) => (kept[key] = null),
  };
  const removeItem = (key) => attempt(() => storage.removeItem(key));
  return {
    getItem: (key) => attempt(() => storage.getItem(key)),
    // Nothing old is left where there is no room for the new.
    setItem: (key, text) => {
      removeItem(key);
      attempt(() => storage.setItem(key, text));
    },
    removeItem,
  };
}

/** The device's name: the same as before in this storage. */
export function deviceName(storage) {
  const key = "callagent device";
  const name = storage.getItem(key) ?? `web-${randomText().slice(0, 12)}`;
  storage.setItem(key, name);
  return name;
}
