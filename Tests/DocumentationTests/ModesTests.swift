// The page of the modes is the table that the switchboard runs on.

import CallModel
import Testing

@Suite struct ModesTests {
    @Test func thePageShowsTheTable() throws {
        let rows =
            Self.values
            + Self.features.map { name, feature in
                [name] + Mode.all.map { $0.has(feature) ? "yes" : "-" }
            }
        try Page("CallCore", "Modes").expect(
            "modes", table([""] + Mode.all.map { code($0.name) }, rows))
    }

    @Test func everyFeatureHasARow() {
        let shown = Self.features.reduce(into: Mode.Features()) { $0.formUnion($1.1) }
        let used = Mode.all.reduce(into: Mode.Features()) { $0.formUnion($1.features) }
        #expect(used.subtracting(shown) == [])
        #expect(shown.rawValue.nonzeroBitCount == Self.features.count)
    }

    private static let values: [[String]] = [
        row("invitees, participants") { "\($0.invitees), \($0.participants)" },
        row("ring time") { span($0.ringTime) },
        row("acknowledged within") { limit($0.acknowledgeWithin) },
        row("accept confirmed within") { limit($0.acceptHandshake) },
        row("media connected within") { limit($0.connectWithin) },
        row("lost media recovers within") { limit($0.reconnectWithin) },
        row("alone for at most") { limit($0.idleLimit) },
        row("ends when nobody is pending") { mode in
            switch mode.endWhenAnswered {
            case .always: "always"
            case .ifNobodyJoined: "nobody joined"
            case .ifAlone: "alone"
            case .never: "never"
            }
        },
        row("ends when a leave leaves") { $0.endWhenJoinedAtMost.map { "\($0)" } ?? "-" },
        row("lost while in it") { mode in
            switch mode.lost {
            case .stays: "stays"
            case .leaves(let time): "leaves after \(span(time))"
            case .media: "loses the media"
            }
        },
        row("caller lost while ringing") { mode in
            switch mode.callerLost {
            case .cancels: "cancels"
            case .runsOn: "runs on"
            case .failsAccept: "fails the accept"
            }
        },
    ]

    private static let features: [(String, Mode.Features)] = [
        ("`call.add`", .add), ("`call.join`", .join), ("`call.leave`", .leave),
        ("`call.end`", .end), ("cancel single invitees", .cancelListed),
        ("end while ringing", .endUnanswered),
        ("end means cancel or reject", .endMeansCancelOrReject),
        ("rejects busy invitees", .rejectsBusy), ("refuses a busy caller", .refusesBusyCaller),
        ("refuses a busy user", .refusesBusy),
        ("a caller who leaves cancels", .leaveCancels), ("answer busy", .answersBusy),
        ("media phases", .media), ("`call.transfer`", .transfer),
        ("`call.remove`, by the caller", .remove), ("`call.hold`", .hold),
        ("`call.items`", .items), ("delivery check", .deliveryCheck),
        ("`call.accept_ack`", .acceptAck),
    ]

    private static func row(_ name: String, _ cell: (Mode) -> String) -> [String] {
        [name] + Mode.all.map(cell)
    }

    private static func limit(_ span: Milliseconds?) -> String {
        span.map { "\($0 / 1_000) s" } ?? "-"
    }
}
