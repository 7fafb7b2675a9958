// Where a page keeps what its reload needs. Not everywhere it may.

import { randomText } from "./words.js";

/** `given`, or the page's own; in memory where there is none. */
export function openStorage(given, name = "sessionStorage") {
  try {
    const storage = given === undefined && globalThis.document ? globalThis[name] : given;
    if (storage) return storage;
  } catch {
    // The browser lets this page keep nothing.
  }
  const kept = new Map();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => kept.set(key, text),
    removeItem: (key) => kept.delete(key),
  };
}

/** A full storage is no reason to lose a call. */
export function store(storage, key, text) {
  try {
    storage.setItem(key, text);
  } catch {
    storage.removeItem(key);
  }
}

/** The device's name: the same as before in this storage. */
export function deviceName(storage) {
  const key = "callagent device";
  const name = storage.getItem(key) ?? `web-${randomText().slice(0, 12)}`;
  store(storage, key, name);
  return name;
}
