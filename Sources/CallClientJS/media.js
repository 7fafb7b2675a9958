// Voice and video of a call, from browser to browser. Signals travel as `{ webrtc: { … } }`.

import { Emitter, tell } from "./inner/emitter.js";
import { Peer } from "./inner/peer.js";
import { Tracks } from "./inner/tracks.js";
import { randomText } from "./inner/words.js";

const REPORTS = { connected: "connected", disconnected: "lost", failed: "lost" };
const NETWORK_EVENTS = ["online"];
const PART = 8_000; // characters of a signal: a description of several videos is longer
const PARTS_MAX = 16;
const GONE = ["not_invited", "wrong_state", "call_ended", "not_found"];

export class Media extends Emitter {
  #call;
  #options;
  #tracks;
  #peers = new Map(); // by user
  #streams = new Map(); // by user: a Map of streams by what they show
  #greetings = new Map(); // by user: our session, until theirs is known
  #parts = new Map(); // by user: of a message that came in several
  #isStopped = false;
  #reported = null;
  #offs = [];
  #restart = () => this.restart();

  constructor(call, options = {}) {
    super();
    this.#call = call;
    this.#options = options;
    const { audio = true, video = call.kind === "video", stream = null } = options;
    this.#tracks = new Tracks({ audio, video, stream }, {
      changed: (purpose, track) => this.#trackChanged(purpose, track),
      error: (error) => this[tell]("error", error),
      devices: (devices) => this[tell]("devices", devices),
    });
  }

  /** Asks for microphone and camera, and connects with everybody who is in the call. */
  async start() {
    await this.#tracks.open();
    if (this.#isStopped) return this.#tracks.close();
    this[tell]("local", this.#tracks.stream);
    this.#offs = [
      this.#call.on("signal", (_, { data }) => this.#take(data.from, data.data?.webrtc)),
      this.#call.on("changed", () => this.#follow()),
      this.#call.on("ended", () => this.stop()),
      this.#call.agent.on("state", (state) => state === "online" && this.#lookAgain()),
    ];
    for (const name of NETWORK_EVENTS) addEventListener(name, this.#restart);
    this.#follow();
    this.#announce();
  }

  stop() {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const off of this.#offs) off();
    for (const name of NETWORK_EVENTS) removeEventListener(name, this.#restart);
    for (const user of [...this.#peers.keys()]) this.#drop(user);
    this.#tracks.close();
    this[tell]("stopped");
  }

  /** One's own camera and microphone; null before `start`. */
  get localStream() {
    return this.#tracks.stream;
  }
  get screenStream() {
    return this.#tracks.screen;
  }
  get isMuted() {
    return !this.#tracks.isOn("audio");
  }
  get isCameraOn() {
    return this.#tracks.isOn("video");
  }
  get isSharing() {
    return this.#tracks.screen !== null;
  }
  /** The connection to each user: new, connecting, connected, disconnected, failed. */
  get states() {
    return new Map([...this.#peers].map(([user, { state }]) => [user, state]));
  }
  /** What is heard and seen of a user: `camera`, `screen`. */
  streams(user) {
    return new Map(this.#streams.get(user));
  }
  stats(user) {
    return this.#peers.get(user)?.stats();
  }

  mute(isMuted = true) {
    return this.#switch("audio", !isMuted);
  }
  /** Asks for the camera, if there was none so far. */
  camera(isOn = true) {
    return this.#switch("video", isOn);
  }
  async #switch(purpose, isOn) {
    await this.#tracks.turn(purpose, isOn);
    this.#announce();
  }

  /** Holds the call or goes on with it: nothing is sent meanwhile. */
  async hold(isOn = true) {
    await this.#call.hold(isOn);
    this.#tracks.hold(isOn);
  }

  /** Microphone or camera by `deviceId`. */
  use(devices) {
    return this.#tracks.use(devices);
  }
  /** `{ microphones, cameras, speakers }`, each a list of MediaDeviceInfo. */
  devices() {
    return this.#tracks.devices();
  }
  share() {
    return this.#tracks.share();
  }
  unshare() {
    this.#tracks.unshare();
  }

  /** Looks for other ways to everybody, with new credentials. */
  restart() {
    for (const peer of this.#peers.values()) peer.restart();
  }

  // After a loss of the server signals may be missing; the voice itself went on.
  #lookAgain() {
    for (const peer of this.#peers.values()) {
      if (!this.#call.agent.isResumed || peer.state !== "connected") peer.restart();
    }
  }

  // The others

  #others() {
    return this.#call.others.filter(({ state }) => state === "joined").map(({ user }) => user);
  }

  #follow() {
    if (this.#isStopped || this.#call.me?.state !== "joined") return;
    const others = this.#others();
    for (const user of this.#peers.keys()) if (!others.includes(user)) this.#drop(user);
    for (const user of this.#greetings.keys()) {
      if (!others.includes(user)) this.#greetings.delete(user);
    }
    for (const user of others) {
      if (!this.#peers.has(user) && !this.#greetings.has(user)) this.#greet(user);
    }
    this.#tracks.hold(this.#call.me.held);
  }

  // Tells our session, and waits for theirs. A page that was loaded again greets anew.
  #greet(user) {
    const session = randomText();
    this.#greetings.set(user, session);
    this.#send(user, { hello: session });
  }

  #take(user, message) {
    if (!message || !this.#others().includes(user)) return;
    if (message.part) message = this.#gather(user, message);
    if (!message) return;
    if (message.hello) return this.#meet(user, message.hello, message.to);
    const peer = this.#peers.get(user);
    if (peer && message.to === peer.session && message.from === peer.theirs) peer.take(message);
  }

  #meet(user, theirs, to) {
    const known = this.#peers.get(user);
    if (known?.theirs === theirs) return;
    const own = this.#greetings.get(user);
    if (to && to !== own) return; // an answer to a greeting that is out of date
    this.#drop(user);
    this.#greetings.delete(user);
    const peer = new Peer(theirs, this.#isBefore(user), this.#hostOf(user, () => peer));
    if (own) peer.session = own;
    this.#peers.set(user, peer);
    if (!to) this.#send(user, { hello: peer.session, to: theirs });
  }

  /** The caller is before everybody, then who was invited first. */
  #isBefore(user) {
    const order = this.#call.participants.map((one) => one.user);
    return order.indexOf(this.#call.me.user) < order.indexOf(user);
  }

  #hostOf(user, peer) {
    return {
      configuration: () => this.#configuration(),
      tracks: () => this.#tracks.all(),
      send: (message) => this.#send(user, {
        ...message, from: peer().session, to: peer().theirs,
      }),
      receives: (tracks) => this.#receives(user, tracks),
      became: (state) => this.#became(user, state),
      renew: () => this.#renew(user),
      failed: () => this.#failed(user),
      error: (error) => this[tell]("error", error),
    };
  }

  async #configuration() {
    const { configuration } = this.#options;
    if (configuration) return configuration(this.#call);
    try {
      const { iceServers } = await this.#call.token();
      return { iceServers };
    } catch {
      return {}; // no plugin makes credentials: within one network none are needed
    }
  }

  #send(user, webrtc) {
    const text = JSON.stringify(webrtc);
    const count = Math.ceil(text.length / PART);
    if (count === 1) return this.#signal(user, webrtc);
    for (let index = 0; index < count; index++) {
      const part = text.slice(index * PART, (index + 1) * PART);
      this.#signal(user, { part, index, count });
    }
  }

  #signal(user, webrtc) {
    this.#call.signal({ webrtc }, { to: user }).catch((error) => {
      if (!this.#isStopped && !GONE.includes(error.code)) this[tell]("error", error);
    });
  }

  // Parts come in order; if one is missing the rest is of no use. What others send is bounded.
  #gather(user, { part, index, count }) {
    const parts = index === 0 ? [] : this.#parts.get(user) ?? [];
    this.#parts.set(user, parts);
    const isPart = typeof part === "string" && part.length <= PART;
    const isOneOf = index === parts.length && index < count && count <= PARTS_MAX;
    if (!isPart || !isOneOf) return null;
    return parts.push(part) === count ? JSON.parse(parts.join("")) : null;
  }

  // One stream for camera and microphone, one for the screen; each is told when it has changed.
  #receives(user, tracks) {
    const streams = this.#streams.get(user) ?? new Map();
    this.#streams.set(user, streams);
    for (const [kind, now] of Object.entries(tracks)) {
      const stream = streams.get(kind) ?? new MediaStream();
      const before = stream.getTracks();
      const added = now.filter((track) => !before.includes(track));
      const gone = before.filter((track) => !now.includes(track));
      for (const track of added) stream.addTrack(track);
      for (const track of gone) stream.removeTrack(track);
      if (added.length + gone.length === 0) continue;
      if (now.length > 0) streams.set(kind, stream);
      else streams.delete(kind);
      this[tell]("remote", user, now.length > 0 ? stream : null, kind);
    }
  }

  #became(user, state) {
    this[tell]("state", user, state);
    const states = [...this.states.values()];
    const worst = states.find((one) => one === "failed" || one === "disconnected");
    const all = worst ?? (states.every((one) => one === "connected") ? "connected" : null);
    const word = REPORTS[all];
    if (!word || word === this.#reported) return;
    this.#reported = word;
    this.#call.report(word).catch(() => {});
  }

  #renew(user) {
    this.#drop(user);
    this.#follow();
  }

  #failed(user) {
    if (this.#peers.get(user)?.state === "connected") return;
    this[tell]("state", user, "failed");
    if (this.#others().length === 1) this.#call.report("failed").catch(() => {});
  }

  #drop(user) {
    this.#peers.get(user)?.close();
    this.#peers.delete(user);
    const kinds = [...(this.#streams.get(user)?.keys() ?? [])];
    this.#streams.delete(user);
    for (const kind of kinds) this[tell]("remote", user, null, kind);
  }

  #trackChanged(purpose, track) {
    for (const peer of this.#peers.values()) peer.set(purpose, track);
    this[tell]("local", this.#tracks.stream);
  }

  #announce() {
    const flags = { audio: this.#tracks.isOn("audio"), video: this.#tracks.isOn("video") };
    this.#call.media(flags).catch(() => {});
  }
}
