// The client of a callagent server, in a browser or in Node 18 and newer.
//
// Names are camelCase, moments milliseconds since 1970, lengths of time milliseconds. What has the
// names of the wire (`snapshot`, `event.data`, `request`) is described in protocol.d.ts.

import type {
  CallObject, EndObject, ErrorCode, ErrorObject, Events, InviteeError, Operations,
  ParticipantReason, ParticipantState, Push,
} from "./protocol.js";

export * from "./protocol.js";

// Errors

/** The server said no. */
export class RefusedError extends Error {
  /** A word of the protocol, such as `busy`. */
  readonly code: ErrorCode;
  readonly detail: ErrorObject["detail"];
  /** Whether the same request may work later. */
  readonly retryable: boolean;
  /** Milliseconds until then. */
  readonly retryAfter: number | undefined;
}
/** Not answered in time. It may have been carried out nevertheless. */
export class TimeoutError extends Error {}
/** With `{ wait: false }`: there is no connection, or it was lost before the answer. */
export class OfflineError extends Error {}
/** The agent has stopped. */
export class StoppedError extends Error {
  readonly closeReason: CloseReason;
}
/** To be thrown by `token` when nobody is signed in any more: the agent stops. */
export class Unauthorized extends Error {}

// The agent

/** Why a token is asked for: none was asked for before; the connection was lost; the token is
 * about to end, or has ended; it was taken back. */
export type TokenReason = "first" | "again" | "expired" | "revoked";

/**
 * `offline`: not started. `connecting`: not yet connected. `reconnecting`: the connection was lost,
 * requests wait. `stopped`: for good.
 */
export type AgentState = "offline" | "connecting" | "online" | "reconnecting" | "stopped";

export interface CloseReason {
  /** The close code; 0: none, 1006: no close was heard. */
  readonly code: number;
  readonly reason: string;
  /** What the server said before it closed, or the app's `Unauthorized`. */
  readonly error?: ErrorObject | Error;
}

