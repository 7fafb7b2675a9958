// One call on the screen: who is in it, what is seen and heard, and the buttons.

import { Media } from "/v1/client/media.js";
import { make } from "/phone/elements.js";
import {
  lengthOf, mediaOf, nameOf, outcomeOf, peopleIn, stateOf, troubleOf,
} from "/phone/texts.js";

const GROUPS = ["advanced", "managed", "group", "common"];
const TRANSFERS = ["advanced", "managed", "direct"];
const REMOVES = ["advanced", "managed", "group"]; // where who called may send somebody out

export class Panel {
  element;
  media = null;
  #call;
  #host;
  #videos = new Map(); // by user and kind
  #parts = {};
  #clock;

  // The host has `said(text)` for what went wrong, `devices()` as chosen, `constraints(kind)` of
  // them, `left(text)`.
  constructor(call, host) {
    this.#call = call;
    this.#host = host;
    this.element = this.#build();
    const render = () => this.#render();
    call.on("changed", render);
    call.on("ended", () => this.#end());
    this.#clock = setInterval(render, 1000);
    this.#render();
  }

  get call() {
    return this.#call;
  }

  #build() {
    const parts = this.#parts;
    const toggle = (text, act) =>
      make("button", { type: "button", onclick: () => this.#try(act) }, text);
    parts.title = make("h2");
    parts.status = make("span", { role: "status" });
    parts.clock = make("span", { role: "timer" }); // it is not read out every second
    parts.people = make("ul");
    parts.pictures = make("div", { className: "pictures" });
    parts.mute = toggle("Mute", () => this.media.mute(!this.media.isMuted));
    parts.camera = toggle("Camera", () => this.media.camera(!this.media.isCameraOn));
    parts.share = toggle("Share screen", () =>
      this.media.isSharing ? this.media.unshare() : this.media.share());
    parts.hold = toggle("Hold", () => this.media.hold(!this.#call.me.held));
    parts.take = toggle("Take over here", () => this.#call.join());
    parts.hangUp = toggle("Hang up", () => this.#hangUp());
    parts.hangUp.className = "stop";
    parts.endAll = toggle("End for all", () => this.#call.end());
    parts.add = this.#personForm("Add", "Add whom", (people) => this.#call.add(people));
    parts.transfer = this.#personForm("Transfer", "Transfer to whom", ([user]) =>
      this.#call.transfer(user));
    parts.remove = this.#personForm("Remove", "Remove whom", (people) =>
      this.#call.remove(people));
    const { mute, camera, share, hold, take, hangUp, endAll } = parts;
    return make(
      "article", { className: "call", aria: { label: "Call" }, data: { call: this.#call.id } },
      parts.title, make("p", { className: "status" }, parts.clock, parts.status), parts.people,
      parts.pictures,
      make("div", { className: "row keys" }, mute, camera, share, hold, take, endAll, hangUp),
      parts.add, parts.transfer, parts.remove);
  }

  #personForm(word, label, act) {
    const input = make("input", { autocomplete: "off", required: true, spellcheck: false });
    const submit = (event) => {
      event.preventDefault();
      const people = peopleIn(input.value);
      input.value = "";
      this.#try(() => act(people));
    };
    return make(
      "form", { onsubmit: submit, className: "row" },
      make("label", {}, label, input), make("button", {}, word));
  }

  async #try(act) {
    try {
      const errors = await act();
      if (Array.isArray(errors) && errors.length > 0) {
        this.#host.said(troubleOf({ detail: { errors } }));
      }
    } catch (error) {
      this.#host.said(troubleOf(error));
    }
    this.#render();
  }

  // Whose call is answered by nobody cancels it; one of several leaves; else it ends for both.
  async #hangUp() {
    const call = this.#call;
    const joined = call.others.filter(({ state }) => state === "joined").length;
    if (call.state === "ringing") return call.me.role === "caller" ? call.cancel() : call.leave();
    if (joined > 1 || call.mode === "common") return call.leave();
    return call.end().catch(() => call.leave());
  }

  // Voice and video

  #talk() {
    this.media = new Media(this.#call, this.#host.constraints(this.#call.kind));
    this.media.on("local", (stream) => this.#see("you", "camera", stream, true));
    this.media.on("remote", (user, stream, kind) => this.#see(user, kind, stream, false));
    this.media.on("state", () => this.#render());
    this.media.on("error", (error) => this.#host.said(mediaTrouble(error)));
    this.media.start().then(() => this.#render());
  }

  #see(user, kind, stream, isOwn) {
    const key = `${user} ${kind}`;
    const before = this.#videos.get(key);
    const isSeen = Boolean(stream?.getVideoTracks().length);
    if (!stream || (isOwn && !isSeen)) {
      before?.remove();
      this.#videos.delete(key);
      return;
    }
    const video = before ?? make("video", {
      autoplay: true, playsInline: true, muted: isOwn, data: { user, kind },
      aria: { label: isOwn ? "You" : kind === "screen" ? `Screen of ${user}` : user },
    });
    this.#videos.set(key, video);
    video.className = isSeen ? "" : "sound";
    if (video.srcObject !== stream) video.srcObject = stream;
    if (!before) this.#parts.pictures.append(video);
    const { speaker } = this.#host.devices();
    if (speaker && !isOwn) video.setSinkId?.(speaker).catch(() => {});
    video.play().catch(() => {}); // before the first click a browser may refuse
  }

  /** Other devices were chosen. */
  use(devices) {
    if (devices.speaker !== undefined) {
      for (const video of this.#videos.values()) {
        if (!video.muted) video.setSinkId?.(devices.speaker).catch(() => {});
      }
    }
    return this.media?.use(devices);
  }

  // What is shown

  #render() {
    const call = this.#call;
    if (!call.me || call.isEnded) return;
    if (!this.media && call.isHere && call.me.state === "joined") this.#talk();
    const { title, clock, status, people, mute, camera, share, hold, take, endAll } = this.#parts;
    title.textContent = call.others.map(nameOf).join(", ");
    clock.textContent = call.state === "ringing" ? "" : lengthOf(call.duration);
    const words = this.#status();
    if (status.textContent !== words) status.textContent = words;
    people.replaceChildren(...call.others.map((one) => this.#person(one)));
    const isTalking = Boolean(this.media) && call.me.state === "joined";
    press(mute, isTalking, this.media?.isMuted);
    press(camera, isTalking, this.media?.isCameraOn);
    const canShare = isTalking && Boolean(navigator.mediaDevices?.getDisplayMedia);
    press(share, canShare, this.media?.isSharing);
    press(hold, isTalking && call.mode === "direct" && call.state === "active", call.me.held);
    take.hidden = isTalking || call.me.state !== "joined" || call.state !== "active"
      || call.me.device === call.agent.device;
    endAll.hidden = !GROUPS.includes(call.mode) || call.state !== "active";
    this.#parts.add.hidden = !GROUPS.includes(call.mode) || call.me.state !== "joined";
    this.#parts.transfer.hidden = !TRANSFERS.includes(call.mode) || call.state !== "active";
    this.#parts.remove.hidden = !REMOVES.includes(call.mode) || call.me.role !== "caller"
      || call.state !== "active";
  }

  #status() {
    const call = this.#call;
    if (call.state === "ringing") return call.me.role === "caller" ? "Calling …" : "Called";
    return this.media ? "" : " in another tab or on another device";
  }

  #person(one) {
    const media = one.state === "joined" ? mediaOf(this.media?.states.get(one.user)) : "";
    const flags = one.state === "joined" && !one.audio ? "muted" : "";
    const text = [stateOf(one), media, flags].filter(Boolean).join(", ");
    return make("li", { data: { user: one.user, state: one.state } }, `${nameOf(one)}: ${text}`);
  }

  #end() {
    clearInterval(this.#clock);
    this.media?.stop();
    this.element.remove();
    this.#host.left(outcomeOf(this.#call));
  }
}

function press(button, isThere, isPressed) {
  button.hidden = !isThere;
  button.setAttribute("aria-pressed", String(Boolean(isPressed)));
}

function mediaTrouble({ name, message }) {
  const texts = {
    NotAllowedError: "The browser does not let this page use the microphone or camera.",
    NotFoundError: "There is no microphone or camera here: you can listen.",
  };
  return texts[name] ?? message;
}
