"""Holds what clients were told against what the servers say in the end. Pure: no server is asked.

`check(history, truth)` gives violations, each with the name of its rule. The truth is a dictionary:
`calls` {id: call object}, `views` (the same calls as other nodes and users show them), `operator`
(ids of calls that live, as an operator is shown them), `live` and `ended` (rows of the database:
{id: (epoch, moment of the commit)}), `terms` ({epoch: moment of the commit of the takeover}), `at`
(milliseconds), `peace_ms` and `takeover_ms` (how late a deadline may be).
"""

import collections
import json

from history import CHANGING, UNKNOWN, parsed

PENDING = {"inviting", "ringing", "undelivered"}
FINAL = {"rejected", "cancelled", "timed_out", "left", "failed"}
# An acknowledged request of a participant leaves this of it; a later end changes nothing of it.
LEAVES = {"call.reject": {"rejected"}, "call.leave": {"left"}}
AFTER_A_FAULT = 6_000  # milliseconds that a fault lasts on, for deadlines

Violation = collections.namedtuple("Violation", "rule text")


def check(history, truth):
    """All violations, by the rules in order."""
    story = Story(history, truth)
    return [violation for rule in RULES for violation in rule(story, truth)]


class Story:
    """The history, sorted by what the rules ask for."""

    def __init__(self, history, truth):
        self.history = history
        self.asks = {one["n"]: one for one in history.of("ask")}
        self.replies = [(self.asks[one["n"]], parsed(one["body"])) for one in history.of("reply")]
        self.acknowledged = [(ask, body["ok"]) for ask, body in self.replies if "ok" in body]
        self.events = [(one, parsed(one["body"])) for one in history.of("event")]
        self.faults = list(self.windows())
        self.views = list(self.every_view(truth))

    def windows(self):
        """When something was broken, in milliseconds."""
        open_ = {}
        for one in self.history.of("fault", "healed"):
            key, at = (one["name"], one["node"]), one["t"] * 1_000
            if one["what"] == "fault":
                open_[key] = at
            elif key in open_:
                yield open_.pop(key), at + AFTER_A_FAULT
        for at in open_.values():
            yield at, float("inf")

    def every_view(self, truth):
        """All call objects that anybody was shown."""
        for ask, ok in self.acknowledged:
            if "call" in ok:
                yield ask["user"], ok["call"]
        for one in self.history.of("hello"):
            yield from ((one["user"], call) for call in parsed(one["calls"]))
        for one, event in self.events:
            if "call" in event["data"]:
                yield one["user"], event["data"]["call"]
        yield from (("the end", call) for call in truth["views"])


def part(call, user):
    return next((one for one in call["participants"] if one["user"] == user), None)


def nothing_acknowledged_is_lost(story, truth):
    for user, view in story.views:
        call = truth["calls"].get(view["call_id"])
        if call is None:
            yield Violation("lost", f"{user} was shown {view['call_id']}, which is not there")
        else:
            yield from went_back(user, view, call)
    for ask, ok in story.acknowledged:
        call = truth["calls"].get(ask["data"].get("call_id") or ok.get("call_id"))
        if call is None:
            yield Violation("lost", f"{ask['key']}: {ask['op']} of a call that is not there")
        else:
            yield from undone(ask, call)


def went_back(user, view, call):
    """What a call object showed may go on, but not go back."""
    name = f"{call['call_id']} as {user} saw it"
    if view["revision"] > call["revision"]:
        yield Violation("lost", f"{name}: revision {view['revision']}, is {call['revision']}")
    if view["state"] == "ended" and call["state"] != "ended":
        yield Violation("lost", f"{name}: had ended, is {call['state']}")
    for one in view["participants"]:
        now = part(call, one["user"])
        if now is None or (one["answered_at"] and one["answered_at"] != now["answered_at"]):
            yield Violation("lost", f"{name}: {one['user']} had answered, now {now}")
        elif one["state"] in FINAL and one["state"] != now["state"]:
            yield Violation("lost", f"{name}: {one['user']} was {one['state']}, now {now['state']}")


def undone(ask, call):
    """The effect of an acknowledged request is there."""
    name = f"{ask['key']}: {ask['op']} of {call['call_id']} was acknowledged"
    if ask["op"] == "call.end" and call["state"] != "ended":
        yield Violation("lost", f"{name}, which is {call['state']}")
    one = part(call, ask["user"])
    if ask["op"] == "call.accept" and not (one and one["answered_at"]):
        yield Violation("lost", f"{name}, but {one}")
    if ask["op"] in LEAVES and (one is None or one["state"] not in LEAVES[ask["op"]]):
        yield Violation("lost", f"{name}, but {one}")
    if ask["op"] == "call.items":
        for key in ask["data"]["put"]:
            if key not in call["items"]:
                yield Violation("lost", f"{name}, but {key} is not in {call['items']}")


