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
    /// Calls of one commit.
    private static let step = 50
    /// Bytes of them, roughly.
    private static let pageBytes = 256 << 10
    /// People who are looked for at a start.
    private static let peopleAtStart = 10_000

    typealias Done = (JobQueue.Outcome) -> Void

    /// One person's way through the steps.
    private final class Course {
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

    private struct Answer: Sendable {
        let number: Int
        let outcome: Result<Int?, LineFilesError>
    }

    /// The mailbox is made before this object exists.
    private final class Box { weak var forgetting: Forgetting? }

    private unowned let gateway: Gateway
    private unowned let management: Management
    private let records: [Records]
    private let thread: FilesThread?
    private let decisions: DecisionLog?
    private let pushes: PushDelivery
    private let log: Log
    private let answers: Mailbox<Answer>
    private var waiting: [Int: (Result<Int?, LineFilesError>) -> Void] = [:]
    private var lastOrder = 0
    private var exchange: Exchange { gateway.exchange }

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

    /// Live calls that name `user`: as long as there are any, he cannot be forgotten.
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

    private static let isAway = AgentError.refused(
        "the store is away; it goes on at the next start, or when it is asked for again")

    private func store(
        _ changes: [StoreChange], _ course: Course,
        _ next: @escaping (Forgetting, Course) -> Void
    ) {
        guard !changes.isEmpty else { return next(self, course) }
        exchange.store(changes) { [weak self] stored in
            guard let self, stored == .durable else {
                return course.done(.failure(Self.isAway))
            }
            next(self, course)
        }
    }

    // MARK: What is in memory

    private func endSessions(_ course: Course) {
        let user = course.gone.user
        gateway.endSessions(exchange.devices(of: user))
        pushes.forget(course.gone)
        management.changes.forget(course.gone)
        exchange.forgetEndedCalls()
        exchange.journal?.forget(user)
        // What is entered already goes to the file first, and is written again there.
        management.keeper?.write()
        var ids = exchange.journal?.callIDs ?? []
        management.pieces.run { [weak self] in
            guard let self else { return false }
            guard let id = ids.popLast() else {
                forgetDecisions(course)
                return false
            }
            exchange.journal?.forget(course.gone, in: id)
            return true
        }
    }

    private func forgetDecisions(_ course: Course) {
        var place = 0
        management.pieces.run { [weak self] in
            guard let self else { return false }
            guard let decisions, decisions.forget(course.gone, at: place) else {
                forgetCalls(course, before: nil)
                return false
            }
            place += 1
            return true
        }
    }

    // MARK: What is in the store

    private func forgetCalls(_ course: Course, before: CallID?) {
        guard !course.control.isCancelled else { return end(course) }
        var query = ListQuery()
        (query.limit, query.before) = (Self.step, before)
        exchange.find(.page(course.gone.user, query, bytes: Self.pageBytes)) { [weak self] answer in
            guard let self, case .page(let page) = answer else {
                return course.done(.failure(Self.isAway))
            }
            let ended = page.calls.filter { !$0.isLive }
            course.calls += ended.count
            let changes = ended.map { call in
                StoreChange.forgotten(course.gone, in: call.forgetting(course.gone))
            }
            store(changes, course) { this, course in
                if let cursor = page.cursor { return this.forgetCalls(course, before: cursor) }
                course.control.progress = 0.5
                this.forgetWebhooks(course, [.delivered, .failed], after: nil)
            }
        }
    }

    /// Webhooks that were sent, or given up, are not sent again. Those that wait are sent as they
    /// are: somebody counts on them.
    private func forgetWebhooks(
        _ course: Course, _ states: [WebhookProgress.State], after: JobID?
    ) {
        guard let state = states.first else { return forgetPerson(course) }
        var filter = WebhookFilter(state, limit: Self.step)
        filter.after = after
        exchange.find(.webhooks(filter)) { [weak self] answer in
            guard let self, case .webhooks(let found) = answer else {
                return course.done(.failure(Self.isAway))
            }
            let his = found.filter { webhook in
                webhook.job.cause.user == course.gone.user || webhook.job.caller == course.gone.user
                    || course.gone.isNamed(in: webhook.job.body)
            }
            course.webhooks += his.count
            let last = found.count < Self.step ? nil : found.last?.job.id
            let changes = his.map { StoreChange.webhook(.remove($0.job.id)) }
            store(changes, course) { this, course in
                let rest = last == nil ? Array(states.dropFirst()) : states
                this.forgetWebhooks(course, rest, after: last)
            }
        }
    }

    private func forgetPerson(_ course: Course) {
        exchange.forgetName(of: course.gone.user)
        store([.forget(course.gone.user)], course) { this, course in
            course.control.progress = 0.6
            this.forgetLines(course, this.records[...], 0)
        }
    }

    // MARK: What is in files

    private func forgetLines(
        _ course: Course, _ records: ArraySlice<Records>, _ number: Int
    ) {
        guard let first = records.first, let thread else { return end(course) }
        lastOrder += 1
        let (order, answers, gone) = (lastOrder, answers, course.gone)
        waiting[order] = { [weak self] outcome in
            switch outcome {
            case .failure(let error): course.done(.failure(.refused("\(error)")))
            // There is no such file: the next kind.
            case .success(nil): self?.forgetLines(course, records.dropFirst(), 0)
            case .success(let changed?):
                course.lines[first.name, default: 0] += changed
                // A file that is moved aside meanwhile is met once more, and none is passed over.
                self?.forgetLines(course, records, number + 1)
            }
        }
        thread.rewrite(first.lines, number) {
            first.change(gone, $0)
        } then: {
            _ = answers.post(Answer(number: order, outcome: $0))
        }
    }

    private func end(_ course: Course) {
        let pending = ValueChange.remove(plugin: Self.owner, key: course.gone.user.text)
        store([.value(pending)], course) { this, course in
            var json: JSONObject = [
                "calls": .integer(Int64(course.calls)),
                "webhooks": .integer(Int64(course.webhooks)),
            ]
            for records in this.records {
                json[records.name] = .integer(Int64(course.lines[records.name] ?? 0))
            }
            // Without his name: the log is kept where nobody looks for it.
            this.log.info("a person was forgotten", ("calls", "\(course.calls)"))
            course.done(.success(.object(json)))
        }
    }
}

