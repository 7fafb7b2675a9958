// The protocol `callagent.v1.json`, with the names of the wire. Moments (`…_at`) are milliseconds
// since 1970, durations (`…_ms`) milliseconds. A newer server may say words that are not here.

// <!-- generated: protocol -->
export type CallID = string;

export type UserName = string;

export type Items = { [name: string]: string };

export type Media =
  | "none"
  | "establishing"
  | "connected"
  | "reconnecting"
  | (string & {});

export type ParticipantState =
  | "inviting"
  | "undelivered"
  | "ringing"
  | "accepting"
  | "joined"
  | "rejected"
  | "cancelled"
  | "timed_out"
  | "left"
  | "failed"
  | (string & {});

export type ParticipantReason =
  | "declined"
  | "busy"
  | "by_inviter"
  | "whole"
  | "caller_lost"
  | "forwarded"
  | "taken"
  | "self"
  | "lost"
  | "kicked"
  | "idle"
  | "transferred"
  | "offline"
  | "no_ack"
  | "expired"
  | "caller_offline"
  | "accept_unacked"
  | "dial_failed"
  | "accept_failed"
  | (string & {});

export type ErrorCode =
  | "bad_request"
  | "unsupported"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "not_invited"
  | "not_inviter"
  | "already_answered"
  | "already_joined"
  | "already_primary"
  | "call_ended"
  | "expired"
  | "cancelled"
  | "wrong_mode"
  | "wrong_state"
  | "busy"
  | "self_call"
  | "too_many"
  | "too_large"
  | "key_reused"
  | "rate_limited"
  | "refused"
  | "unavailable"
  | "internal"
  | (string & {});

export type Actor = {
  user: UserName;
  device: UserName;
} | {
  policy: string;
} | {
  timer:
    | "ring"
    | "check"
    | "no_ack"
    | "expire"
    | "connect"
    | "reconnect"
    | "idle"
    | "presence"
    | "accept_ack"
    | "max_age"
    | "decide"
    | "wait"
    | "for"
    | (string & {});
};

export type Push = {
  title?: string;
  body?: string;
  payload?: string;
};

export type Resume = {
  session: string;
  /** the last event that arrived */
  seq: number;
};

export type CallObject = {
  call_id: CallID;
  mode: string;
  kind: string;
  state: "ringing" | "active" | "ended" | (string & {});
  caller: UserName;
  /** the group that was called */
  receiver: UserName | null;
  extended_data: string | null;
  items: { [name: string]: string };
  created_at: number;
  /** first accept or join */
  answered_at: number | null;
  /** first moment with all media */
  connected_at: number | null;
  ended_at: number | null;
  /** from the first accept to the end, 0: never answered; null: not ended */
  duration_ms: number | null;
  /** ring time */
  timeout_ms: number;
  /** grows with every change */
  revision: number;
  media: Media;
  end: EndObject | null;
  participants: ParticipantObject[];
};

export type ParticipantObject = {
  user: UserName;
  role: "caller" | "invitee" | "joiner" | (string & {});
  invited_by: UserName | null;
  state: ParticipantState;
  reason: ParticipantReason | null;
  extended_data: string | null;
  invited_at: number;
  /** end of the ring time */
  deadline_at: number | null;
  answered_at: number | null;
  /** the device in the call */
  device: UserName | null;
  audio: boolean;
  video: boolean;
  held: boolean;
  /** what the user is called */
  name: string | null;
};

export type EndObject = {
  reason:
    | "completed"
    | "not_connected"
    | "cancelled"
    | "rejected"
    | "busy"
    | "no_answer"
    | "settled"
    | "peer_offline"
    | "peer_no_ack"
    | "expired"
    | "connect_timeout"
    | "connection_lost"
    | "dial_failed"
    | "accept_failed"
    | "last_left"
    | "idle"
    | "policy"
    | (string & {});
  /** one of the examples; with policy any code */
  detail: string | null;
  by: UserName | null;
  extended_data: string | null;
};

export type Change = {
  user: UserName;
  state: ParticipantState;
  reason: ParticipantReason | null;
  extended_data: string | null;
};

export type Transfer = {
  /** whose place to take */
  by: UserName;
  extended_data: string | null;
};