def one_key_has_one_effect_and_one_reply(story, truth):
    first = {}
    for ask, body in story.replies:
        answer = settled(body) if ask["op"] in CHANGING else None
        if answer and first.setdefault((ask["user"], ask["key"]), answer) != answer:
            yield Violation("key", f"{ask['key']}: {first[ask['user'], ask['key']]}, then {answer}")
    made = collections.Counter(call["extended_data"] for call in truth["calls"].values())
    for mark, count in made.items():
        if mark and count > 1:
            yield Violation("key", f"the invitation '{mark}' made {count} calls")


def settled(body):
    """An answer as it must be again under its key; None for one that says nothing."""
    if "ok" in body:
        return json.dumps(body["ok"], sort_keys=True)
    code = body["error"]["code"]
    return None if code in UNKNOWN or code == "bad_request" else code


def events_come_in_order(story, _):
    last, seen, revisions = {}, {}, {}
    for one in story.history.records:
        if one["what"] == "hello":
            place = (one["user"], one["device"], one["session"])
            if not one["resumed"]:
                last[place] = 0
            elif place in last and last[place] != one["seq"]:
                yield Violation("order", f"{place} goes on at {one['seq']} after {last[place]}")
        if one["what"] != "event":
            continue
        place, event = (one["user"], one["device"], one["session"]), parsed(one["body"])
        number, text = event["seq"], json.dumps(event, sort_keys=True)
        if number <= last.get(place, 0):
            if seen.get((place, number)) != text:
                yield Violation("order", f"{place}: {number} came twice, with other content")
            continue
        if number != last.get(place, 0) + 1:
            yield Violation("order", f"{place}: {number} after {last.get(place, 0)}")
        last[place], seen[place, number] = number, text
        call, revision = event["data"]["call_id"], event["data"]["revision"]
        if revision < revisions.get((place, call), 0):
            yield Violation("order", f"{place}: revision {revision} of {call} came late")
        revisions[place, call] = revision


def no_call_ends_twice(story, truth):
    ends, told = {}, collections.defaultdict(set)
    for _, view in [*story.views, *(("", call) for call in truth["calls"].values())]:
        if view["end"] is not None:
            text = json.dumps([view["end"], view["ended_at"]], sort_keys=True)
            if ends.setdefault(view["call_id"], text) != text:
                yield Violation("end", f"{view['call_id']}: {ends[view['call_id']]} and {text}")
    for one, event in story.events:
        if event["event"] != "call.ended":
            continue
        data = event["data"]
        text = json.dumps([data["end"], data["ended_at"]], sort_keys=True)
        if ends.setdefault(data["call_id"], text) != text:
            yield Violation("end", f"{data['call_id']}: {ends[data['call_id']]} and {text}")
        place = (one["user"], one["device"], data["call_id"])
        told[place].add((one["session"], event["seq"]))
        if len(told[place]) == 2:
            yield Violation("end", f"{place[:2]} was told twice that {place[2]} ended")


def whoever_stayed_was_told(story, truth):
    """A session that lives to the end has heard of the end of each call that its user was in."""
    begun, alive, heard = {}, {}, collections.defaultdict(set)
    for one in story.history.records:
        if one["what"] == "hello":
            place = (one["user"], one["device"])
            alive[place] = one["session"]
            if not one["resumed"]:
                begun[one["session"]] = one["server_time"]
        elif one["what"] == "closed":
            alive.pop((one["user"], one["device"]), None)
    for one, event in story.events:
        if event["event"] == "call.ended":
            heard[one["session"]].add(event["data"]["call_id"])
    for (user, device), session in alive.items():
        for call in truth["calls"].values():
            if call["state"] != "ended" or call["ended_at"] <= begun.get(session, float("inf")):
                continue
            one = part(call, user)
            if one and one["state"] == "joined" and call["call_id"] not in heard[session]:
                yield Violation("told", f"{user}/{device} never heard that {call['call_id']} ended")


def deadline(call, one):
    """When somebody's ringing is over. What is not written down any more was told when it began."""
    return one["deadline_at"] or one["invited_at"] + call["timeout_ms"]


