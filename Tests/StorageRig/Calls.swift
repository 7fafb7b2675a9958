// Two-party calls as they pass through a store.

import CallModel

/// An endless row of call versions.
struct Calls {
    /// How many calls are live at a time.
    private let most: Int
    private var live: [Call] = []
    private var turn = 0
    private var made: UInt64 = 0

    init(live most: Int) { self.most = most }

    /// Calls made so far.
    var count: Int { Int(made) }

    mutating func next() -> Call {
        if live.count < most {
            live.append(new())
            return live[live.count - 1]
        }
        turn = (turn + 1) % live.count
        live[turn].revision += 1
        switch live[turn].revision {
        case 2: live[turn].participants[1].state = .ringing
        case 3:
            live[turn].state = .active
            live[turn].answeredAt = live[turn].createdAt + 3_000
            live[turn].participants[1].state = .joined
            live[turn].participants[1].answeredAt = live[turn].createdAt + 3_000
            live[turn].participants[1].device = DeviceID("phone-1")
        case 4:
            var over = live[turn]
            over.state = .ended
            over.endedAt = over.createdAt + 60_000
            over.end = Call.End(.completed, by: over.caller)
            live[turn] = over
        default: live[turn] = new()
        }
        return live[turn]
    }

    private mutating func new() -> Call {
        made += 1
        let created = Moment(1_795_000_000_000 + Int64(made))
        var call = Call(
            id: CallID(
                high: UInt64(created.milliseconds) << 16, low: made &* 0x9E37_79B9_7F4A_7C15),
            mode: .advanced, kind: "audio", ringTime: 90_000, deliveryCheck: nil,
            createdAt: created)
        call.revision = 1
        call.extendedData = #"{"type":"call","room":"\#(made)","topic":"an ordinary greeting"}"#
        let users = (UserID("user-\(made % 20_000)"), UserID("user-\(made * 7 % 20_000)x"))
        var caller = Participant(user: users.0, role: .caller, state: .joined, at: created)
        caller.device = DeviceID("tablet")
        caller.answeredAt = created
        var callee = Participant(user: users.1, role: .invitee, state: .inviting, at: created)
        callee.invitedBy = users.0
        callee.deadlineAt = created + 90_000
        call.participants = [caller, callee]
        return call
    }
}