export type InviteeError = {
  user: UserName;
  code:
    | "unknown_user"
    | "already_in_call"
    | "duplicate"
    | "too_many"
    | "blocked"
    | "self"
    | "refused"
    | "already_answered"
    | "not_invited"
    | "not_inviter"
    | "wrong_state"
    | (string & {});
};

export type NamedUser = {
  user: UserName;
  name: string | null;
};

export type ErrorObject = {
  code: ErrorCode;
  /** for a person */
  message: string;
  retryable: boolean;
  /** with retryable */
  retry_after_ms?: number;
  detail: {
    /** path of the bad field */
    field?: string;
    /** a plugin's or a rule's word */
    code?: string;
    /** the call with which the user is busy */
    call_id?: CallID;
    errors?: InviteeError[];
  };
};

export type Limits = {
  message_bytes: number;
  extended_data_bytes: number;
  /** of one operation */
  invitees: number;
  /** of one call */
  participants: number;
  /** idempotency keys kept for a user */
  keys: number;
  /** the same for the mode of this name */
  group?: {
    invitees: number;
    participants: number;
  };
};

export type Mode = {
  name: string;
  /** of one operation */
  invitees: number;
  /** of one call */
  participants: number;
  media: boolean;
  leave: boolean;
  hold: boolean;
  items: boolean;
  /** who may */
  add:
    | "nobody"
    | "caller"
    | "everybody"
    | (string & {});
  /** who may */
  join:
    | "nobody"
    | "caller"
    | "everybody"
    | (string & {});
  /** who may */
  end:
    | "nobody"
    | "caller"
    | "everybody"
    | (string & {});
  /** who may */
  remove:
    | "nobody"
    | "caller"
    | "everybody"
    | (string & {});
  /** who may */
  transfer:
    | "nobody"
    | "caller"
    | "everybody"
    | (string & {});
};

