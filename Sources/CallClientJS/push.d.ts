// Pushes to a browser, so that a call rings while no page is open; and operations over HTTP.

import type { Agent, Operations } from "./index.js";

/** Whether this browser can be woken at all. */
export function canPush(): boolean;

export interface PushOptions {
  /** Where the app serves sw.js; `/sw.js` by default. */
  worker?: string;
  /**
   * The page that a click opens, with `#call=ID`; `/` by default. The button that was pressed is
   * told in a message of the worker only, because anybody can make a link.
   */
  page?: string;
  /** What the worker answers with while no page is open; without one it can only open the page. */
  token?: string;
  /** A picture in the notification. */
  icon?: string;
  /** The words of the notification; `{name}` stands for who calls. */
  words?: {
    accept?: string; reject?: string; missed?: string; calls?: string; video?: string;
  };
}

/** Registers this browser. To be called from a click: the browser asks its user. */
export function enablePush(agent: Agent, options?: PushOptions): Promise<ServiceWorkerRegistration>;
/** A newer token for the worker. */
export function renewPushToken(token: string): Promise<void>;
/** To be called before the user signs out. */
export function disablePush(agent: Agent): Promise<void>;

/** An operation over HTTP, for who has no session; rejects with `RefusedError`. */
export function ask<Op extends Exclude<keyof Operations, "hello" | "ping">>(
  who: { url: string; token: string; device?: string },
  op: Op,
  data?: Operations[Op]["data"],
  options?: { key?: string; signal?: AbortSignal },
): Promise<Operations[Op]["ok"]>;
