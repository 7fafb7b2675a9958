// Hooks for React 18 and newer. What they give changes only when something has changed.

import { useSyncExternalStore } from "react";

/** `{ state, user, isLeading, calls }` of an agent. */
export function useAgent(agent) {
  return useSyncExternalStore(agent.subscribe, agent.getSnapshot, agent.getSnapshot);
}

/** The live calls. */
export function useCalls(agent) {
  return useAgent(agent).calls;
}

/** The same call, rendered anew with each of its changes, also the last one. */
export function useCall(call) {
  useSyncExternalStore(
    (listener) => call?.on("changed", listener) ?? (() => {}), () => call?.snapshot,
    () => call?.snapshot);
  return call;
}