def lateness(story, truth):
    """(call, deadline, milliseconds late) of everything that timed out."""
    calls = truth["calls"]
    for one, event in story.events:
        call = calls.get(event["data"]["call_id"])
        mine = call and part(call, one["user"])
        if mine and event["event"] == "call.timed_out":
            due = deadline(call, mine)
            yield call["call_id"], due, event["data"]["at"] - due
    for call in calls.values():
        due = [deadline(call, one) for one in call["participants"] if one["state"] == "timed_out"]
        if due and call["end"] and call["end"]["reason"] == "no_answer":
            yield call["call_id"], max(due), call["ended_at"] - max(due)


def is_broken(story, moment):
    """Whether something was broken then."""
    return any(begin <= moment <= end for begin, end in story.faults)


def deadlines_are_kept(story, truth):
    def bound(due):
        return truth["takeover_ms" if is_broken(story, due) else "peace_ms"]

    for name, due, late in lateness(story, truth):
        if late < 0:
            yield Violation("deadline", f"{name} timed out {-late} ms too early")
        elif late > bound(due):
            yield Violation("late", f"{name} timed out {late} ms late")
    for call in truth["calls"].values():
        for one in call["participants"]:
            over = truth["at"] - (one["deadline_at"] or truth["at"])
            if one["state"] in PENDING and over > truth["takeover_ms"]:
                yield Violation("deadline", f"{call['call_id']}: {one['user']} rings {over} ms on")


def one_device_accepts(story, truth):
    won = collections.defaultdict(dict)
    for ask, _ in story.acknowledged:
        if ask["op"] == "call.accept":
            won[ask["data"]["call_id"], ask["user"]][ask["key"]] = ask["device"]
    for (name, user), keys in won.items():
        if len(keys) > 1:
            yield Violation("accept", f"{user} accepted {name} by {sorted(keys)}")
        one = part(truth["calls"][name], user) if name in truth["calls"] else None
        if one and one["device"] not in keys.values():
            yield Violation("accept", f"{user} won {name} by {keys}, it says {one['device']}")


def of_two_who_call_each_other_one_gets_through(_, truth):
    tries = collections.defaultdict(list)
    for call in truth["calls"].values():
        if (call["extended_data"] or "").startswith("glare "):
            tries[call["extended_data"].rsplit(" ", 1)[0]].append(call)
    for name, calls in tries.items():
        through = [one for one in calls if not (one["end"] and one["end"]["reason"] == "busy")]
        # The other one is refused, or its call ends as soon as it is made.
        if len(through) != 1:
            yield Violation("glare", f"{name}: {len(calls)} calls, {len(through)} got through")


def no_old_epoch_commits_after_a_newer_one(_, truth):
    begun = sorted(truth["terms"].items())
    for table in ("live", "ended"):
        for name, (epoch, at) in truth[table].items():
            later = next((term for term in begun if term[0] > epoch), None)
            if later and at is not None and later[1] is not None and at > later[1]:
                yield Violation("fence", f"{name} of epoch {epoch} was written {at - later[1]:.3f} "
                                f"s after epoch {later[0]} began")
            if epoch not in truth["terms"]:
                yield Violation("fence", f"{name} is of epoch {epoch}, which nobody began")


def one_revision_has_one_content(story, truth):
    known = {}
    for user, view in [("the end", call) for call in truth["calls"].values()] + story.views:
        text = json.dumps(view, sort_keys=True)
        key = (view["call_id"], view["revision"])
        if known.setdefault(key, text) != text:
            yield Violation("minds", f"{key}, {user}:\n{known[key]}\n{text}")


def tables_and_answers_agree(_, truth):
    shown = {name: call["state"] == "ended" for name, call in truth["calls"].items()}
    stored = dict.fromkeys(truth["live"], False) | dict.fromkeys(truth["ended"], True)
    for name in shown.keys() | stored.keys():
        if shown.get(name) != stored.get(name):
            yield Violation("tables", f"{name}: is over: {shown.get(name)}, "
                            f"in the tables: {stored.get(name)}")
    for name in set(truth["live"]) & set(truth["ended"]):
        yield Violation("tables", f"{name} lives and has ended")
    for name in set(truth["operator"]) ^ {name for name, over in shown.items() if not over}:
        yield Violation("tables", f"an operator is shown another state of {name}")


RULES = (
    nothing_acknowledged_is_lost, one_key_has_one_effect_and_one_reply, events_come_in_order,
    no_call_ends_twice, whoever_stayed_was_told, deadlines_are_kept, one_device_accepts,
    of_two_who_call_each_other_one_gets_through, no_old_epoch_commits_after_a_newer_one,
    one_revision_has_one_content, tables_and_answers_agree)
