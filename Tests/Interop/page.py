"""A page with the JavaScript client and nothing else."""

import json

from agent import wait_for

# `news` has all that the client tells; `ask` says what came of a request, be it an error.
SCRIPT = """
(async () => {
  %(before)s;
  const module = await import("%(site)s/index.js");
  Object.assign(globalThis, module);
  globalThis.news = [];
  globalThis.agent = new Agent({ url: "%(url)s", token: %(token)s, ...%(options)s });
  const plain = (one) => one instanceof Call ? { ...one.snapshot, rings: one.rings }
    : one instanceof Error ? { name: one.name, message: one.message } : one;
  for (const name of ["state", "call", "incoming", "missed", "error"])
    agent.on(name, (...told) => news.push([name, ...told.map(plain)]));
  globalThis.outcome = (promise) => promise.then(
    (ok) => ["ok", plain(ok)],
    ({ name, code, message, detail }) => [code ?? name, message, detail]);
  globalThis.ask = (...request) => outcome(agent.request(...request));
  globalThis.call = () => [...agent.calls.values()][0];
  globalThis.started = agent.start().then(() => "online", ({ name, message }) => [name, message]);
  return 0;
})()
"""


class Page:
    """The client of one user in one tab."""

    def __init__(self, tab, site, url, token='async () => "dev:alice"', options=None, before=""):
        self.tab = tab
        self.script = SCRIPT % {
            "site": site, "url": url, "token": token, "before": before,
            "options": json.dumps(options or {})}
        self.begin()

    def begin(self):
        self.tab.loads()
        self.tab.evaluate(self.script)

    def reload(self):
        """Loads the page again, as a person does; its scripts begin anew."""
        self.tab.evaluate("globalThis.isOld = true")
        self.tab.evaluate("void setTimeout(() => location.reload())")
        wait_for("the new page", lambda: self.tab.evaluate(
            "!globalThis.isOld && document.readyState === 'complete'"))
        self.tab.evaluate(self.script)

    def news(self, name):
        """All that was told by this name."""
        return self.tab.evaluate(f"news.filter(([name]) => name === '{name}')")

    def told(self, name):
        return len(self.news(name))

    def tells(self, name, times=1):
        wait_for(f"{times} x {name}", lambda: self.told(name) >= times, patience=30, pause=0.05)

    def states(self):
        return [state for _, state, *_ in self.news("state")]

    def is_in(self, state, times=1):
        """Waits until the client was in this state so many times."""
        wait_for(f"{times} x {state}", lambda: self.states().count(state) >= times,
                 patience=30, pause=0.05)

    def holds(self, condition):
        wait_for(condition, lambda: self.tab.evaluate(condition), patience=30, pause=0.05)

    def ask(self, operation, data, options=None):
        return self.tab.evaluate(
            f"ask('{operation}', {json.dumps(data)}, {json.dumps(options or {})})")

    def outcome(self, promise):
        return self.tab.evaluate(f"outcome({promise})")
