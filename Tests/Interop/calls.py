"""Short ways to read and make calls."""


def invite(caller, *invitees, **data):
    """Places a call and returns its id."""
    ok = caller.ok("call.invite", invitees=list(invitees), **data)
    assert ok["errors"] == []
    return ok["call_id"]


def participant(call, user):
    (found,) = [one for one in call["participants"] if one["user"] == user]
    return found


def states(call):
    """`{user: state}` of a call."""
    return {one["user"]: one["state"] for one in call["participants"]}


def changes(event):
    """`{user: (state, reason)}` of a `call.changed`."""
    return {one["user"]: (one["state"], one["reason"]) for one in event["changes"]}


def ended(device):
    """Takes `call.ended` and returns its `(reason, detail)`."""
    event = device.event("call.ended")
    assert event["ended_at"] >= 1 and event["duration_ms"] >= 0
    return event["end"]["reason"], event["end"]["detail"]
