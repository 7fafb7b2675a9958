// The connection to one other participant: perfect negotiation, and what happens when it breaks.

import { alarm } from "./alarms.js";
import { randomText } from "./words.js";

const RESTART_AFTER = 2_000; // milliseconds after `disconnected`
const RESTART_TIME = 10_000; // a restart that brings nothing by then: a new peer
const GIVE_UP_AFTER = 30_000; // without media for so long: failed
const BROKEN = ["disconnected", "failed"]; // a relay that is away may be back
const GATHERING = 20; // candidates of so many milliseconds travel together

export class Peer {
  session = randomText();
  theirs; // the other side's session
  #host;
  #isFirst;
  #connection = null;
  #queue = Promise.resolve();
  #isIgnoring = false;
  #hasTracks = false;
  #candidates = [];
  #screen = null; // the part (mid) of the descriptions that is their screen
  #senders = new Map(); // by what a track is for: audio, video, screen
  #cancels = [];

  // Both sides know who is first: it makes the first offer and is impolite. The host has
  // `configuration()`, `tracks()` as [purpose, track], `send(message)`, `receives(tracks)` as
  // { camera: […], screen: […] }, `became(state)`, `renew()`, `failed()`, `error(error)`.
  constructor(theirs, isFirst, host) {
    this.theirs = theirs;
    this.#isFirst = isFirst;
    this.#host = host;
    this.#enqueue(() => this.#open());
  }

  get state() {
    return this.#connection?.connectionState ?? "new";
  }

  async #open() {
    const connection = new RTCPeerConnection(await this.#host.configuration());
    if (!this.#host) return connection.close();
    this.#connection = connection;
    connection.onicecandidate = ({ candidate }) => this.#gathered(candidate);
    connection.onconnectionstatechange = () => this.#became(connection.connectionState);
    connection.onnegotiationneeded = () => this.#enqueue(() => this.#offer());
    if (this.#isFirst) this.#addTracks();
    this.#later(GIVE_UP_AFTER, () => this.#host.failed());
  }

  // One thing after the other: descriptions and candidates count in the order in which they came.
  #enqueue(act) {
    this.#queue = this.#queue.then(() => this.#host && act()).catch((error) => {
      if (this.#host && !this.#isIgnoring) this.#host.error(error);
    });
  }

  async #offer() {
    if (!this.#hasTracks || this.#connection.signalingState !== "stable") return;
    await this.#connection.setLocalDescription();
    this.#describe();
  }

  #describe() {
    const sender = this.#senders.get("screen");
    const screen = sender?.track ? this.#partOf(sender).mid : null;
    this.#host.send({ description: this.#connection.localDescription, screen });
  }

  /** A message of the other side. */
  take({ description, candidates, screen }) {
    this.#enqueue(async () => {
      if (description) await this.#accept(description, screen);
      for (const candidate of candidates ?? []) {
        await this.#connection.addIceCandidate(candidate ?? undefined).catch((error) => {
          if (!this.#isIgnoring && candidate) throw error;
        });
      }
    });
  }

  async #accept(description, screen) {
    const isOffer = description.type === "offer";
    const collides = isOffer && this.#connection.signalingState !== "stable";
    this.#isIgnoring = collides && this.#isFirst;
    if (this.#isIgnoring) return;
    this.#screen = screen;
    await this.#connection.setRemoteDescription(description);
    if (isOffer) {
      if (!this.#hasTracks) this.#addTracks();
      await this.#connection.setLocalDescription();
      this.#describe();
    }
    this.#lookAtTheirs();
  }

  // What they send is told by the descriptions, as both sides have agreed.
  #lookAtTheirs() {
    const tracks = { camera: [], screen: [] };
    for (const { mid, currentDirection, receiver } of this.#connection.getTransceivers()) {
      if (!["sendrecv", "recvonly"].includes(currentDirection)) continue;
      tracks[mid === this.#screen ? "screen" : "camera"].push(receiver.track);
    }
    this.#host.receives(tracks);
  }

  #gathered(candidate) {
    if (this.#candidates.push(candidate) > 1) return;
    setTimeout(() => this.#host?.send({ candidates: this.#candidates.splice(0) }), GATHERING);
  }

  // Tracks

  #addTracks() {
    this.#hasTracks = true;
    const tracks = this.#host.tracks();
    for (const [purpose, track] of tracks) this.#set(purpose, track);
    // Who has no microphone can still listen.
    const speaks = tracks.some(([purpose]) => purpose === "audio");
    if (speaks || !this.#isFirst) return;
    this.#connection.addTransceiver("audio", { direction: "recvonly" });
  }

  /** Sends this track for the purpose from now on; null: none. */
  set(purpose, track) {
    this.#enqueue(() => this.#hasTracks && this.#set(purpose, track));
  }

  // A sender stays: with every new one the descriptions would grow.
  async #set(purpose, track) {
    const sender = this.#senders.get(purpose);
    if (!sender) {
      if (track) this.#senders.set(purpose, this.#connection.addTrack(track));
      return;
    }
    await sender.replaceTrack(track);
    const part = this.#partOf(sender);
    const isHeard = ["sendrecv", "recvonly"].includes(part.direction);
    if (track) part.direction = isHeard ? "sendrecv" : "sendonly";
    else part.direction = isHeard ? "recvonly" : "inactive";
  }

  #partOf(sender) {
    return this.#connection.getTransceivers().find((part) => part.sender === sender);
  }

  // Losses

  #became(state) {
    if (!this.#host) return;
    this.#host.became(state);
    if (state === "connected") {
      this.#cancelAll();
    } else if (state === "disconnected") {
      this.#later(RESTART_AFTER, () => this.restart());
      this.#later(GIVE_UP_AFTER, () => this.#host.failed());
    } else if (state === "failed") {
      this.restart();
    }
  }

  /** Looks for another way, with new credentials; again and again while there is none to try. */
  restart() {
    this.#enqueue(async () => {
      this.#connection.setConfiguration(await this.#host.configuration());
      this.#connection.restartIce();
      this.#later(RESTART_AFTER, () => {
        if (BROKEN.includes(this.#connection.iceConnectionState)) this.restart();
      });
      this.#later(RESTART_TIME, () => this.state !== "connected" && this.#host.renew());
    });
  }

  #later(pause, act) {
    this.#cancels.push(alarm(pause, () => this.#host && act()));
  }

  #cancelAll() {
    for (const cancel of this.#cancels.splice(0)) cancel();
  }

  close() {
    this.#cancelAll();
    this.#host = null;
    this.#connection?.close();
  }

  /** What WebRTC counts, for tests and for people who look for a fault. */
  stats() {
    return this.#connection.getStats();
  }
}