extension Call {
    /// Whether a record of this call would name `user`.
    fileprivate func names(_ user: UserID) -> Bool {
        participant(user) != nil || removed.contains(user)
            || transfers.contains { $0.to == user || $0.by == user }
            || forks.contains { $0.by == user || $0.waiting.contains(user) }
    }
}

extension Forgotten {
    /// Whether a text of this JSON names him; what is no JSON may.
    fileprivate func isNamed(in bytes: [UInt8]) -> Bool {
        let limits = JSONLimits(bytes: max(1, bytes.count))
        guard let json = try? JSONValue(parsing: bytes, limits: limits) else {
            return isNamed(in: String(decoding: bytes, as: UTF8.self))
        }
        return isNamed(in: json)
    }

    private func isNamed(in json: JSONValue) -> Bool {
        if let text = json.string { return isNamed(in: text) }
        if let all = json.array { return all.contains { isNamed(in: $0) } }
        return json.object?.members.contains { isNamed(in: $0.key) || isNamed(in: $0.value) }
            ?? false
    }

    /// What is kept until he is forgotten.
    fileprivate var kept: [UInt8] {
        JSONValue.object([
            "as": .string(substitute.text), "name": name.map { .string($0.text) } ?? .null,
        ]).bytes
    }

    /// Who is being forgotten since before.
    fileprivate init?(_ user: UserID, kept bytes: [UInt8]?) {
        guard let bytes, let json = try? JSONValue(parsing: bytes),
            let substitute = json["as"]?.string
        else { return nil }
        let name = json["name"]?.string.flatMap { PersonName(checking: $0) }
        self.init(user, as: UserID(substitute), called: name)
    }
}
