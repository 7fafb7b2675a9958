// So that a call rings while no page is open: a subscription, and what the worker needs to answer.

import { RefusedError } from "./inner/errors.js";
import { keep, kept } from "./inner/worker-data.js";
import { scriptURL } from "./inner/trusted.js";
import { randomText } from "./inner/words.js";

/** Whether this browser can be woken at all. */
export function canPush() {
  return Boolean(globalThis.navigator?.serviceWorker && globalThis.PushManager
    && globalThis.Notification);
}

/**
 * Registers this browser for pushes. To be called from a click: the browser asks its user.
 * `token` is what the worker answers with, and should live for as long as pushes are wanted.
 */
export async function enablePush(agent, /** @type {any} */ options = {}) {
  const { worker = "/sw.js", page = "/", token, ...names } = options;
  if (!canPush()) throw new Error("this browser cannot be woken by pushes");
  if ((await Notification.requestPermission()) !== "granted") {
    throw new Error("notifications are not allowed");
  }
  const registration = await navigator.serviceWorker.register(scriptURL(worker));
  await navigator.serviceWorker.ready;
  const key = await publicKey(agent.serverURL);
  const subscription = await subscribe(registration, key);
  const where = { url: agent.serverURL, user: agent.user, device: agent.device, page, key };
  await keep({ ...where, ...names, token: token ?? null });
  const data = { provider: "web", subscription: subscription.toJSON() };
  await agent.request("device.push_register", data);
  return registration;
}

/** A newer token for the worker. */
export async function renewPushToken(token) {
  await keep({ ...(await kept()), token });
}

/** To be called before the user signs out. */
export async function disablePush(agent) {
  await agent.request("device.push_unregister", { provider: "web" });
  await keep(null);
  const registration = await navigator.serviceWorker?.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  await subscription?.unsubscribe();
}

/** An operation over HTTP, for who has no session: `{ url, token, device }` say who asks. */
export async function ask({ url, token, device }, op, data = {}, /** @type {any} */ more = {}) {
  const { key, signal } = more;
  const answer = await fetch(`${url}/v1/${op.replaceAll(".", "/")}`, {
    method: "POST",
    signal,
    headers: {
      Authorization: `Bearer ${token}`, "Content-Type": "application/json",
      "Idempotency-Key": key ?? randomText(), ...(device && { "X-Device": device }),
    },
    body: JSON.stringify(data),
  });
  const told = await answer.json();
  if (answer.ok) return told;
  throw new RefusedError(told.error ?? { code: told.code, message: told.detail });
}

async function publicKey(url) {
  const answer = await fetch(`${url}/v1/push/web-key`);
  if (!answer.ok) throw new Error("the server sends no pushes to browsers");
  return (await answer.json()).key;
}

// One for another key is of no use.
async function subscribe({ pushManager }, key) {
  const before = await pushManager.getSubscription();
  if (before && textOf(before.options?.applicationServerKey) !== key) await before.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

function textOf(buffer) {
  const text = btoa(String.fromCharCode(...new Uint8Array(buffer ?? [])));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
