// The call object of the wire, and what each event changes in it. Nothing is changed in place.

export const PENDING = ["inviting", "undelivered", "ringing"];
const LIVE = [...PENDING, "accepting", "joined"];
const DISMISSED = {
  "call.timed_out": "timed_out", "call.cancelled": "cancelled", "call.failed": "failed",
  "call.transferred": "left transferred", "call.removed": "left kicked",
};
const ELSEWHERE = { answered: "joined", rejected: "rejected", left: "left" };

export function participantOf({ participants }, user) {
  return participants.find((one) => one.user === user);
}

/** Whether the user still hears of this call. */
export function isLive(snapshot, user) {
  return snapshot.state !== "ended" && LIVE.includes(participantOf(snapshot, user)?.state);
}

/** Whether the event names somebody whom the snapshot does not know. */
export function namesStranger(snapshot, { data }) {
  return data.changes?.some(({ user }) => !participantOf(snapshot, user)) ?? false;
}

/** The snapshot after an event for `user`. */
export function after(snapshot, { event, data }, user) {
  const change = DISMISSED[event] ?? changes[event];
  const isOld = event !== "call.ended" && data.revision < snapshot.revision;
  if (!change || isOld) return snapshot;
  const next = { ...snapshot, revision: Math.max(data.revision, snapshot.revision) };
  const mark = (name, change) => {
    next.participants = next.participants.map((one) =>
      one.user === name ? { ...one, ...change } : one);
  };
  if (typeof change === "string") {
    const [state, reason = data.reason ?? null] = change.split(" ");
    mark(user, { state, reason });
  } else {
    change(next, data, mark, user);
  }
  return next;
}

const changes = {
  "call.changed": (next, { changes, actor, at }, mark) => {
    for (const { user, ...change } of changes) {
      const isIn = change.state === "joined";
      const before = participantOf(next, user);
      if (isIn) change.answered_at = before?.answered_at ?? at;
      if (isIn && actor.user === user) change.device = actor.device;
      mark(user, change);
      if (!isIn || next.state !== "ringing" || before?.role === "caller") continue;
      next.state = "active";
      next.answered_at = at;
    }
  },
  "call.ended": (next, { end, ended_at, duration_ms }) =>
    Object.assign(next, { state: "ended", end, ended_at, duration_ms }),
  "call.elsewhere": (next, { what, device }, mark, user) =>
    mark(user, { device, ...(ELSEWHERE[what] && { state: ELSEWHERE[what] }) }),
  "call.media_phase": (next, { media, at }) => {
    next.media = media;
    if (media === "connected") next.connected_at ??= at;
  },
  "call.media_flags": (next, { user, audio, video }, mark) => mark(user, { audio, video }),
  "call.hold": (next, { user, on }, mark) => mark(user, { held: on }),
  "call.items": (next, { items, deleted }) => {
    next.items = { ...next.items, ...items };
    for (const key of deleted) delete next.items[key];
  },
};
