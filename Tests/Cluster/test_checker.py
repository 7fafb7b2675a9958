"""The checker finds each fault that is planted into a good history, and nothing in that one."""

import copy
import json

import pytest

from checker import check
from history import History, gaps, longest_silence

START = 1_800_000_000_000  # milliseconds


def somebody(user, state, role="invitee", answered=None, device=None, ends=None):
    return {"user": user, "role": role, "state": state, "invited_at": START, "device": device,
            "answered_at": answered, "deadline_at": ends, "reason": None}


def a_call(name, revision, state, people, end=None, ended=None, mark=None, items=None):
    return {"call_id": name, "revision": revision, "state": state, "caller": people[0]["user"],
            "participants": people, "end": end, "ended_at": ended, "timeout_ms": 2_000,
            "extended_data": mark, "items": items or {}}


def ann(state="joined"):
    return somebody("ann", state, "caller", START, "phone")


RINGS = a_call("c1", 1, "ringing", [ann(), somebody("bob", "inviting", ends=START + 2_000)],
               mark="ann 1")
TALKS = a_call("c1", 2, "active", [ann(), somebody("bob", "joined", answered=START + 500,
                                                   device="left")], mark="ann 1")
OVER = a_call("c1", 3, "ended", TALKS["participants"], {"reason": "completed"}, START + 900,
              "ann 1", {"k": "v"})
UNHEARD = a_call("c2", 1, "ringing", [ann(), somebody("carl", "inviting", ends=START + 2_000)],
                 mark="ann 2")
MISSED = a_call("c2", 2, "ended", [ann(), somebody("carl", "timed_out")],
                {"reason": "no_answer"}, START + 2_010, "ann 2")
REFUSED = a_call("c3", 2, "ended", [ann(), somebody("dora", "rejected")],
                 {"reason": "busy"}, START + 1_000, "ann 3")
LEFT = a_call("c4", 3, "active", [ann(), somebody("eve", "left", answered=START + 100)],
              mark="ann 4")
GLARE = [a_call(f"g{side}", 2, "ended", [somebody(caller, "joined", "caller"),
                                         somebody(callee, "cancelled")],
                {"reason": reason}, START + 50, f"glare pair 1 {caller}")
         for side, caller, callee, reason in (
             (1, "x", "y", "cancelled"), (2, "y", "x", "busy"))]


class Tale:
    """Writes a history down."""

    def __init__(self):
        self.history = History()
        self.numbers = {}

    def put(self, at, what, **more):
        self.history.records.append({"t": START / 1_000 + at, "what": what} | more)

    def hello(self, at, user, session, resumed=False, seq=0, device="phone", calls=()):
        self.put(at, "hello", user=user, device=device, node="a", session=session, seq=seq,
                 resumed=resumed, calls=list(calls), server_time=START + at * 1_000)

    def asked(self, at, user, key, op, data, ok=None, error=None, device="phone"):
        number = len(self.history.records)
        self.put(at, "ask", n=number, user=user, device=device, node="a", key=key, op=op, data=data)
        body = {"ok": ok} if ok is not None else {"error": {"code": error}}
        self.put(at + 0.01, "reply", n=number, body=json.dumps(body))

    def event(self, at, user, session, seq, event, data, device="phone"):
        self.put(at, "event", user=user, device=device, session=session,
                 body={"seq": seq, "event": event, "data": {"at": START + at * 1_000} | data})


