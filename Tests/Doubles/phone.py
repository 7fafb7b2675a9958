"""Phones that are woken by a push and then ask the server for the truth."""

import json
import threading
import urllib.error
import urllib.request


class Phones:
    """Each phone belongs to a device token and treats its pushes by a plan.

    The command {"do": "phone", "token": …, "api": "http://…", "bearer": …, "device": …,
    "plan": [{"delay": 0.3}, {"drop": true}, {"copies": 2}], "act": "accept"} makes one: the first
    push is handled by the first entry of the plan and so on, later ones at once. Whoever wakes asks
    GET /v1/call/ID and then, if the push announced the call and the call was found, does "act".
    {"do": "phone", "log": true} tells what all phones saw since the last time.
    """

    def __init__(self):
        self.phones = {}
        self.log = []
        self.lock = threading.Lock()

    def command(self, command):
        if "token" in command:
            self.phones[command["token"]] = dict(command, plan=list(command.get("plan", [])))
            return {}
        with self.lock:
            log, self.log = self.log, []
        return {"log": log}

    def deliver(self, token, payload):
        phone = self.phones.get(token)
        if phone is None or payload is None:
            return
        treatment = phone["plan"].pop(0) if phone["plan"] else {}
        if treatment.get("drop"):
            return
        for _ in range(treatment.get("copies", 1)):
            timer = threading.Timer(treatment.get("delay", 0), self.wake, (phone, payload))
            timer.daemon = True
            timer.start()

    def wake(self, phone, payload):
        pushed = payload.get("data", payload)
        entry = {"token": phone["token"], "kind": pushed.get("kind"),
                 "call_id": pushed.get("call_id")}
        status, call = self.ask(phone, "GET", "/v1/call/" + str(entry["call_id"]))
        entry["status"], entry["state"] = status, call.get("call", {}).get("state")
        if phone.get("act") and pushed.get("kind") in ("invite", "add") and status == 200:
            path = "/v1/call/" + phone["act"]
            entry["act"], _ = self.ask(phone, "POST", path, {"call_id": entry["call_id"]})
        with self.lock:
            self.log.append(entry)

    def ask(self, phone, method, path, body=None):
        request = urllib.request.Request(
            phone["api"] + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": "Bearer " + phone["bearer"],
                     "x-device": phone.get("device", "phone"),
                     "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, {}
        except OSError as error:
            return str(error), {}
