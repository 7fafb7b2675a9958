// One's own microphone, camera and screen.

export class Tracks {
  stream = null;
  screen = null;
  #host;
  #wanted; // { audio, video }: whether, or constraints
  #given;
  #isOn = { audio: false, video: false };
  #isHeld = false;
  #changes = () => this.#devicesChanged();

  // The host has `changed(purpose, track)`, `error(error)`, `devices(devices)`.
  constructor({ audio, video, stream }, host) {
    this.#wanted = { audio, video };
    this.#given = stream;
    this.#host = host;
  }

  async open() {
    this.stream = this.#given ?? new MediaStream();
    if (!this.#given) await this.#ask(this.#wanted);
    for (const track of this.stream.getTracks()) this.#isOn[track.kind] = true;
    globalThis.navigator?.mediaDevices?.addEventListener("devicechange", this.#changes);
  }

  close() {
    navigator.mediaDevices?.removeEventListener("devicechange", this.#changes);
    this.unshare();
    // A stream that the app gave is the app's to end.
    for (const track of this.#given ? [] : this.stream?.getTracks() ?? []) track.stop();
  }

  // Without a camera there is still a microphone, and without both one can listen.
  async #ask({ audio, video }) {
    const attempts = [{ audio, video }, { audio, video: false }].filter(
      (one, index) => (one.audio || one.video) && (index === 0 || video));
    for (const constraints of attempts) {
      try {
        const stream = await navigator.mediaDevices.getUserMedia(constraints);
        for (const track of stream.getTracks()) this.#add(track);
        return;
      } catch (error) {
        this.#host.error(error);
      }
    }
  }

  #add(track) {
    const before = this.#track(track.kind);
    if (before) {
      before.stop();
      this.stream.removeTrack(before);
    }
    this.stream.addTrack(track);
    // A headset that is unplugged: go on with another one.
    track.onended = () => this.#track(track.kind) === track && this.#replace(track.kind, true);
    return track;
  }

  #track(kind) {
    return this.stream.getTracks().find((track) => track.kind === kind);
  }

  async #replace(kind, constraints) {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ [kind]: constraints });
      const track = this.#add(stream.getTracks()[0]);
      this.#apply();
      this.#host.changed(kind, track);
    } catch (error) {
      this.#host.error(error);
    }
  }

  /** `[purpose, track]` of all that is sent. */
  all() {
    const own = this.stream.getTracks().map((track) => [track.kind, track]);
    const shared = this.screen?.getVideoTracks().map((track) => ["screen", track]);
    return [...own, ...(shared ?? [])];
  }

  isOn(kind) {
    return this.#isOn[kind];
  }

  async turn(kind, isOn) {
    if (isOn && !this.#track(kind)) await this.#replace(kind, true);
    this.#isOn[kind] = isOn && Boolean(this.#track(kind));
    this.#apply();
  }

  hold(isHeld) {
    this.#isHeld = isHeld;
    this.#apply();
  }

  #apply() {
    for (const track of this.stream?.getTracks() ?? []) {
      track.enabled = this.#isOn[track.kind] && !this.#isHeld;
    }
    for (const track of this.screen?.getTracks() ?? []) track.enabled = !this.#isHeld;
  }

  async use({ microphone, camera }) {
    if (microphone) await this.#replace("audio", { deviceId: { exact: microphone } });
    if (camera) await this.#replace("video", { deviceId: { exact: camera } });
  }

  async devices() {
    const all = await navigator.mediaDevices.enumerateDevices();
    const of = (kind) => all.filter((one) => one.kind === kind);
    return {
      microphones: of("audioinput"), cameras: of("videoinput"), speakers: of("audiooutput"),
    };
  }

  async #devicesChanged() {
    this.#host.devices(await this.devices());
  }

  async share() {
    const screen = await navigator.mediaDevices.getDisplayMedia({ video: true });
    this.unshare();
    this.screen = screen;
    const [track] = screen.getVideoTracks();
    track.contentHint = "detail";
    track.onended = () => this.screen === screen && this.unshare(); // the browser's own button
    this.#host.changed("screen", track);
    return screen;
  }

  unshare() {
    if (!this.screen) return;
    for (const track of this.screen.getTracks()) track.stop();
    this.screen = null;
    this.#host.changed("screen", null);
  }
}
