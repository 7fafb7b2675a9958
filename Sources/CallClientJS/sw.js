// The service worker that rings when no page is open. Copy it to the app's own origin, or let the
// app's worker begin with `importScripts("callagent-sw.js")`. It needs what `enablePush` has kept.
"use strict";

(() => {
  const STORE = "callagent";
  // What is shown; `enablePush(agent, { words: { … } })` says it in the app's language.
  const WORDS = {
    accept: "Accept", reject: "Reject", missed: "Missed call", calls: "{name} calls",
    video: "{name} calls with video",
  };
  const RINGS = ["invite", "add"];

  // No page can be asked, so all is in a database.
  function kept() {
    return new Promise((resolve) => {
      const request = indexedDB.open(STORE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onerror = () => resolve(null);
      request.onsuccess = () => {
        const database = request.result;
        const reading = database.transaction(STORE).objectStore(STORE).get("push");
        reading.onerror = () => resolve(null);
        reading.onsuccess = () => resolve(reading.result ?? null);
        reading.transaction.oncomplete = () => database.close();
      };
    });
  }

  async function ask(mine, op, data) {
    if (!mine?.token) return false;
    const answer = await fetch(`${mine.url}/v1/${op.replaceAll(".", "/")}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${mine.token}`, "Content-Type": "application/json",
        "X-Device": mine.device, "Idempotency-Key": `${op} ${data.call_id ?? Date.now()}`,
      },
      body: JSON.stringify(data),
    }).catch(() => null);
    return Boolean(answer?.ok);
  }

  // Browsers punish pushes after which nothing is shown, so a call that is over is shown too.
  async function show(push) {
    const mine = await kept();
    if (mine?.user && push.user && push.user !== mine.user) return showPlain(push, WORDS);
    const words = { ...WORDS, ...mine?.words };
    if (!RINGS.includes(push.kind)) return over(push, words);
    const isLate = push.expires_at && Date.now() > push.expires_at;
    if (isLate) return showPlain(push, words);
    const name = push.title || push.caller;
    const line = push.call_kind === "video" ? words.video : words.calls;
    const actions = [
      { action: "accept", title: words.accept }, { action: "reject", title: words.reject },
    ];
    await self.registration.showNotification(line.replace("{name}", () => name), {
      body: push.body ?? "", tag: push.call_id, requireInteraction: true, renotify: true, actions,
      data: push, icon: mine?.icon, vibrate: [400, 200, 400, 200, 400],
    });
    await ask(mine, "call.ringing", { call_id: push.call_id });
  }

  async function over(push, words) {
    if (!push.call_id) return showPlain(push, words); // else it would be over for all
    const there = await self.registration.getNotifications({ tag: push.call_id });
    if (push.kind === "missed" || there.length === 0) return showPlain(push, words);
    for (const one of there) one.close();
  }

  function showPlain(push, words) {
    return self.registration.showNotification(words.missed, {
      body: push.title || push.caller || "", tag: push.call_id, data: push, silent: true,
    });
  }

  async function answer({ action, notification }) {
    const push = notification.data ?? {};
    notification.close();
    const mine = await kept();
    const call = { call_id: push.call_id };
    if (action === "reject" && (await ask(mine, "call.reject", call))) return;
    const verb = RINGS.includes(push.kind) && action ? `&${action}` : "";
    return openPage(mine?.page ?? "/", `#call=${push.call_id ?? ""}${verb}`);
  }

  // What was pressed last: a page that was opened for it asks. Its address does not tell a page
  // what to press, because anybody can make a link.
  let pressed = null;

  function tellPressed({ data, source }) {
    if (data?.callagent !== "pressed") return;
    if (pressed) source.postMessage({ callagent: pressed });
    pressed = null;
  }

  // A page that is open comes to the front; it knows of the call by its own connection.
  async function openPage(page, mark) {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const url = new URL(page + mark, self.location.href).href;
    const there = pages.find((one) => new URL(one.url).pathname === new URL(url).pathname);
    if (!there) {
      pressed = mark;
      return self.clients.openWindow(url);
    }
    there.postMessage({ callagent: mark });
    return there.focus();
  }

  // The browser has made another subscription, or ended the old one.
  async function renew({ newSubscription }) {
    const mine = await kept();
    if (!mine) return;
    const subscription = newSubscription ?? (await self.registration.pushManager.subscribe({
      userVisibleOnly: true, applicationServerKey: mine.key,
    }));
    const data = { provider: "web", subscription: subscription.toJSON() };
    await ask(mine, "device.push_register", data);
  }

  self.addEventListener("install", () => self.skipWaiting());
  self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener("message", tellPressed);
  // A push that cannot be read is shown nevertheless.
  function read({ data }) {
    try {
      return data.json() ?? {};
    } catch {
      return {};
    }
  }

  self.addEventListener("push", (event) => event.waitUntil(show(read(event))));
  self.addEventListener("notificationclick", (event) => event.waitUntil(answer(event)));
  self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));
})();
