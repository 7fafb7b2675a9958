// The page: one call at a time, in mode `direct`, where `end` is the red button of both sides.

const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:7600";
const user = location.hash.slice(1) || "alice";
addEventListener("hashchange", () => location.reload());

// The server has the client; an app of your own may also install it as a package.
const { Agent } = await import(`${server}/v1/client/index.js`);
const { Media } = await import(`${server}/v1/client/media.js`);

// `dev:` tokens are for a server without keys, on this machine. Else the page's own backend, which
// knows who is logged in, gives out a JWT: `async () => (await fetch("/call-token")).text()`.
const agent = new Agent({ url: server, token: () => `dev:${user}` });

let call = null; // the one on the screen
let isDialling = false;
const element = (id) => document.getElementById(id);

function show(text) {
  document.body.dataset.state = !call ? "idle" : call.isPending ? "incoming" : "busy";
  element("state").textContent = text;
  element("call").disabled = Boolean(call);
  element("accept").disabled = !call?.isPending;
  element("end").disabled = !call;
}

function take(one) {
  call = one;
  const other = call.others[0].user;
  call.on("phase", () => show(`with ${other}: ${call.mediaPhase}`));
  call.on("changed", () => {
    if (call.others[0].state === "ringing") show(`ringing at ${other}`);
  });
  call.on("ended", () => over(reasonOf(one)));
}

function rings() {
  return `${call.others[0].user} calls`;
}

function over(text) {
  call = null;
  show(text);
}

function reasonOf({ me, outcome }) {
  if (me.state === "timed_out") return "missed";
  if (me.state === "cancelled") return "the caller gave up";
  return outcome ? `ended: ${outcome.reason}` : `${me.state} on another device`;
}

function talk() {
  const media = new Media(call);
  const audio = new Audio();
  media.on("remote", (_, stream) => {
    audio.srcObject = stream;
    if (stream) audio.play().catch(() => {}); // before the first click a browser may refuse
  });
  return media.start();
}

// What is done about a call: if it fails, the page says why; how the call goes on, events tell.
async function attempt(promise) {
  try {
    return await promise;
  } catch (error) {
    show(error.message);
  }
}

agent.on("state", (state, why) => {
  if (state === "online") show(!call ? "ready" : call.isPending ? rings() : "connected again");
  if (state === "reconnecting") show("connection lost, trying again …");
  if (state === "stopped") over(`disconnected for good (${why.code || why.reason})`);
});
agent.on("error", (error) => show(`no token: ${error.message}; trying again …`));

agent.on("incoming", (one) => {
  if (isDialling || call) return void one.reject({ reason: "busy" }).catch(() => {});
  take(one);
  show(rings());
});

// The page was loaded again during a call, which is still there.
agent.on("call", (one) => {
  if (call || isDialling || one.isEnded || !one.isHere || one.isPending) return;
  take(one);
  show(`with ${one.others[0].user}: again`);
  talk();
});

element("user").textContent = user;

element("dial").onsubmit = async (event) => {
  event.preventDefault();
  isDialling = true;
  const one = await attempt(agent.invite([element("callee").value], { mode: "direct" }));
  isDialling = false;
  if (!one) return;
  if (one.isEnded) return show(reasonOf(one)); // it was decided at once
  take(one);
  show(`calling ${one.others[0].user} …`);
  talk();
};

element("accept").onclick = async () => {
  if (await attempt(call.accept())) talk();
};

element("end").onclick = () => {
  attempt(call.end());
};

show("connecting …");
attempt(agent.start());
