// Voice and video of a call, from browser to browser.

import type { Call } from "./index.js";

/** What of somebody is seen or heard. */
export type StreamKind = "camera" | "screen";

export interface MediaOptions {
  /** A microphone: whether, or which; true by default. */
  audio?: boolean | MediaTrackConstraints;
  /** A camera likewise; by default if the call's kind is `video`. */
  video?: boolean | MediaTrackConstraints;
  /** What to send instead; the app ends it itself. */
  stream?: MediaStream;
  /** STUN and TURN servers, asked for before every attempt; else `call.token()` is asked. */
  configuration?: (call: Call) => Promise<RTCConfiguration> | RTCConfiguration;
}

export interface MediaDevices {
  microphones: MediaDeviceInfo[];
  cameras: MediaDeviceInfo[];
  speakers: MediaDeviceInfo[];
}

export interface MediaEvents {
  /** One's own stream has changed. */
  local: (stream: MediaStream) => void;
  /** Somebody is heard or seen: put the stream into an element; null: no longer. */
  remote: (user: string, stream: MediaStream | null, kind: StreamKind) => void;
  state: (user: string, state: RTCPeerConnectionState) => void;
  /** A device came or went. */
  devices: (devices: MediaDevices) => void;
  /** No microphone, no camera, or something that the connection refused. */
  error: (error: Error) => void;
  stopped: () => void;
}

export class Media {
  constructor(call: Call, options?: MediaOptions);
  on<Name extends keyof MediaEvents>(name: Name, listener: MediaEvents[Name]): () => void;
  /** Asks for the devices, and connects with everybody who is in the call. */
  start(): Promise<void>;
  /** Ends by itself with the call. */
  stop(): void;
  readonly localStream: MediaStream | null;
  readonly screenStream: MediaStream | null;
  readonly isMuted: boolean;
  readonly isCameraOn: boolean;
  readonly isSharing: boolean;
  readonly states: Map<string, RTCPeerConnectionState>;
  streams(user: string): Map<StreamKind, MediaStream>;
  stats(user: string): Promise<RTCStatsReport> | undefined;
  mute(isMuted?: boolean): Promise<void>;
  /** Asks for the camera, if there was none so far. */
  camera(isOn?: boolean): Promise<void>;
  /** Holds the call or goes on with it (mode `direct`): nothing is sent meanwhile. */
  hold(isOn?: boolean): Promise<void>;
  /** Other devices, by `deviceId`. A speaker is the element's: `element.setSinkId(id)`. */
  use(devices: { microphone?: string; camera?: string }): Promise<void>;
  devices(): Promise<MediaDevices>;
  /** Shows the screen beside the camera, until `unshare` or the browser's own button. */
  share(): Promise<MediaStream>;
  unshare(): void;
  /** Looks for other ways to everybody, with new credentials. */
  restart(): void;
}