def good():
    """A history without a fault, with its truth."""
    tale = Tale()
    tale.hello(-1, "ann", "s1")
    tale.hello(-1, "bob", "s2", device="left")
    tale.asked(0, "ann", "k1", "call.invite", {"invitees": ["bob"]},
               {"call_id": "c1", "call": RINGS})
    tale.asked(0, "ann", "k2", "call.invite", {"invitees": ["carl"]},
               {"call_id": "c2", "call": UNHEARD})
    tale.asked(0, "ann", "k3", "call.invite", {"invitees": ["dora"]}, error="unavailable")
    tale.asked(0.1, "ann", "k3", "call.invite", {"invitees": ["dora"]}, {"call_id": "c3"})
    tale.asked(0.1, "dora", "k4", "call.reject", {"call_id": "c3"}, {"call": REFUSED})
    tale.asked(0.1, "eve", "k5", "call.leave", {"call_id": "c4"}, {"call": LEFT})
    tale.event(0.1, "bob", "s2", 1, "call.incoming",
               {"call_id": "c1", "revision": 1, "call": RINGS}, "left")
    tale.asked(0.5, "bob", "k6", "call.accept", {"call_id": "c1"}, {"call": TALKS}, device="left")
    tale.asked(0.5, "bob", "k7", "call.accept", {"call_id": "c1"}, error="already_answered",
               device="right")
    tale.event(0.5, "ann", "s1", 1, "call.changed", {"call_id": "c1", "revision": 2, "changes": []})
    tale.put(0.6, "fault", name="kill", node="a")
    tale.put(0.6, "closed", user="bob", device="left", node="a", code=4001)
    tale.hello(0.7, "bob", "s2", resumed=True, seq=1, device="left")
    tale.asked(0.7, "ann", "k8", "call.items", {"call_id": "c1", "put": {"k": "v"}}, {"items": {}})
    tale.put(0.8, "healed", name="kill", node="a")
    tale.asked(0.9, "ann", "k9", "call.end", {"call_id": "c1"}, {"call": OVER})
    done = {"call_id": "c1", "revision": 3, "end": OVER["end"], "ended_at": OVER["ended_at"]}
    tale.event(0.9, "ann", "s1", 2, "call.ended", done)
    tale.event(0.9, "bob", "s2", 2, "call.ended", done, "left")
    tale.event(2.01, "ann", "s1", 3, "call.ended", {
        "call_id": "c2", "revision": 2, "end": MISSED["end"], "ended_at": MISSED["ended_at"]})
    tale.event(1, "ann", "s1", 4, "call.ended", {
        "call_id": "c3", "revision": 2, "end": REFUSED["end"], "ended_at": REFUSED["ended_at"]})
    calls = {one["call_id"]: one for one in (OVER, MISSED, REFUSED, LEFT, *GLARE)}
    truth = {"calls": copy.deepcopy(calls), "views": [copy.deepcopy(OVER)], "operator": ["c4"],
             "live": {"c4": (2, 12.0)},
             "ended": {"c1": (2, 11.0), "c2": (2, 12.5), "c3": (1, 9.0), "g1": (1, 8.0),
                       "g2": (1, 8.0)},
             "terms": {0: None, 1: 5.0, 2: 10.0}, "at": START + 60_000, "peace_ms": 100,
             "takeover_ms": 5_500}
    return tale.history, truth


def events_of(history, user):
    return [one for one in history.of("event") if one["user"] == user]


def reply_to(history, key):
    numbers = [one["n"] for one in history.of("ask") if one["key"] == key]
    return next(one for one in history.of("reply") if one["n"] == numbers[-1])


def a_call_is_gone(history, truth):
    for place in ("calls", "ended"):
        del truth[place]["c3"]


def an_answer_is_gone(history, truth):
    truth["calls"]["c1"]["participants"][1]["answered_at"] = None


def an_end_is_gone(history, truth):
    truth["calls"]["c1"] |= {"state": "active", "end": None, "ended_at": None}
    truth["live"]["c1"] = truth["ended"].pop("c1")
    truth["operator"].append("c1")


def a_rejection_is_gone(history, truth):
    truth["calls"]["c3"]["participants"][1]["state"] = "ringing"


def an_item_is_gone(history, truth):
    truth["calls"]["c1"]["items"] = {}


def a_leaving_is_gone(history, truth):
    truth["calls"]["c4"]["participants"][1]["state"] = "joined"


def a_newer_revision_was_told(history, truth):
    truth["calls"]["c4"]["revision"] = 2


def two_effects_of_a_key(history, truth):
    truth["calls"]["c9"] = REFUSED | {"call_id": "c9"}
    truth["ended"]["c9"] = (1, 9.0)


def two_replies_to_a_key(history, truth):
    again = dict(next(one for one in history.of("ask") if one["key"] == "k7"), n=1_000)
    history.records += [again, {"t": again["t"], "what": "reply", "n": 1_000,
                                "body": '{"ok": {}}'}]


def an_event_is_missing(history, truth):
    history.records.remove(events_of(history, "ann")[1])


def an_event_comes_again_with_other_content(history, truth):
    again = copy.deepcopy(events_of(history, "ann")[0])
    again["body"]["data"]["revision"] = 7
    history.records.insert(history.records.index(events_of(history, "ann")[-1]), again)


def an_event_comes_before_an_older_one(history, truth):
    events_of(history, "ann")[1]["body"]["data"]["revision"] = 1


