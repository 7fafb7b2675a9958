// What was decided, written and changed: decisions, the log, the audit.

import AgentCore
import CallModel
import JSON
import StoreContract
import WebProtocols

extension Agent {
    func addRecordRoutes() {
        admin.serve(.decisions) { [unowned self] request, respond in
            guard let policies else { return respond(.json(200, ["items": [], "after": 0])) }
            if request.integer("after") != nil {
                followDecisions(of: policies.decisions, request, respond)
            } else {
                listDecisions(of: policies.decisions, request, respond)
            }
        }
        let pages = LogPages(log, management.numbers, management.pieces, management.polls)
        admin.serve(.log) { pages.answer($0, $1) }
        admin.serve(.audit) { [unowned self] request, respond in listAudit(request, respond) }
    }

    // MARK: Decisions

    private static func filter(_ request: ManagementRequest) -> DecisionFilter {
        var filter = DecisionFilter()
        (filter.call, filter.user) = (request.callID, request.user)
        (filter.plugin, filter.hook) = (request.text("plugin"), request.text("hook"))
        (filter.action, filter.failure) = (request.text("action"), request.text("kind"))
        filter.slower = request.integer("slower_ms").map { Milliseconds($0) }
        filter.since = request.moment("since_at")
        return filter
    }

    private func followDecisions(
        of log: DecisionLog, _ request: ManagementRequest,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (base, role, filter) = (
            management.numbers.base, request.identity.role, Self.filter(request)
        )
        let after = request.integer("after") ?? 0
        let number = management.numbers.number(of: after, last: log.newestNumber)
        var place = number ?? 0
        log.follow()
        management.polls.wait(
            number == nil ? 0 : request.integer("wait_ms") ?? 0, by: request.identity.name,
            for: { isLast in
                log.follow()
                let found = log.page(after: place, filter)
                let entries = number == nil ? [] : found.entries
                let isReset = number == nil || found.missed > 0 && after != 0
                guard isLast || isReset || !entries.isEmpty else {
                    // What is not wanted is looked at once.
                    place = found.next
                    return nil
                }
                var page = ManagementPage(limit: .max)
                for entry in entries where !page.isFull {
                    page.add { entry.write(for: role, into: &$0) }
                }
                let isShort = page.count < entries.count
                return page.end(after: base + found.next, isReset: isReset || isShort)
            }, respond)
    }

    private func listDecisions(
        of log: DecisionLog, _ request: ManagementRequest,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let filter = Self.filter(request)
        let last = log.newestNumber
        let before = request.text("cursor").flatMap { Int($0) }.map { $0 - management.numbers.base }
        let kept = log.newest(DecisionLog.kept)
        let oldest = last - kept.count + 1
        var page = ManagementPage(limit: request.limit)
        var number = min(last, (before ?? last + 1) - 1)
        while number >= oldest, !page.isFull {
            let entry = kept[number - oldest]
            if filter.admits(entry) {
                page.add { entry.write(for: request.identity.role, into: &$0) }
            }
            number -= 1
        }
        let cursor = number >= oldest ? "\(management.numbers.base + number + 1)" : nil
        respond(page.end(cursor: cursor, after: management.numbers.base + last))
    }

    // MARK: The audit

    private func listAudit(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let before = request.text("cursor").flatMap { Int($0) }
        let (limit, role) = (request.limit, request.identity.role)
        guard let audit = admin.desk.audit else {
            return respond(.refused(.unavailable, "the server begins"))
        }
        audit.page(before: before, limit: limit) { lines in
            guard let lines else {
                return respond(.refused(.rateLimited, "too many pages are being read"))
            }
            var page = ManagementPage(limit: limit)
            var last: Int?
            for line in lines where !page.isFull {
                last = line.withUnsafeBytes { AuditLog.number(of: $0) }
                if role == .operator {
                    page.add { $0.value(raw: line) }
                } else if var object = (try? JSONValue(parsing: line))?.object {
                    object["body"] = .null
                    page.add(.object(object))
                }
            }
            let hasMore = lines.count == limit || page.count < lines.count
            respond(page.end(cursor: hasMore ? last.map { "\($0)" } : nil))
        }
    }
}

extension DecisionEntry {
    /// Writes it as one JSON object; a viewer sees nothing of what people said.
    fileprivate func write(
        for role: ManagementIdentity.Role, into writer: inout JSONWriter
    ) {
        guard role == .viewer else { return write(into: &writer) }
        var bare = self
        bare.dropInput()
        var own = JSONWriter()
        bare.write(into: &own)
        writer.value((try? JSONValue(parsing: own.bytes))?.withoutTexts ?? .null)
    }
}
