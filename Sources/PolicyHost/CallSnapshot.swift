// A call as handlers see it: written once per event, read field by field in Lua.

import CLua
import CallModel

/// What a snapshot is made of.
struct CallView {
    let call: Call
    let facts: [UserFacts]
    let now: Moment
    /// Whose invitation it is about.
    var callee: UserID?
    /// Who would see the data that is shaped.
    var receiver: UserID?
    /// For `on.dial`: the users to be invited.
    var invitees: [UserID]?

    /// What is known of `user`.
    func facts(of user: UserID) -> UserFacts {
        facts.first { $0.user == user } ?? UserFacts(user, calls: 0, devices: 0)
    }

    /// Time until the deadline of the invitation, or of the latest one.
    var remaining: Milliseconds {
        let deadline: Moment? =
            if let callee { call.participant(callee)?.deadlineAt } else {
                call.participants.compactMap(\.deadlineAt).max()
            }
        return deadline.map { max(0, $0 - now) } ?? 0
    }
}

extension PlainWriter {
    /// Writes a call as `PLAIN_CALL`.
    func call(_ view: CallView, modeName: String) {
        tag(PLAIN_CALL)
        let lengthPlace = count
        length(0)
        let start = count
        word(view.call.id.high)
        word(view.call.id.low)
        let table = count
        for _ in 0..<PLAIN_CALL_FIELDS { length(0) }
        fields(of: view, modeName: modeName) { setCount(count - start, at: table + 4 * $0) }
        setCount(count - start, at: lengthPlace)
    }

    /// Writes the values; `mark` is told before each which field it is.
    private func fields(of view: CallView, modeName: String, mark: (Int) -> Void) {
        let call = view.call
        mark(PLAIN_CALL_MODE)
        text(modeName)
        mark(PLAIN_CALL_KIND)
        text(call.kind)
        mark(PLAIN_CALL_CALLER)
        user(view.facts(of: call.caller))
        if let callee = view.callee {
            mark(PLAIN_CALL_CALLEE)
            user(view.facts(of: callee))
            if let inviter = call.participant(callee)?.invitedBy {
                mark(PLAIN_CALL_INVITER)
                user(view.facts(of: inviter))
            }
        }
        if let receiver = view.receiver {
            mark(PLAIN_CALL_RECEIVER)
            user(view.facts(of: receiver))
        }
        people(of: view, mark: mark)
        mark(PLAIN_CALL_TIMEOUT)
        seconds(call.ringTime)
        mark(PLAIN_CALL_REMAINING)
        seconds(view.remaining)
        if let data = view.extendedData {
            mark(PLAIN_CALL_EXTENDED_RAW)
            text(data)
        }
        if !call.items.isEmpty { mark(PLAIN_CALL_ITEMS) }
        if !call.items.isEmpty { items(call.items) }
        mark(PLAIN_CALL_GROUP)
        bool(call.isGroup)
    }

    private func people(of view: CallView, mark: (Int) -> Void) {
        mark(PLAIN_CALL_USERS)
        let live = view.call.participants.count { $0.state.isLive }
        list(live)
        for participant in view.call.participants where participant.state.isLive {
            user(view.facts(of: participant.user))
        }
        mark(PLAIN_CALL_INVITEES)
        if let invitees = view.invitees {
            list(invitees.count)
            for invitee in invitees { user(view.facts(of: invitee)) }
        } else {
            list(view.call.participants.count { $0.role == .invitee })
            for participant in view.call.participants where participant.role == .invitee {
                user(view.facts(of: participant.user))
            }
        }
    }

    private func items(_ items: [Call.Item]) {
        table(items.count)
        for item in items {
            text(item.key)
            text(item.value)
        }
    }

    /// Writes a span as a number of seconds.
    func seconds(_ span: Milliseconds) {
        if span % 1000 == 0 { integer(span / 1000) } else { number(Double(span) / 1000) }
    }
}

extension CallView {
    /// The invitation's extended data as the account that is asked sees it.
    var extendedData: String? {
        guard let viewer = callee ?? receiver else { return call.extendedData }
        return call.extendedData(of: .call, for: viewer)
    }
}
