// How two sets of plugins decide about the same recorded questions.

import CallModel
import JSON
import PolicyHost

/// What came of replaying decisions.
public struct ReplayReport: Sendable, Equatable {
    /// One decision that would be another one.
    public struct Change: Sendable, Equatable {
        /// The hook.
        public let hook: Hook
        /// The call.
        public let call: CallID
        /// The account concerned.
        public let user: UserID
        /// When it was asked.
        public let at: Moment
        /// The generation that decided: with a canary there are two at the same time.
        public let generation: String
        /// What was decided, as one line.
        public let before: String
        /// What would be decided, as one line.
        public let after: String
        /// Why a plugin failed that did not fail before.
        public let problem: String?

        /// The same without somebody.
        public func forgetting(_ gone: Forgotten) -> Change {
            Change(
                hook: hook, call: call, user: gone.replacing(user), at: at, generation: generation,
                before: gone.replacing(in: before), after: gone.replacing(in: after),
                problem: problem.map { gone.replacing(in: $0) })
        }
    }

    /// Changes that are kept; all of them are counted.
    public static let changesMax = 100

    /// Decisions that were asked again.
    public private(set) var asked = 0
    /// Decisions for which there was no time.
    public private(set) var left = 0
    /// Decisions whose input was not kept.
    public private(set) var unknown = 0
    /// Decisions in which a plugin waited for something that nobody was asked for then.
    public private(set) var unsure = 0
    /// Decisions that would be other ones.
    public private(set) var changed = 0
    /// Decisions in which a plugin fails and none failed before.
    public private(set) var failing = 0
    /// The first of them.
    public private(set) var changes: [Change] = []

    /// A report of nothing.
    public init() {}

    /// What `generation` would decide other than it was decided.
    public init(
        _ records: some Sequence<DecisionRecord>, by generation: Generation,
        cryptography: Cryptography = .none
    ) {
        let replay = Replay(generation, cryptography: cryptography)
        for record in records { note(record, replay.ask(record)) }
    }

    /// The same, within a bounded time, so that nobody waits for it.
    ///
    /// - Parameters:
    ///   - time: nanoseconds of processor time that the decisions may have taken.
    ///   - hasTime: whether there is time for one more.
    public init(
        _ records: [DecisionRecord], within time: UInt64, by generation: Generation,
        cryptography: Cryptography = .none, while hasTime: () -> Bool
    ) {
        let replay = Replay(generation, cryptography: cryptography)
        left = records.count
        for record in records.inTurn(within: time) where hasTime() {
            left -= 1
            note(record, replay.ask(record))
        }
    }

    /// What `generation` would decide other than `other` would.
    public init(
        _ records: some Sequence<DecisionRecord>, by generation: Generation,
        against other: Generation, cryptography: Cryptography = .none
    ) {
        let replay = Replay(generation, cryptography: cryptography)
        let base = Replay(other, cryptography: cryptography)
        for record in records {
            guard let before = base.ask(record) else {
                note(record, nil)
                continue
            }
            let decided = record.decided(before.outcome, by: before.asked)
            note(decided, replay.ask(decided))
        }
    }

    /// Notes what came of asking `record` again.
    public mutating func note(_ record: DecisionRecord, _ answered: Replay.Answered?) {
        guard let answered else {
            unknown += 1
            return
        }
        asked += 1
        if !answered.missing.isEmpty { unsure += 1 }
        var problem: String?
        if !record.hasFailures, let failed = answered.asked.first(where: { $0.message != nil }) {
            failing += 1
            problem = failed.message
        }
        let (before, after) = (record.outcome.line, answered.outcome.line)
        guard before != after || problem != nil else { return }
        if before != after { changed += 1 }
        guard changes.count < Self.changesMax else { return }
        changes.append(
            Change(
                hook: record.hook, call: record.call, user: record.user, at: record.at,
                generation: record.generation, before: before, after: after, problem: problem))
    }
}

extension ReplayReport {
    /// `asked`, `left`, `unknown`, `unsure`, `changed`, `failing`, `changes[]`.
    public var json: JSONValue {
        [
            "asked": .integer(Int64(asked)), "left": .integer(Int64(left)),
            "unknown": .integer(Int64(unknown)),
            "unsure": .integer(Int64(unsure)), "changed": .integer(Int64(changed)),
            "failing": .integer(Int64(failing)),
            "changes": .array(changes.map(\.json)),
        ]
    }
}

extension ReplayReport.Change {
    /// `at`, `call`, `event`, `user`, `generation`, `before`, `after`, `problem`.
    public var json: JSONValue {
        [
            "at": .integer(at.milliseconds), "call": .string(call.description),
            "event": .string(hook.rawValue), "user": .string(user.text),
            "generation": .string(generation), "before": .string(before),
            "after": .string(after),
            "problem": problem.map { .string($0) } ?? .null,
        ]
    }
}

extension DecisionRecord.Outcome {
    /// The decision on one line, as plugins write it: `reject busy, by blocklist`.
    public var line: String {
        switch self {
        case .push(nil): "drop"
        case .push(let draft?): "push \(JSONValue.object(draft.table))"
        case .answer(let answer): answer.line
        }
    }
}

extension Answer {
    fileprivate var line: String {
        switch self {
        case .invite(let decision, let plugin, _): "\(decision.line), by \(plugin)"
        case .allow(let allowance): "allow\(allowance.words)"
        case .refuse(let code, let plugin): "refuse \(code), by \(plugin)"
        case .data(let text): text.map { "data \($0)" } ?? "drop"
        case .tooLarge(let plugin): "too_large, by \(plugin)"
        case .views(let views):
            views.isEmpty
                ? "unchanged"
                : views.map { "\($0.receiver) sees \($0.text ?? "nothing")" }
                    .joined(separator: ", ")
        case .token(let token): token == nil ? "no token" : "token"
        case .none: "default"
        }
    }
}

extension Decision {
    fileprivate var line: String {
        switch self {
        case .accept(let wait, let data):
            "accept" + (wait > 0 ? " after \(wait) ms" : "") + (data.map { " saying \($0)" } ?? "")
        case .reject(let busy, let data):
            "reject \(busy ? "busy" : "declined")" + (data.map { " saying \($0)" } ?? "")
        case .ring(let time): "ring" + (time.map { " for \($0) ms" } ?? "")
        case .forward(let users, let each):
            "forward to \(users.map(\.text).joined(separator: ", "))"
                + (each.map { ", each \($0) ms" } ?? "")
        }
    }
}

extension Allowance {
    fileprivate var words: String {
        var words = ""
        if let timeout { words += " timeout \(timeout) ms" }
        if let invitees { words += " only \(invitees.map(\.text).joined(separator: " "))" }
        if let extendedData { words += " saying \(extendedData ?? "nothing")" }
        return words
    }
}
