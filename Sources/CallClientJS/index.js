// The client of callagent: a session that outlives lost connections, and the calls in it.
// index.d.ts says what everything is.

export { Agent } from "./inner/agent.js";
export { Call } from "./inner/call.js";
export {
  OfflineError, RefusedError, StoppedError, TimeoutError, Unauthorized,
} from "./inner/errors.js";
