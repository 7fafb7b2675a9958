// Calls made by hand and by seeded dice, and a state directory for one test.

import CallModel
import Glibc
import TestSupport

/// The moment at which most tests begin.
let start = Moment(1_795_000_000_000)

/// The id of a call made `later` milliseconds after `start`.
func callID(_ later: Int64, _ low: UInt64 = 1) -> CallID {
    CallID(high: UInt64(start.milliseconds + later) << 16, low: low)
}

/// A ringing call from the first of `users` to the others, made `later` ms after `start`.
func ringingCall(_ later: Int64, _ users: [String] = ["ann", "bob"]) -> Call {
    let created = start + later
    var call = Call(
        id: callID(later), mode: .advanced, kind: "audio", ringTime: 90_000,
        deliveryCheck: nil, createdAt: created)
    for (place, user) in users.enumerated() {
        var participant = Participant(
            user: UserID(user), role: place == 0 ? .caller : .invitee,
            state: place == 0 ? .joined : .inviting, at: created)
        participant.invitedBy = place == 0 ? nil : UserID(users[0])
        call.participants.append(participant)
    }
    call.revision = 1
    return call
}

/// The call `call` after it ended at `moment` for `reason`.
func ended(_ call: Call, at moment: Moment, _ reason: EndReason = .noAnswer) -> Call {
    var call = call
    call.state = .ended
    call.endedAt = moment
    call.end = Call.End(reason)
    call.revision += 1
    return call
}

/// Dice for one test: the same seed makes the same calls.
struct Dice {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

    mutating func maybe<Value>(_ value: (inout Dice) -> Value) -> Value? {
        chance(50) ? value(&self) : nil
    }

    mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

    mutating func moment() -> Moment {
        Moment(Int64.random(in: 0...4_000_000_000_000, using: &generator))
    }

    /// Text with everything that a JSON string can hold.
    mutating func text(upTo length: Int = 40) -> String {
        let pieces = ["a", "Z", "0", " ", "\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "é", "日", "👩‍🚀"]
        return (0..<number(0...length)).map { _ in one(of: pieces) }.joined()
    }

    mutating func identifier() -> String {
        String(
            decoding: (0..<number(1...64)).map { _ in UInt8(number(0x21...0x7E)) }, as: UTF8.self)
    }
}

extension Dice {
    /// Any call that fits its types, sensible or not.
    mutating func call(id: CallID? = nil, participants: ClosedRange<Int> = 1...6) -> Call {
        var call = Call(
            id: id ?? CallID(high: generator.next(), low: generator.next()),
            mode: ModeRow.all[Int(number(0...Mode.all.count - 1))], kind: text(upTo: 8),
            ringTime: Milliseconds(number(0...600_000)),
            deliveryCheck: chance(50) ? Milliseconds(number(1_000...30_000)) : nil,
            createdAt: moment())
        call.state = one(of: Call.State.allCases)
        call.media = one(of: Call.Media.allCases)
        call.isGroup = chance(50)
        call.revision = UInt32.random(in: 0...UInt32.max, using: &generator)
        call.extendedData = maybe { $0.text() }
        call.items = (0..<number(0...3)).map { _ in Call.Item(key: text(), value: text()) }
        call.views = (0..<number(0...2)).map { _ in view() }
        call.participants = (0..<number(participants)).map { _ in participant() }
        call.answeredAt = maybe { $0.moment() }
        call.connectedAt = maybe { $0.moment() }
        call.endedAt = maybe { $0.moment() }
        call.mediaAlarm = maybe { $0.moment() }
        call.idleAlarm = maybe { $0.moment() }
        if chance(20) {
            call.returns = (0..<number(1...2)).map { _ in
                Call.Return(UserID(identifier()), firstAt: moment())
            }
        }
        call.end = call.state == .ended ? end() : nil
        return call
    }

    mutating func view() -> Call.View {
        Call.View(
            receiver: UserID(identifier()),
            owner: one(of: [.call, .participant(UserID(identifier())), .end]),
            text: maybe { $0.text() })
    }

    mutating func end() -> Call.End {
        Call.End(
            one(of: EndReason.allCases), detail: maybe { $0.one(of: EndDetail.allCases) },
            by: maybe { UserID($0.identifier()) }, extendedData: maybe { $0.text() })
    }

    mutating func participant() -> Participant {
        var one = Participant(
            user: UserID(identifier()), role: one(of: Participant.Role.allCases),
            state: one(of: Participant.State.allCases), at: moment())
        one.reason = maybe { $0.one(of: Participant.Reason.allCases) }
        one.asking = self.one(of: Participant.Asking.allCases)
        (one.audio, one.video, one.held) = (chance(50), chance(50), chance(50))
        (one.mediaConnected, one.wasConnected) = (chance(50), chance(50))
        one.isAnsweredFor = chance(50)
        one.hops = UInt8(number(0...255))
        one.askFrom = UInt8(number(0...255))
        one.begunBy = UInt16(number(0...65_535))
        one.invitedBy = maybe { UserID($0.identifier()) }
        one.extendedData = maybe { $0.text() }
        one.device = maybe { DeviceID($0.identifier()) }
        one.deadlineAt = maybe { $0.moment() }
        one.answeredAt = maybe { $0.moment() }
        one.deliveryAlarm = maybe { $0.moment() }
        one.policyAlarm = maybe { $0.moment() }
        one.policyNote = maybe {
            PolicyNote(
                plugin: $0.maybe { $0.text() }, extendedData: $0.maybe { $0.text() },
                push: $0.maybe { PushText(title: $0.text(), payload: $0.maybe { $0.text() }) })
        }
        return one
    }

    mutating func pushJob() -> PushJob {
        var job = PushJob(
            one(of: PushJob.Kind.allCases), callID: CallID(high: generator.next(), low: 7),
            user: UserID(identifier()),
            text: maybe {
                PushText(
                    title: $0.maybe { $0.text() }, body: $0.maybe { $0.text() },
                    payload: $0.maybe { $0.text() })
            }, connected: (0..<number(0...3)).map { _ in DeviceID(identifier()) },
            expiresAt: maybe { $0.moment() },
            cause: Cause(
                maybe { UserID($0.identifier()) }, caller: maybe { UserID($0.identifier()) }))
        job.trace =
            maybe { _ in
                TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
            } ?? nil
        return job
    }
}

extension TemporaryFolder {
    /// A state directory inside.
    var state: String { path + "/state" }
}