/** What remembers texts by name, such as `sessionStorage`. */
export interface AgentStorage {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

export interface AgentOptions {
  /** `https://HOST` or `wss://HOST/v1/ws`. */
  url: string;
  /** Gives a token. What it throws is told as `error` and tried again, except `Unauthorized`. */
  token: (reason: TokenReason) => Promise<string> | string;
  /** The device's name, 1 to 64 visible ASCII characters; else one is made and remembered. */
  device?: string;
  /** Where a reload finds the session; `sessionStorage` by default, null: nowhere. */
  storage?: AgentStorage | null;
  /** The WebSocket to use where there is none, such as that of the package `ws`. */
  WebSocket?: new (url: string, protocol: string) => any;
  /** Milliseconds after which a request is given up; 30,000 by default. */
  timeout?: number;
  /** Whether the tabs of one user are one device; true by default. */
  tabs?: boolean;
}

export interface RequestOptions {
  /** Gives the request up. */
  signal?: AbortSignal;
  /** Milliseconds; else the agent's. */
  timeout?: number;
  /** One's own idempotency key, to ask again after a reload; 1 to 64 bytes. */
  key?: string;
  /** False: fail with `OfflineError` instead of waiting for a connection. */
  wait?: boolean;
}

/** Text, or what JSON can say: it is sent as JSON. */
export type ExtendedData = unknown;

export interface InviteOptions {
  mode?: Operations["call.invite"]["data"]["mode"];
  /** `audio` (default), `video`, or a word of the app. */
  kind?: string;
  /** Ring time in milliseconds, 1,000 to 600,000. */
  timeout?: number;
  extendedData?: ExtendedData;
  deliveryCheck?: boolean | number;
  items?: { [name: string]: string };
  push?: Push;
  audio?: boolean;
  video?: boolean;
  signal?: AbortSignal;
  key?: string;
  wait?: boolean;
  /** Milliseconds within which the server must answer; else the agent's `timeout`. */
  within?: number;
}

export interface AgentEvents {
  state: (state: AgentState, closeReason: CloseReason | null) => void;
  /** Somebody calls. Ring if `call.rings`: of several tabs one does. */
  incoming: (call: Call) => void;
  /** A call is new, has changed or is over. */
  call: (call: Call, event?: CallEvent) => void;
  /** The user was called in vain; `count` calls in all were not seen yet. */
  missed: (call: Call, count: number) => void;
  /** No token could be had; it is tried again in `retryIn` milliseconds. */
  error: (error: Error, more: { retryIn: number }) => void;
  /** This tab leads now, and rings. */
  leading: () => void;
}

/** What changes with everything, for frameworks that render. */
export interface AgentView {
  readonly state: AgentState;
  readonly user: string | null;
  readonly isLeading: boolean;
  readonly calls: readonly Call[];
}

type DataOf<Op extends keyof Operations> = Operations[Op]["data"];

export class Agent {
  constructor(options: AgentOptions);
  readonly state: AgentState;
  /** Why the last connection ended. */
  readonly closeReason: CloseReason | null;
  readonly user: string | null;
  readonly device: string;
  /** `https://HOST` of the server. */
  readonly serverURL: string;
  /** Whether the last connection went on with the session: nothing was missed. */
  readonly isResumed: boolean;
  /** Whether this tab has the connection, and rings. */
  readonly isLeading: boolean;
  /** The live calls by id. */
  readonly calls: ReadonlyMap<string, Call>;
  /** The server's clock. */
  now(): number;
  /** Returns a function that ends it. */
  on<Name extends keyof AgentEvents>(name: Name, listener: AgentEvents[Name]): () => void;
  /** Resolves when online; rejects when the first token cannot be had, or when stopped. */
  start(): Promise<void>;
  /** `bye` logs the device out; else the server waits a while for it to come back. */
  stop(options?: { bye?: boolean }): Promise<void>;
  /** Calls people. An aborted invitation is cancelled, if it rings nevertheless. */
  invite(invitees: string[], options?: InviteOptions, more?: RequestOptions): Promise<Call>;
  /** Any operation of the protocol. */
  request<Op extends keyof Operations>(
    op: Op,
    ...more: {} extends DataOf<Op>
      ? [data?: DataOf<Op>, options?: RequestOptions]
      : [data: DataOf<Op>, options?: RequestOptions]
  ): Promise<Operations[Op]["ok"]>;
  /** For frameworks: calls `listener` after every change. */
  subscribe(listener: () => void): () => void;
  getSnapshot(): AgentView;
}

// Calls

export interface Participant {
  readonly user: string;
  readonly name?: string | null;
  readonly role: "caller" | "invitee" | "joiner";
  readonly invitedBy: string | null;
  readonly state: ParticipantState;
  readonly reason: ParticipantReason | null;
  readonly extendedData: unknown;
  readonly invitedAt: number;
  readonly deadlineAt: number | null;
  readonly answeredAt: number | null;
  readonly device: string | null;
  readonly audio: boolean;
  readonly video: boolean;
  readonly held: boolean;
}

export interface Outcome {
  readonly reason: EndObject["reason"];
  readonly detail: string | null;
  readonly by: string | null;
  readonly extendedData: unknown;
}

/** An event as the server told it. */
export type CallEvent = {
  [Name in keyof Events]: { event: Name; data: Events[Name]; seq: number };
}[keyof Events];

type Told<Name extends keyof Events> = (
  call: Call, event: { event: Name; data: Events[Name]; seq: number },
) => void;

export interface CallEvents {
  /** Something of it has changed; without an event an answer told it. */
  changed: (call: Call, event?: CallEvent) => void;
  /** It is over, for everybody or for this user; `outcome` and `me.state` say how. */
  ended: (call: Call, event?: CallEvent) => void;
  signal: Told<"call.signal">;
  /** `mediaPhase` has changed. */
  phase: Told<"call.media_phase">;
  /** Somebody switched audio or video. */
  flags: Told<"call.media_flags">;
  hold: Told<"call.hold">;
  items: Told<"call.items">;
  /** Another device of the user answered, rejected, took over or left. */
  elsewhere: Told<"call.elsewhere">;
  failed: Told<"call.failed">;
  transferred: Told<"call.transferred">;
  removed: Told<"call.removed">;
}

/** Methods resolve with the call when the server has done it, and reject like `request`. */
export class Call implements AsyncIterable<CallEvent> {
  private constructor();
  readonly agent: Agent;
  readonly id: string;
  readonly mode: string;
  readonly kind: string;
  readonly state: "ringing" | "active" | "ended";
  readonly caller: string;
  readonly participants: readonly Participant[];
  /** The user's own part. */
  readonly me: Participant | undefined;
  readonly others: readonly Participant[];
  /** Whether the user is asked: accept or reject. */
  readonly isPending: boolean;
  /** The same, in the one tab that should ring. */
  readonly rings: boolean;
  /** Whether this tab called, accepted or joined: voice belongs here. */
  readonly isHere: boolean;
  /** Whether it is over, for everybody or for this user alone. */
  readonly isEnded: boolean;
  /** Milliseconds since the first accept, until the end; 0 before it. */
  readonly duration: number;
  readonly outcome: Outcome | null;
  readonly mediaPhase: CallObject["media"];
  /** The named texts (`items`). */
  readonly values: { readonly [name: string]: string };
  /** Parsed where it is JSON, else text or null. */
  readonly extendedData: any;
  /** Who asked this user to take over, and with what words: the invitation has it. */
  readonly transferredBy?: { readonly by: string; readonly extendedData: any };
  readonly createdAt: number;
  readonly answeredAt: number | null;
  readonly connectedAt: number | null;
  readonly endedAt: number | null;
  readonly revision: number;
  /** The object of the wire; another one after every change. */
  readonly snapshot: Readonly<CallObject>;
  /** Whom an invitation of this tab could not be sent to. */
  readonly errors?: readonly InviteeError[];

