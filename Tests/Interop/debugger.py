"""An editor that debugs: debugpy's side of the protocol, and the protocol's schema as judge.

Whatever `callagent debug` sends is read by debugpy, and checked against the JSON schema of the
Debug Adapter Protocol that it brings along.
"""

import importlib.util
import json
import os
import pathlib
import queue
import subprocess
import threading

import jsonschema
from debugpy.common import messaging

PATIENCE = 60


def schema():
    """The protocol's definitions, from the files of debugpy."""
    root = pathlib.Path(importlib.util.find_spec("debugpy").origin).parent
    (found,) = root.rglob("debugProtocol.json")
    return json.loads(found.read_text())


SCHEMA = schema()
NAMES = SCHEMA["definitions"]


def judge(message):
    """Fails unless the message is what the protocol says."""
    kind = message["type"]
    if kind == "event":
        name = message["event"][0].upper() + message["event"][1:] + "Event"
        assert name in NAMES, f"no event of the protocol: {message}"
    elif message["success"]:
        name = message["command"][0].upper() + message["command"][1:] + "Response"
        assert name in NAMES, f"no answer of the protocol: {message}"
    else:
        name = "ErrorResponse"
    judged = {"$ref": f"#/definitions/{name}", "definitions": NAMES}
    jsonschema.Draft4Validator(judged).validate(message)


class JudgedStream(messaging.JsonIOStream):
    """A stream whose messages are judged; what is wrong is kept."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.wrong = []

    def read_json(self, decoder=None):
        message = super().read_json(decoder)
        try:
            judge(message)
        except (AssertionError, jsonschema.ValidationError) as error:
            self.wrong.append(error)
        return message


class Debugger:
    """One `callagent debug` and its editor."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [os.environ["CALLAGENT"], "debug", *arguments], cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.start()
        self.news = queue.Queue()
        self.events = []
        self.stream = JudgedStream.from_process(self.process, "callagent")
        self.channel = messaging.JsonMessageChannel(self.stream, self)
        self.channel.start()
        self.abilities = self.request(
            "initialize", adapterID="callagent", clientID="tests", linesStartAt1=True,
            columnsStartAt1=True, supportsVariablePaging=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self.channel.wait()
        assert not self.stream.wrong, self.stream.wrong

    def event(self, event):
        """Called by the channel."""
        self.events.append(event)
        self.news.put(event)

    def disconnect(self):
        """Called by the channel, when nothing more comes."""
        self.news.put(None)

    def request(self, command, **arguments):
        """The body of the answer."""
        return self.channel.request(command, arguments)

    def refusal(self, command, **arguments):
        """Why it was refused."""
        try:
            answer = self.channel.request(command, arguments)
        except messaging.MessageHandlingError as error:
            return str(error)
        raise AssertionError(answer)

    def launch(self, *, stops=(), **arguments):
        """Launches, with breakpoints as pairs of a source and a list; returns what came of them."""
        self.request("launch", **arguments)
        self.await_event("initialized")
        found = [self.request("setBreakpoints", source=source, breakpoints=points)["breakpoints"]
                 for source, points in stops]
        self.request("setExceptionBreakpoints", filters=["uncaught"])
        self.request("configurationDone")
        return found

    def await_event(self, *names):
        """The next event of one of these names."""
        while True:
            event = self.news.get(timeout=PATIENCE)
            assert event is not None, "it is gone: " + self.output()
            if event.event in names:
                return event

    def go(self, command):
        """Goes on with the thread that stands."""
        self.request(command, threadId=self.thread)

    def stop(self):
        """Waits until the script stands; returns the functions under way."""
        event = self.await_event("stopped", "terminated")
        assert event.event == "stopped", self.output()
        self.thread, self.reason = event.body["threadId"], event.body["reason"]
        self.frames = self.request("stackTrace", threadId=self.thread)["stackFrames"]
        self.frame = self.frames[0]["id"]
        return self.frames

    def line(self):
        """The same; where."""
        return self.stop()[0]["line"]

    def output(self):
        return "".join(e.body["output"] for e in self.events if e.event == "output")

    def scope(self, name):
        """The variables of a scope, by name."""
        scopes = self.request("scopes", frameId=self.frame)["scopes"]
        (found,) = [s for s in scopes if s["name"] == name]
        rows = self.request("variables", variablesReference=found["variablesReference"])
        return {row["name"]: row["value"] for row in rows["variables"]}

    def value(self, expression):
        return self.request("evaluate", expression=expression, frameId=self.frame)["result"]

    def end(self):
        """Goes on to the end; returns the exit codes of the run and of the process."""
        self.await_event("terminated")
        code = [e.body["exitCode"] for e in self.events if e.event == "exited"]
        self.request("disconnect")
        return code, self.process.wait(PATIENCE)
