// Stored calls: what was written is read, and damage is named or makes no difference.

import CallModel
import Storage

extension Fuzzer {
    static let records = Fuzzer(
        name: "records", property: "a stored call is read as it was written, and damage is named"
    ) { (random) throws(FuzzFailure) in
        let call = RecordTexts.call(&random)
        try judge(call, StoredCall.bytes(of: call), &random)
    }

    static let recordsCanary = Fuzzer(
        name: "records-canary", property: "finds a writer that forgets who has left",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        let call = RecordTexts.call(&random)
        var forgetful = call
        forgetful.participants.removeAll { $0.state == .left }
        try judge(call, StoredCall.bytes(of: forgetful), &random)
    }

    private static func judge(
        _ call: Call, _ bytes: [UInt8], _ random: inout FuzzGenerator
    ) throws(FuzzFailure) {
        try expect(read(bytes) == .success(call), "another call: \(read(bytes))", bytes)
        let damaged = random.damage(bytes, dictionary: RecordTexts.words)
        switch read(damaged) {
        case .failure(let damage):
            try expect(!damage.problem.isEmpty, "damage without a word", damaged)
        case .success(let other):
            let again = read(StoredCall.bytes(of: other))
            try expect(again == .success(other), "another call after a round trip", damaged)
        }
    }

    private static func read(_ bytes: [UInt8]) -> Result<Call, StoredCall.Damage> {
        Result { () throws(StoredCall.Damage) in
            try StoredCall.call(CallID(high: 1, low: 2), of: bytes)
        }
    }
}

private enum RecordTexts {
    static let words = [
        "null", "true", "-1", "1e99", "18446744073709551615", "\"v\":2", "\"users\":{}", "[]", "{}",
        "\"state\":\"ended\"", "\"bob\":{}", ",", ":", "\"", "\\u0000", "\u{0}", "é", "𝄞",
    ]

    static func call(_ random: inout FuzzGenerator) -> Call {
        var call = Call(
            id: CallID(high: 1, low: 2), mode: ModeRow.all[random.pick(0...6)],
            kind: random.pick(["audio", "video", "é"]), ringTime: moment(&random).milliseconds,

            deliveryCheck: random.once(in: 2) ? 5_000 : nil, createdAt: moment(&random))
        call.state = random.pick([.ringing, .active, .ended])
        call.media = random.pick([.none, .establishing, .connected, .reconnecting])
        call.revision = UInt32(random.pick(0...9))
        if random.once(in: 2) { call.extendedData = text(&random) }
        for number in 0..<random.pick(0...3) {
            call.items.append(Call.Item(key: "k\(number)", value: text(&random)))
        }
        if random.once(in: 2) { call.answeredAt = moment(&random) }
        if call.state == .ended {
            call.end = Call.End(random.pick(EndReason.allCases), extendedData: text(&random))
            call.endedAt = moment(&random)
        }
        for number in 0..<random.pick(1...4) {
            call.participants.append(participant("user-\(number)", &random))
        }
        return call
    }

    private static func participant(_ name: String, _ random: inout FuzzGenerator) -> Participant {
        var one = Participant(
            user: UserID(name), role: random.pick([.caller, .invitee, .joiner]),
            state: random.pick([.inviting, .ringing, .joined, .left, .timedOut]),
            at: moment(&random))
        if random.once(in: 2) { one.device = DeviceID("phone") }
        if random.once(in: 2) { one.extendedData = text(&random) }
        if random.once(in: 2) { one.deadlineAt = moment(&random) }
        (one.audio, one.video, one.held) = (
            random.once(in: 2), random.once(in: 2), random.once(in: 2)
        )
        return one
    }

    private static func moment(_ random: inout FuzzGenerator) -> Moment {
        Moment(Int64(random.pick([0, 1, 90_000, 1_795_000_000_000])))
    }

    private static func text(_ random: inout FuzzGenerator) -> String {
        random.pick(["", "x", "\"\\\n", "é𝄞", "{\"a\":1}", String(repeating: "y", count: 99)])
    }
}
