// The parameters of a mode as one table: the operator's file, the stored calls, `callagent modes`
// and the page of the modes are made of it.

/// Who may do something in a call.
public enum Right: String, Sendable, CaseIterable {
    case nobody, caller, everybody
}

/// One parameter of a mode, under its name in the operator's file.
public struct ModeParameter: Sendable {
    /// What its values are.
    public enum Kind: Sendable, Equatable {
        /// A whole number in this range.
        case count(ClosedRange<Int>)
        /// A length of time in this range, in milliseconds.
        case time(ClosedRange<Milliseconds>)
        /// One of these words.
        case word([String])
        /// `true` or `false`.
        case flag
    }

    /// Its name.
    public let name: String
    /// What its values are.
    public let kind: Kind
    /// Whether a mode may do without it: `false` in the file.
    public let isOptional: Bool
    /// What it says, for a person.
    public let help: String
    private let get: @Sendable (Mode) -> String?
    private let set: @Sendable (inout Mode, String?) -> Void

    /// Its value in `mode`: a number, milliseconds, a word, `yes`; nil: the mode does without it.
    public func value(in mode: Mode) -> String? { get(mode) }

    /// Sets its value, written as `value(in:)` says; false: that is none of its values.
    public func set(_ value: String?, in mode: inout Mode) -> Bool {
        guard allows(value) else { return false }
        set(&mode, value)
        return true
    }

    private func allows(_ value: String?) -> Bool {
        guard let value else { return isOptional || kind == .flag }
        return switch kind {
        case .count(let range): Int(value).map(range.contains) ?? false
        case .time(let range): Milliseconds(value).map(range.contains) ?? false
        case .word(let words): words.contains(value)
        case .flag: value == "yes"
        }
    }

    /// Its value in `mode` as people read it: `30 s`, `caller`, `yes`, `-`.
    public func shown(in mode: Mode) -> String {
        guard let value = get(mode) else { return "-" }
        guard case .time = kind, let time = Milliseconds(value) else { return value }
        return time % 1_000 == 0 ? "\(time / 1_000) s" : "\(time) ms"
    }
}

extension ModeParameter {
    private static func count(
        _ name: String, _ path: any WritableKeyPath<Mode, Int> & Sendable,
        _ range: ClosedRange<Int>, _ help: String
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .count(range), isOptional: false, help: help,
            get: { "\($0[keyPath: path])" },
            set: { mode, value in value.flatMap { Int($0) }.map { mode[keyPath: path] = $0 } })
    }

    private static func time(
        _ name: String, _ path: any WritableKeyPath<Mode, Milliseconds> & Sendable, _ help: String
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .time(1_000...600_000), isOptional: false, help: help,
            get: { "\($0[keyPath: path])" },
            set: { mode, value in
                value.flatMap { Milliseconds($0) }.map { mode[keyPath: path] = $0 }
            })
    }

    private static func limit(
        _ name: String, _ path: any WritableKeyPath<Mode, Milliseconds?> & Sendable, _ help: String
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .time(1_000...86_400_000), isOptional: true, help: help,
            get: { $0[keyPath: path].map { "\($0)" } },
            set: { mode, value in mode[keyPath: path] = value.flatMap { Milliseconds($0) } })
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Mode, Word> & Sendable, _ help: String
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .word(Word.allCases.map(\.rawValue)), isOptional: false, help: help,
            get: { $0[keyPath: path].rawValue },
            set: { mode, value in
                value.flatMap { Word(rawValue: $0) }.map { mode[keyPath: path] = $0 }
            })
    }

    /// Two words, the second one of which stands for `feature`.
    private static func words(
        _ name: String, _ off: String, _ on: String, _ feature: Mode.Features, _ help: String
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .word([off, on]), isOptional: false, help: help,
            get: { $0.has(feature) ? on : off },
            set: { mode, value in mode.features.set(feature, value == on) })
    }

    private static func right(
        _ name: String, _ feature: Mode.Features, _ help: String,
        among rights: [Right] = Right.allCases
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .word(rights.map(\.rawValue)), isOptional: false, help: help,
            get: { $0.right(to: feature).rawValue },
            set: { mode, value in
                value.flatMap { Right(rawValue: $0) }.map { mode.allow(feature, to: $0) }
            })
    }

    private static func flag(
        _ name: String, _ feature: Mode.Features, _ help: String
    ) -> ModeParameter {
        ModeParameter(
            name: name, kind: .flag, isOptional: false, help: help,
            get: { $0.has(feature) ? "yes" : nil },
            set: { mode, value in mode.features.set(feature, value != nil) })
    }
}

extension ModeParameter {
    /// Every parameter, in the order of the page.
    public static let all: [ModeParameter] = numbers + times + words + rights + flags

    private static let numbers = [
        count("invitees", \.invitees, 1...255, "Invitees of one operation."),
        count(
            "participants", \.participants, 2...256,
            "Pending and joined participants of one call, the caller included."),
    ]

