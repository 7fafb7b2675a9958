// What the protocol says, as people say it.

const STATES = {
  inviting: "is being called", undelivered: "may be offline", ringing: "it rings there",
  accepting: "accepts", joined: "in the call", rejected: "rejected", cancelled: "no longer called",
  timed_out: "did not answer", left: "has left", failed: "could not be reached",
};
const REASONS = {
  busy: "is busy", forwarded: "forwarded the call", transferred: "has transferred the call",
  kicked: "was sent out", lost: "lost the connection", offline: "is offline",
};
const OUTCOMES = {
  completed: "ended", not_connected: "ended: no connection came up", cancelled: "cancelled",
  rejected: "rejected", busy: "busy", no_answer: "no answer", settled: "ended",
  peer_offline: "not reachable", peer_no_ack: "not reachable", expired: "no answer",
  connect_timeout: "ended: no connection came up",
  connection_lost: "ended: the connection was lost",
  dial_failed: "could not be called", accept_failed: "could not be answered",
  last_left: "ended: everybody has left", idle: "ended: alone for too long",
  policy: "refused by the server",
};
const TROUBLES = {
  self: "that is you", duplicate: "is there twice", unknown_user: "nobody has this name",
  too_many: "is one too many", already_in_call: "is in the call already",
  refused: "does not take this call", blocked: "does not take this call",
  already_answered: "has answered already", not_invited: "is not called",
  not_inviter: "was called by somebody else", rate_limited: "was called too often, wait a while",
};
const MEDIA = {
  new: "connecting …", connecting: "connecting …", connected: "connected",
  disconnected: "interrupted …", failed: "no connection", closed: "",
};

export function nameOf({ name, user }) {
  return name ?? user;
}

export function stateOf({ state, reason, held }) {
  const text = REASONS[reason] ?? STATES[state] ?? state;
  return held ? `${text}, holds the call` : text;
}

export function mediaOf(state) {
  return MEDIA[state] ?? "";
}

const OWN = {
  transferred: "you have handed the call over", kicked: "you were sent out",
  taken: "somebody else has answered", forwarded: "was forwarded",
  busy: "you said that you are busy", declined: "you have rejected it",
};

/** Whether somebody called this user in vain. */
export function isMissed({ me }) {
  return me?.role !== "caller" && ["cancelled", "timed_out"].includes(me?.state)
    && !(me.reason in OWN);
}

export function outcomeOf(call) {
  const { outcome, me } = call;
  if (isMissed(call)) return "missed";
  if (me?.reason in OWN) return OWN[me.reason];
  if (outcome) return OUTCOMES[outcome.reason] ?? outcome.reason;
  return me ? stateOf(me) : "over";
}

/** `1:05`, of milliseconds. */
export function lengthOf(time) {
  const seconds = Math.floor(time / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** `bob, carol` and `bob carol` as a list. */
export function peopleIn(text) {
  return text.split(/[\s,;]+/).filter(Boolean);
}

/** What somebody is told of an error. */
export function troubleOf({ name, code, message, detail }) {
  if (name === "TimeoutError") return "The server does not answer. Try again.";
  const errors = detail?.errors?.map(({ user, code }) => `${user}: ${TROUBLES[code] ?? code}`);
  return errors?.length ? errors.join(", ") : `${message}${code ? ` (${code})` : ""}`;
}
