// Hooks for React 18 and newer.

import type { Agent, AgentView, Call } from "./index.js";

/** What an agent is like now. */
export function useAgent(agent: Agent): AgentView;
/** The live calls. */
export function useCalls(agent: Agent): readonly Call[];
/** The same call, rendered anew with each of its changes, also the last one. */
export function useCall<Given extends Call | null | undefined>(call: Given): Given;