def a_resumed_session_skips(history, truth):
    history.of("hello")[-1]["seq"] = 4


def a_call_ends_twice_for_one_device(history, truth):
    again = copy.deepcopy(events_of(history, "ann")[-1])
    again["body"]["seq"] += 1
    history.records.append(again)


def a_call_has_two_ends(history, truth):
    events_of(history, "bob")[-1]["body"]["data"]["ended_at"] += 1


def nobody_was_told_of_an_end(history, truth):
    history.records.remove(events_of(history, "bob")[-1])


def a_deadline_comes_early(history, truth):
    for place in (truth["calls"]["c2"], events_of(history, "ann")[2]["body"]["data"]):
        place["ended_at"] = START + 1_990


def a_deadline_comes_late(history, truth):
    for place in (truth["calls"]["c2"], events_of(history, "ann")[2]["body"]["data"]):
        place["ended_at"] = START + 2_000 + 5_600


def a_deadline_comes_late_in_peace(history, truth):
    history.records = [one for one in history.records if one["what"] != "fault"]
    for place in (truth["calls"]["c2"], events_of(history, "ann")[2]["body"]["data"]):
        place["ended_at"] = START + 2_000 + 101


def a_deadline_is_forgotten(history, truth):
    truth["calls"]["c4"]["participants"].append(
        somebody("fred", "ringing", ends=START + 2_000))


def both_devices_win(history, truth):
    reply_to(history, "k7")["body"] = json.dumps({"ok": {}})


def the_other_device_is_written_down(history, truth):
    for call in (truth["calls"]["c1"], truth["views"][0]):
        call["participants"][1]["device"] = "right"


def both_calls_of_a_glare_get_through(history, truth):
    truth["calls"]["g2"]["end"] = {"reason": "cancelled"}


def no_call_of_a_glare_gets_through(history, truth):
    truth["calls"]["g1"]["end"] = {"reason": "busy"}


def an_old_epoch_commits(history, truth):
    truth["ended"]["c3"] = (1, 10.1)


def an_epoch_that_nobody_began(history, truth):
    truth["live"]["c4"] = (3, 12.0)


def two_minds_about_a_revision(history, truth):
    truth["views"][0]["extended_data"] = "other"


def a_row_is_in_the_wrong_table(history, truth):
    truth["live"]["c1"] = truth["ended"].pop("c1")


def an_operator_is_shown_less(history, truth):
    truth["operator"] = []


FAULTS = {
    a_call_is_gone: "lost", an_answer_is_gone: "lost", an_end_is_gone: "lost",
    a_rejection_is_gone: "lost", an_item_is_gone: "lost", a_leaving_is_gone: "lost",
    a_newer_revision_was_told: "lost", two_effects_of_a_key: "key", two_replies_to_a_key: "key",
    an_event_is_missing: "order", an_event_comes_again_with_other_content: "order",
    an_event_comes_before_an_older_one: "order", a_resumed_session_skips: "order",
    a_call_ends_twice_for_one_device: "end", a_call_has_two_ends: "end",
    nobody_was_told_of_an_end: "told", a_deadline_comes_early: "deadline",
    a_deadline_comes_late: "late", a_deadline_comes_late_in_peace: "late",
    a_deadline_is_forgotten: "deadline", both_devices_win: "accept",
    the_other_device_is_written_down: "accept", both_calls_of_a_glare_get_through: "glare",
    no_call_of_a_glare_gets_through: "glare", an_old_epoch_commits: "fence",
    an_epoch_that_nobody_began: "fence", two_minds_about_a_revision: "minds",
    a_row_is_in_the_wrong_table: "tables", an_operator_is_shown_less: "tables",
}


def test_a_good_history_has_no_violation():
    assert check(*good()) == []


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant):
    history, truth = good()
    plant(history, truth)
    assert FAULTS[plant] in {violation.rule for violation in check(history, truth)}


def test_gaps_are_counted_from_the_fault_to_what_was_asked_after_it():
    history, _ = good()
    (fault,) = history.of("fault")
    (gap,) = gaps(history, [fault])
    assert gap == pytest.approx(0.11, abs=0.001)
    assert gaps(history, [fault | {"since": fault["t"] + 10}]) == [None]
    begin = START / 1_000
    assert longest_silence(history, begin + 0.51, begin + 0.92) == pytest.approx(0.2, abs=0.001)
    assert longest_silence(history, begin, begin + 0.92) == pytest.approx(0.4, abs=0.001)
