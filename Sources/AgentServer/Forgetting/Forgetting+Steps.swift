// One person's way out of all that is kept: memory, the store, files.

import AgentCore
import CallModel
import EventLoop
import JSON
import StoreContract

extension Forgetting {
    /// Calls of one commit.
    private static let step = 50
    /// Bytes of them, roughly.
    private static let pageBytes = 256 << 10

    // MARK: What is in memory

    /// The first step; each begins the next one.
    func endSessions(_ course: Course) {
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
            // Without the name: the log is kept where nobody looks for it.
            this.log.info("a person was forgotten", ("calls", "\(course.calls)"))
            course.done(.success(.object(json)))
        }
    }

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
}
