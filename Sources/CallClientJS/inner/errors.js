// How a request may fail.

/** The server said no: `code` is a word of the protocol. */
export class RefusedError extends Error {
  /** @param {any} told */
  constructor({ code, message, detail = {}, retryable = false, retry_after_ms: pause }) {
    super(message);
    this.code = code;
    this.detail = detail;
    this.retryable = retryable;
    this.retryAfter = pause;
  }
  name = "RefusedError";
}

/** Not answered in time. It may have been carried out. */
export class TimeoutError extends Error {
  name = "TimeoutError";
}

/** With `{ wait: false }`: there is no connection, or it was lost before the answer. */
export class OfflineError extends Error {
  name = "OfflineError";
}

/** The agent has stopped; `closeReason` says why. */
export class StoppedError extends Error {
  constructor(closeReason) {
    super(`stopped: ${closeReason.reason || closeReason.code}`);
    this.closeReason = closeReason;
  }
  name = "StoppedError";
}

/** Thrown by the app's `token`: nobody is signed in any more, so the agent stops. */
export class Unauthorized extends Error {
  name = "Unauthorized";
}
