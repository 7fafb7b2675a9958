// Which microphone, camera and loudspeaker the person has chosen.

import { find, make } from "/phone/elements.js";

const KINDS = { microphone: "microphones", camera: "cameras", speaker: "speakers" };
const KEY = "phone devices";

export class Devices {
  chosen;
  #changed;

  constructor(changed) {
    this.#changed = changed;
    this.chosen = read();
    find("devices").ontoggle = () => this.#list();
    navigator.mediaDevices?.addEventListener("devicechange", () => this.#list());
    for (const kind of Object.keys(KINDS)) {
      find(kind).onchange = ({ target }) => this.#choose(kind, target.value);
    }
  }

  /** What `Media` takes. */
  constraints(kind) {
    const { microphone, camera } = this.chosen;
    return { audio: constraint(microphone), video: kind === "video" && constraint(camera) };
  }

  async #list() {
    if (!find("devices").open || !navigator.mediaDevices) return;
    const all = await navigator.mediaDevices.enumerateDevices();
    const types = { microphone: "audioinput", camera: "videoinput", speaker: "audiooutput" };
    for (const [kind, type] of Object.entries(types)) {
      const options = all.filter((one) => one.kind === type && one.deviceId).map((one, index) =>
        make("option", { value: one.deviceId }, one.label || `${kind} ${index + 1}`));
      find(kind).replaceChildren(make("option", { value: "" }, "The browser's choice"), ...options);
      find(kind).value = this.chosen[kind] ?? "";
    }
  }

  #choose(kind, id) {
    this.chosen = { ...this.chosen, [kind]: id };
    localStorage[KEY] = JSON.stringify(this.chosen);
    if (id || kind === "speaker") this.#changed({ [kind]: id });
  }
}

function read() {
  try {
    return JSON.parse(localStorage[KEY] ?? "{}");
  } catch {
    return {};
  }
}

function constraint(deviceId) {
  return deviceId ? { deviceId: { ideal: deviceId } } : true;
}