/** What may be asked, and what is answered. */
export interface Operations {
  /** Calls people. */
  "call.invite": {
    data: {
      /** whom to call */
      invitees: UserName[];
      /** how the call behaves; absent: advanced, unless the operator says otherwise */
      mode?:
        | "common"
        | "advanced"
        | "managed"
        | "direct"
        | "ringing"
        | "group"
        | "handshake"
        | (string & {});
      /** audio, video, or the app's own word; call.list: only those */
      kind?: string;
      /** ring time; 0: the mode's own */
      timeout_ms?: 0 | number;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** report invitees whose devices stay silent so long; true: 5 s */
      delivery_check?: boolean | number;
      /** named texts to begin with */
      items?: Items;
      /** what a push notification shows: three texts */
      push?: Push;
      /** whether this device sends it */
      audio?: boolean;
      /** whether this device sends it */
      video?: boolean;
    };
    ok: {
      call_id: CallID;
      call: CallObject;
      errors: InviteeError[];
    };
  };
  /** This device shows the call. */
  "call.ringing": {
    data: {
      call_id: CallID;
    };
    ok: Record<string, never>;
  };
  /** Takes the call on this device. */
  "call.accept": {
    data: {
      call_id: CallID;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** whether this device sends it */
      audio?: boolean;
      /** whether this device sends it */
      video?: boolean;
      /** hold the other calls instead of ending them */
      hold_active?: boolean;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Says no. */
  "call.reject": {
    data: {
      call_id: CallID;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** declined unless said otherwise */
      reason?: "declined" | "busy";
    };
    ok: {
      call: CallObject;
    };
  };
  /** Withdraws invitations. */
  "call.cancel": {
    data: {
      call_id: CallID;
      /** whom it is about; call.cancel without or with none: all who are invited */
      users?: UserName[];
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** what a push notification shows: three texts */
      push?: Push;
    };
    ok: {
      call: CallObject;
      errors: InviteeError[];
    };
  };
  /** Ends the call for everybody. */
  "call.end": {
    data: {
      call_id: CallID;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** what a push notification shows: three texts */
      push?: Push;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Sends data to other participants. */
  "call.signal": {
    data: {
      call_id: CallID;
      /** any JSON, forwarded byte for byte, at most 16 KiB */
      data: unknown;
      /** one user; call.signal without it: all other joined ones */
      to?: UserName;
    };
    ok: Record<string, never>;
  };
  /** Leaves the call. */
  "call.leave": {
    data: {
      call_id: CallID;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** what a push notification shows: three texts */
      push?: Push;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Joins from outside, or moves the call to this device. */
  "call.join": {
    data: {
      call_id: CallID;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** whether this device sends it */
      audio?: boolean;
      /** whether this device sends it */
      video?: boolean;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Calls more people into a call. */
  "call.add": {
    data: {
      call_id: CallID;
      /** whom to call */
      invitees: UserName[];
      /** what a push notification shows: three texts */
      push?: Push;
    };
    ok: {
      call: CallObject;
      errors: InviteeError[];
    };
  };
  /** Asks that somebody else takes the user's place. */
  "call.transfer": {
    data: {
      call_id: CallID;
      /** one user; call.signal without it: all other joined ones */
      to: UserName;
      /** opaque to the server; counted in UTF-8 bytes */
      extended_data?: string;
      /** what a push notification shows: three texts */
      push?: Push;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Sends people out of the call. */
  "call.remove": {
    data: {
      call_id: CallID;
      /** whom it is about; call.cancel without or with none: all who are invited */
      users: UserName[];
    };
    ok: {
      call: CallObject;
      errors: InviteeError[];
    };
  };
  /** Confirms that an accept arrived (mode handshake). */
  "call.accept_ack": {
    data: {
      call_id: CallID;
      /** call.accept_ack: whose accept is acknowledged; user.set: who is meant */
      user: UserName;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Tells what became of this device's media. */
  "call.report": {
    data: {
      call_id: CallID;
      /** what became of this device's media */
      media:
        | "connected"
        | "lost"
        | "recovered"
        | "failed";
    };
    ok: Record<string, never>;
  };
  /** Switches audio or video. */
  "call.media": {
    data: {
      call_id: CallID;
      /** whether this device sends it */
      audio?: boolean;
      /** whether this device sends it */
      video?: boolean;
    };
    ok: Record<string, never>;
  };
  /** Holds the call or goes on with it. */
  "call.hold": {
    data: {
      call_id: CallID;
      on: boolean;
      /** end the calls that are in the way */
      force?: boolean;
    };
    ok: Record<string, never>;
  };
  /** Changes the call's named texts. */
  "call.items": {
    data: {
      call_id: CallID;
      /** texts to set, after delete */
      put?: Items;
      /** keys to remove, after clear */
      delete?: string[];
      /** remove all first */
      clear?: boolean;
    };
    ok: {
      items: { [name: string]: string };
      /** all that were touched */
      keys: string[];
    };
  };
  /** Shows a call. */
  "call.get": {
    data: {
      call_id: CallID;
    };
    ok: {
      call: CallObject;
    };
  };
  /** Lists the user's calls. */
  "call.list": {
    data: {
      /** audio, video, or the app's own word; call.list: only those */
      kind?: string;
      /** calls of a page; more than 100 count as 100; absent: 20 */
      limit?: number;
      /** from the page before */
      cursor?: string;
      /** only calls in this state */
      state?: "ringing" | "active" | "ended";
      /** only calls in which the user has this role */
      role?: "caller" | "invitee" | "joiner";
      /** only calls that ended for one of these */
      end_reasons?: Array<
        | "completed"
        | "not_connected"
        | "cancelled"
        | "rejected"
        | "busy"
        | "no_answer"
        | "settled"
        | "peer_offline"
        | "peer_no_ack"
        | "expired"
        | "connect_timeout"
        | "connection_lost"
        | "dial_failed"
        | "accept_failed"
        | "last_left"
        | "idle"
        | "policy">;
      /** only calls with this user */
      peer?: UserName;
      /** only calls created then or later */
      since_at?: number;
      /** only calls created before then */
      until_at?: number;
    };
    ok: {
      /** newest first */
      calls: CallObject[];
      /** null with the last page */
      cursor: string | null;
    };
  };
  /** Asks for credentials of the media side. */
  "call.token": {
    data: {
      call_id: CallID;
    };
    ok: {
      /** made by a plugin */
      token: object;
    };
  };
  /** Says who the client is; the first message of a connection. */
  "hello": {
    data: {
      /** hello: who the user is; else the push service's token */
      token: string;
      /** which device of the user this is */
      device: UserName;
      /** the session to go on with */
      resume?: Resume;
      /** whether to hear of missed calls */
      missed?: boolean;
      /** what the user is called; hello: with development tokens only */
      name?: string;
    };
    ok: {
      user: UserName;
      device: UserName;
      /** to resume by */
      session: string;
      /** whether the missed events follow */
      resumed: boolean;
      server_time_at: number;
      ping_interval_ms: number;
      resume_window_ms: number;
      limits: Limits;
      server: string;
      /** what calls may be, and who may do what */
      modes: Mode[];
      /** live ones, newest first */
      calls: CallObject[];
      /** the rest is for call.list */
      calls_more?: boolean;
    };
  };
  /** Asks whether the server is there. */
  "ping": {
    data: Record<string, never>;
    ok: Record<string, never>;
  };
  /** Logs this device out. */
  "bye": {
    data: Record<string, never>;
    ok: Record<string, never>;
  };
  /** Registers this device for push notifications. */
  "device.push_register": {
    data: {
      /** the push service */
      provider:
        | "apns"
        | "apns_voip"
        | "fcm"
        | "web"
        | "webhook";
      /** hello: who the user is; else the push service's token */
      token?: string;
      /** instead of a token: a Web Push subscription */
      subscription?: object;
      /** of the push service */
      environment?: "production" | "sandbox";
    };
    ok: Record<string, never>;
  };
  /** Takes a push registration back. */
  "device.push_unregister": {
    data: {
      /** the push service */
      provider:
        | "apns"
        | "apns_voip"
        | "fcm"
        | "web"
        | "webhook";
    };
    ok: Record<string, never>;
  };
  /** Tells what people are called. */
  "user.get": {
    data: {
      /** whom it is about; call.cancel without or with none: all who are invited */
      users: UserName[];
    };
    ok: {
      /** in the order in which they came */
      users: NamedUser[];
      errors: InviteeError[];
    };
  };
  /** Says what a user is called. */
  "user.set": {
    data: {
      /** call.accept_ack: whose accept is acknowledged; user.set: who is meant */
      user: UserName;
      /** what the user is called; hello: with development tokens only */
      name: string;
    };
    ok: Record<string, never>;
  };
}

/** What is told, by the name of the event. */
export interface Events {
  /** To the caller's other devices: the call exists. */
  "call.created": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    call: CallObject;
  };
  /** To an invitee: somebody calls. */
  "call.incoming": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    call: CallObject;
    inviter: UserName;
    /** null: no ring time runs yet */
    expires_in_ms: number | null;
    /** whose place to take */
    transfer?: Transfer;
    /** what the inviter is called */
    inviter_name: string | null;
  };
  /** Participants have new states. */
  "call.changed": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    changes: Change[];
  };
  /** To an invitee: the ring time is over. */
  "call.timed_out": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
  };
  /** To an invitee: the invitation was withdrawn. */
  "call.cancelled": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    inviter: UserName | null;
    extended_data: string | null;
    reason: ParticipantReason;
  };
  /** The call is over; its last event. */
  "call.ended": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    end: EndObject;
    ended_at: number;
    /** 0: never answered */
    duration_ms: number;
  };
  /** Another device of the same user answered, rejected, took over or left. */
  "call.elsewhere": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    what:
      | "answered"
      | "rejected"
      | "replaced"
      | "left"
      | (string & {});
    device: UserName | null;
  };
  /** To who transferred the call, and has left it. */
  "call.transferred": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    /** who has taken it */
    to: UserName;
  };
  /** To who was sent out of the call. */
  "call.removed": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    by: UserName;
  };
  /** To a device: its part of the call failed. */
  "call.failed": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    reason: ParticipantReason;
  };
  /** How far the media is. */
  "call.media_phase": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    media: Media;
  };
  /** Somebody switched audio or video. */
  "call.media_flags": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    user: UserName;
    audio: boolean;
    video: boolean;
  };
  /** Somebody holds the call or goes on with it. */
  "call.hold": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    user: UserName;
    on: boolean;
  };
  /** The named texts changed. */
  "call.items": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    keys: string[];
    deleted: string[];
    items: { [name: string]: string };
  };
  /** Data from another participant. */
  "call.signal": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    from: UserName;
    data: unknown;
  };
  /** To a device that connects: the user was called in vain. */
  "call.missed": {
    call_id: CallID;
    revision: number;
    at: number;
    actor: Actor;
    call: CallObject;
    /** missed calls not acknowledged yet */
    missed: number;
  };
}
// <!-- end of protocol -->
