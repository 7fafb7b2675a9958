// The voice of one call: WebRTC between the two browsers, set up over call.signal.

export class Voice {
  #peer = new RTCPeerConnection(); // across networks: iceServers from call.token
  #send;
  #stream = null;
  #audio = new Audio();
  #early = []; // candidates that came before the description they belong to

  // `send(data)` signals to the other side, `report(media)` tells the server how it goes.
  constructor(send, report) {
    this.#send = send;
    this.#peer.onicecandidate = ({ candidate }) => candidate && send({ candidate });
    this.#peer.ontrack = ({ streams: [stream] }) => this.#play(stream);
    const words = { connected: "connected", disconnected: "lost", failed: "failed" };
    this.#peer.onconnectionstatechange = () => {
      const word = words[this.#peer.connectionState];
      if (word) report(word);
    };
  }

  // The caller offers as soon as the call is answered.
  async offer() {
    await this.#speak();
    await this.#peer.setLocalDescription();
    this.#send({ description: this.#peer.localDescription });
  }

  async take({ description, candidate }) {
    if (candidate && !this.#peer.remoteDescription) this.#early.push(candidate);
    else if (candidate) await this.#peer.addIceCandidate(candidate);
    else if (description) await this.#describe(description);
  }

  async #describe(description) {
    if (description.type === "offer") await this.#speak();
    await this.#peer.setRemoteDescription(description);
    for (const candidate of this.#early.splice(0)) await this.#peer.addIceCandidate(candidate);
    if (description.type !== "offer") return;
    await this.#peer.setLocalDescription();
    this.#send({ description: this.#peer.localDescription });
  }

  // Without a microphone, or on a page without https, one can still listen.
  async #speak() {
    try {
      this.#stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      for (const track of this.#stream.getTracks()) this.#peer.addTrack(track, this.#stream);
    } catch {
      this.#peer.addTransceiver("audio", { direction: "recvonly" });
    }
  }

  #play(stream) {
    this.#audio.srcObject = stream;
    this.#audio.play().catch(() => {}); // before the first click a browser may refuse
  }

  stop() {
    this.#peer.close();
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
  }
}