  on<Name extends keyof CallEvents>(name: Name, listener: CallEvents[Name]): () => void;
  accept(
    options?: {
      extendedData?: ExtendedData; audio?: boolean; video?: boolean; holdActive?: boolean;
    },
    more?: RequestOptions): Promise<Call>;
  reject(
    options?: { reason?: "declined" | "busy"; extendedData?: ExtendedData },
    more?: RequestOptions): Promise<Call>;
  /** Resolves with those whose invitation could not be withdrawn. */
  cancel(
    options?: { users?: string[]; extendedData?: ExtendedData; push?: Push },
    more?: RequestOptions): Promise<InviteeError[]>;
  /** Resolves with those who could not be called. */
  add(
    invitees: string[], options?: { push?: Push }, more?: RequestOptions): Promise<InviteeError[]>;
  remove(users: string[], more?: RequestOptions): Promise<InviteeError[]>;
  /** Joins from outside, or moves the call to this device. */
  join(
    options?: { extendedData?: ExtendedData; audio?: boolean; video?: boolean },
    more?: RequestOptions): Promise<Call>;
  leave(
    options?: { extendedData?: ExtendedData; push?: Push }, more?: RequestOptions): Promise<Call>;
  end(
    options?: { extendedData?: ExtendedData; push?: Push }, more?: RequestOptions): Promise<Call>;
  transfer(
    to: string, options?: { extendedData?: ExtendedData; push?: Push },
    more?: RequestOptions): Promise<Call>;
  report(
    media: "connected" | "lost" | "recovered" | "failed", more?: RequestOptions): Promise<Call>;
  media(flags: { audio?: boolean; video?: boolean }, more?: RequestOptions): Promise<Call>;
  hold(on?: boolean, options?: { force?: boolean }, more?: RequestOptions): Promise<Call>;
  /** Sends any JSON to another participant, or to all who have joined. */
  signal(data: unknown, options?: { to?: string }, more?: RequestOptions): Promise<Call>;
  /** Resolves with all values after the change: clear, then delete, then put. */
  items(
    changes: { put?: { [name: string]: string }; delete?: string[]; clear?: boolean },
    more?: RequestOptions): Promise<{ [name: string]: string }>;
  /** Credentials of the media side, as the server's plugin makes them. */
  token(more?: RequestOptions): Promise<any>;
  /** What is told of the call from now on, until it is over. */
  [Symbol.asyncIterator](): AsyncIterator<CallEvent>;
}
