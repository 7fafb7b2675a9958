// Names: camelCase in the app, snake_case on the wire.

/** The data of a request; extended data that is no text becomes JSON. */
export function toWire(options) {
  const data = {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (value === undefined) continue;
    const key = name.replace(/[A-Z]/g, "_$&").toLowerCase();
    const isJSON = name === "extendedData" && typeof (value ?? "") !== "string";
    data[key === "timeout" ? "timeout_ms" : key] = isJSON ? JSON.stringify(value) : value;
  }
  return data;
}

/** A participant, an `end`: the same with names of the app. */
export function fromWire(object) {
  if (!object) return object;
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [
    name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()),
    name === "extended_data" ? parsed(value) : value,
  ]));
}

/** JSON is read, any other text stays. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** 128 random bits. `crypto` is missing in Node 18, randomUUID on pages without https. */
export function randomText() {
  const bytes = new Uint8Array(16).map(() => Math.random() * 256);
  globalThis.crypto?.getRandomValues(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