    private static let times = [
        time("ring_time", \.ringTime, "Ring time of an invitation that names none."),
        words(
            "ring_from", "invited", "ringing", .ringsFromRinging,
            "From when the ring time counts: the invitation, or `call.ringing`."),
        limit(
            "acknowledge_within", \.acknowledgeWithin,
            "An invitation without `call.ringing` fails after it."),
        limit(
            "accept_ack_within", \.acceptHandshake,
            "An accept that the caller does not acknowledge fails after it."),
        limit("connect_within", \.connectWithin, "From the accept to connected media."),
        limit("reconnect_within", \.reconnectWithin, "How long lost media may take to recover."),
        limit("idle", \.idleLimit, "How long one participant may be alone."),
        time("lost_after", \.lostAfter, "From the loss of a joined user to what `lost` says."),
    ]

    private static let words = [
        word(
            "end_when_answered", \.endWhenAnswered,
            "Whether the call ends when nobody is pending any more."),
        ModeParameter(
            name: "end_at_joined", kind: .count(0...1), isOptional: true,
            help: "The call ends when a leave leaves so many.",
            get: { $0.endWhenJoinedAtMost.map { "\($0)" } },
            set: { mode, value in mode.endWhenJoinedAtMost = value.flatMap { Int($0) } }),
        word("caller_lost", \.callerLost, "When the caller is lost before anybody joined."),
        word("lost", \.lost, "What becomes of a joined user who is lost."),
        words(
            "caller_leaves", "run_on", "end", .callerLeavesEnds, "When the caller leaves."),
        flag("first_accept_wins", .firstAcceptWins, "An accept cancels the other invitees."),
        words("busy", "ring", "reject", .rejectsBusy, "What happens to a busy invitee."),
        words(
            "busy_caller", "allow", "refuse", .refusesBusyCaller,
            "Whether somebody in a call may make another one."),
    ]

    private static let rights = [
        right("add", .add, "Who may `call.add`."),
        right("join", .join, "Who may `call.join`.", among: [.nobody, .everybody]),
        right("end", .end, "Who may `call.end`."),
        right("transfer", .transfer, "Who may `call.transfer`."),
        right("remove", .remove, "Who may `call.remove`."),
    ]

    private static let flags = [
        flag("leave", .leave, "`call.leave`."),
        flag("end_unanswered", .endUnanswered, "The caller may end a call that nobody answered."),
        flag("cancel_listed", .cancelListed, "`call.cancel` may name single invitees."),
        flag("answer_busy", .answersBusy, "Devices may answer `busy`."),
        flag("media", .media, "Media phases, `call.report`."),
        flag("hold", .hold, "`call.hold`; an accept ends other calls or holds them."),
        flag("items", .items, "`call.items`."),
        flag("delivery_check", .deliveryCheck, "`delivery_check` of an invitation."),
    ]

    /// The parameter `name`.
    public static func named(_ name: String) -> ModeParameter? { all.first { $0.name == name } }
}

extension Mode {
    /// Who may do what `feature` stands for.
    public func right(to feature: Features) -> Right {
        guard has(feature) else { return .nobody }
        return callerOnly.isSuperset(of: feature) ? .caller : .everybody
    }

    /// Lets `right` do what `feature` stands for.
    public mutating func allow(_ feature: Features, to right: Right) {
        features.set(feature, right != .nobody)
        callerOnly.set(feature, right == .caller)
    }

    /// Everything that it says, such as `clinic like=managed ring_time=30000 add=nobody`: what is
    /// as in the built-in mode is left out.
    public var text: String {
        let model = model ?? name
        let like = Mode.all.first { $0.name == model } ?? .advanced
        var words = [name, "like=\(like.name)"]
        for parameter in ModeParameter.all {
            let value = parameter.value(in: self)
            if value == parameter.value(in: like) { continue }
            words.append("\(parameter.name)=\(value ?? "")")
        }
        return words.joined(separator: " ")
    }

    /// The mode that `text` describes; nil: it describes none.
    public init?(text: String) {
        let words = text.split(separator: " ")
        guard let name = words.first, words.count > 1, words[1].hasPrefix("like="),
            let like = Mode.all.first(where: { $0.name == words[1].dropFirst(5) })
        else { return nil }
        self = like
        self.name = String(name)
        model = like.name
        for word in words.dropFirst(2) {
            let parts = word.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let parameter = ModeParameter.named(String(parts[0])),
                parameter.set(parts[1].isEmpty ? nil : String(parts[1]), in: &self)
            else { return nil }
        }
    }

    /// Why its parameters do not go together; nil: they do.
    public var contradiction: String? {
        for (isWrong, text) in [
            (isTwoParty && has(.add), "two participants leave no room for add"),
            (isTwoParty && has(.join), "two participants leave no room for join"),
            (
                isTwoParty && has(.firstAcceptWins),
                "first_accept_wins needs more than two participants"
            ),
            (has(.hold) && !has(.media), "hold needs media"),
            (connectWithin != nil && !has(.media), "connect_within needs media"),
            (
                ringsFromRinging && acknowledgeWithin == nil,
                "ring_from = \"ringing\" needs acknowledge_within: else nothing ends the ringing"
            ),
            (
                !has(.end) && !has(.leave) && endWhenAnswered != .always,
                "no way to end: it needs end, leave or end_when_answered = \"always\""
            ),
        ] where isWrong {
            return text
        }
        return nil
    }
}
