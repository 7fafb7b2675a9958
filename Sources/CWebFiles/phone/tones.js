// Ring, ring-back and busy, made by the browser itself.

// `beats`: seconds of sound and of silence, again and again; `pitches` sound together.
const TONES = {
  ring: { pitches: [440, 554], beats: [0.4, 0.2, 0.4, 2], loudness: 0.25 },
  ringback: { pitches: [425], beats: [1, 4], loudness: 0.1 },
  busy: { pitches: [425], beats: [0.5, 0.5], loudness: 0.1 },
};
const PLANNED = 60; // seconds of beats that are planned at once

export class Tones {
  #context = null;
  #playing = null;
  #stop = () => {};

  /** To be called from a click, after which a browser lets a page sound. */
  allow() {
    const isFirst = !this.#context;
    this.#context ??= new AudioContext();
    this.#context.resume();
    if (!isFirst) return;
    const name = this.#playing; // wanted since before there was a click
    this.#playing = null;
    this.play(name);
  }

  /** Plays this tone until another one is wanted; null: silence. */
  play(name) {
    if (name === this.#playing) return;
    this.#stop();
    this.#playing = name;
    document.body.dataset.tone = name ?? "";
    if (name && this.#context) this.#stop = this.#sound(TONES[name], name);
  }

  #sound({ pitches, beats, loudness }, name) {
    const context = this.#context;
    const volume = new GainNode(context, { gain: 0 });
    volume.connect(context.destination);
    const sources = pitches.map((frequency) => new OscillatorNode(context, { frequency }));
    let time = context.currentTime;
    const end = time + PLANNED;
    for (let beat = 0; time < end; beat++) {
      volume.gain.setValueAtTime(beat % 2 === 0 ? loudness : 0, time);
      time += beats[beat % beats.length];
    }
    for (const source of sources) {
      source.connect(volume);
      source.start();
    }
    const again = setTimeout(() => {
      this.#playing = null;
      this.play(name);
    }, PLANNED * 1000);
    return () => {
      clearTimeout(again);
      for (const source of sources) source.stop();
      volume.disconnect();
      this.#stop = () => {};
    };
  }
}
