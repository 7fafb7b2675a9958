// Makes the server forget a person.

import AgentCore
import CallCore
import CallModel
import Decisions
import EventLoop
import JSON
import StoreContract
import WebProtocols

/// Takes people out of all that the server keeps, step by step, so that nobody waits. Who is being
/// forgotten stands in the store until it is done: after a crash it is made up. Owner: the loop's
/// thread.
final class Forgetting {
    /// Under this name it keeps in the store who is being forgotten.
    static let owner = "@forget"
    /// People who are looked for at a start.
    private static let peopleAtStart = 10_000

    typealias Done = (JobQueue.Outcome) -> Void

    /// One person's way through the steps.
    final class Course {
        let gone: Forgotten
        let control: JobControl
        let done: Done
        var calls = 0
        var webhooks = 0
        var lines: [String: Int] = [:]

        init(_ gone: Forgotten, _ control: JobControl, _ done: @escaping Done) {
            (self.gone, self.control, self.done) = (gone, control, done)
        }
    }

    /// Files of lines, and what becomes of a line without somebody.
    struct Records: Sendable {
        let name: String
        let lines: LineFiles
        let change: @Sendable (Forgotten, UnsafeRawBufferPointer) -> [UInt8]?
    }

    /// What the files' thread says of one order.
    struct Answer: Sendable {
        let number: Int
        let outcome: Result<Int?, LineFilesError>
    }

    /// The mailbox is made before this object exists.
    private final class Box { weak var forgetting: Forgetting? }

    unowned let gateway: Gateway
    unowned let management: Management
    let records: [Records]
    let thread: FilesThread?
    let decisions: DecisionLog?
    let pushes: PushDelivery
    let log: Log
    let answers: Mailbox<Answer>
    /// Who waits for which answer, and the last number of one.
    var waiting: [Int: (Result<Int?, LineFilesError>) -> Void] = [:]
    var lastOrder = 0
    var exchange: Exchange { gateway.exchange }

    init(
        _ gateway: Gateway, _ management: Management, _ records: [Records], _ thread: FilesThread?,
        _ decisions: DecisionLog?, _ pushes: PushDelivery, loop: EventLoop, log: Log
    ) throws(EventLoopError) {
        (self.gateway, self.management) = (gateway, management)
        (self.records, self.thread, self.decisions) = (records, thread, decisions)
        (self.pushes, self.log) = (pushes, log)
        let box = Box()
        answers = try Mailbox<Answer>(on: loop) { batch in
            for answer in batch {
                box.forgetting?.waiting.removeValue(forKey: answer.number)?(answer.outcome)
            }
        }
        box.forgetting = self
    }

    func close() { answers.close() }

    /// Live calls that name `user`: as long as there are any, the user cannot be forgotten.
    func liveCalls(naming user: UserID, _ done: @escaping ([CallID]) -> Void) {
        var found: [CallID] = []
        var place = 0
        management.pieces.run { [weak self] in
            guard let self else { return false }
            let switchboard = exchange.switchboard
            guard place < switchboard.places.calls else {
                done(found.sorted())
                return false
            }
            found += switchboard.liveCalls(in: place..<place + 500) { $0.names(user) }.map(\.id)
            place += 500
            return true
        }
    }

    // MARK: Who is being forgotten

    /// Goes on with those whom an earlier process began to forget.
    func resume() {
        let query = StoreQuery.keys(
            plugin: Self.owner, prefix: "", limit: Self.peopleAtStart, at: exchange.now())
        exchange.find(query) { [weak self] answer in
            guard let self, case .keys(let users) = answer, !users.isEmpty else { return }
            log.info("people are being forgotten since before", ("count", "\(users.count)"))
            _ = management.jobs.add("forget", by: .socket) { [weak self] control, done in
                self?.resume(users.map { UserID($0) }[...], control, done)
            }
        }
    }

    private func resume(
        _ users: ArraySlice<UserID>, _ control: JobControl, _ done: @escaping Done
    ) {
        guard let user = users.first else { return done(.success(.null)) }
        begin(user) { [weak self] gone in
            guard let self, let gone else { return done(.failure(Self.isAway)) }
            forget(gone, control) { [weak self] outcome in
                if case .failure = outcome { return done(outcome) }
                self?.resume(users.dropFirst(), control, done)
            }
        }
    }

    /// From the moment at which `done` hears of it, `user` is forgotten even if the process is
    /// killed; nil: the store is away.
    func begin(_ user: UserID, _ done: @escaping (Forgotten?) -> Void) {
        let query = StoreQuery.values(plugin: Self.owner, keys: [user.text], at: exchange.now())
        exchange.find(query) { [weak self] answer in
            guard let self, case .values(let values) = answer else { return done(nil) }
            if let gone = Forgotten(user, kept: values.first ?? nil) { return done(gone) }
            var dice = SystemRandomNumberGenerator()
            let gone = Forgotten(
                user, as: Forgotten.newSubstitute(&dice), called: exchange.names.person(user))
            let pending = ValueChange.set(
                plugin: Self.owner, key: user.text, value: gone.kept, expiresAt: nil)
            exchange.store([.value(pending)]) { done($0 == .durable ? gone : nil) }
        }
    }

    /// Nothing comes of it: a next start does not go on.
    func withdraw(_ gone: Forgotten, then done: @escaping () -> Void) {
        let pending = ValueChange.remove(plugin: Self.owner, key: gone.user.text)
        exchange.store([.value(pending)]) { _ in done() }
    }

    /// Forgets somebody; `done` hears how many `calls`, `webhooks` and lines of files it was.
    func forget(_ gone: Forgotten, _ control: JobControl, _ done: @escaping Done) {
        endSessions(Course(gone, control, done))
    }

    static let isAway = AgentError.refused(
        "the store is away; it goes on at the next start, or when it is asked for again")
}

extension Call {
    /// Whether a record of this call would name `user`.
    fileprivate func names(_ user: UserID) -> Bool {
        participant(user) != nil || removed.contains(user)
            || transfers.contains { $0.to == user || $0.by == user }
            || forks.contains { $0.by == user || $0.waiting.contains(user) }
    }
}
