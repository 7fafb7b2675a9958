// Calls for whoever looks after the server: live ones, what changes, ended ones.

import AgentCore
import CallCore
import CallModel
import CallWire
import JSON
import StoreContract
import WebProtocols

/// Which calls are wanted.
private struct CallChoice {
    var user: UserID?
    var mode: String?
    var state: Call.State?

    init(_ request: ManagementRequest) throws(Refusal) {
        user = request.user
        mode = try request.mode
        state = request.text("state").flatMap { Call.State(rawValue: $0) }
    }

    func admits(_ call: Call) -> Bool {
        if let mode, call.mode.name != mode { return false }
        if let state, call.state != state { return false }
        return user.map { call.participant($0) != nil } ?? true
    }
}

extension Agent {
    func addCallRoutes() {
        admin.serve(.calls) { [unowned self] request, respond in
            do throws(Refusal) {
                let choice = try CallChoice(request)
                management.changes.watch()
                if let after = request.integer("after") {
                    return follow(choice, after: after, request, respond)
                }
                list(choice, request, respond)
            } catch {
                respond(HTTPResponse(HTTPReply(error)))
            }
        }
        admin.serve(.call) { [unowned self] request, respond in
            guard let id = request.callID else { return }
            show(id, to: request.identity.role, respond)
        }
        admin.serve(.history) { [unowned self] request, respond in
            do throws(Refusal) {
                try listHistory(request, respond)
            } catch {
                respond(HTTPResponse(HTTPReply(error)))
            }
        }
        admin.serve(.endCall) { [unowned self] request, respond in end(request, respond) }
    }

    // MARK: Live calls

    /// Calls that one piece of work looks at.
    private static let step = 500

    /// The newest live calls that `choice` admits, found a piece at a time.
    private func list(
        _ choice: CallChoice, _ request: ManagementRequest,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let before = request.text("cursor").flatMap { CallID($0) }
        var newest = NewestCalls(request.limit + 1, before: before)
        var place = 0
        management.pieces.run { [weak self] in
            guard let self else { return false }
            let end = exchange.switchboard.places.calls
            guard place < end else {
                show(newest.calls, request, respond)
                return false
            }
            newest.add(
                exchange.switchboard.liveCalls(in: place..<place + Self.step) { choice.admits($0) })
            place += Self.step
            return true
        }
    }

    private func show(
        _ calls: [Call], _ request: ManagementRequest,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let after = management.numbers.base + management.changes.last
        write(calls, limit: request.limit, to: request.identity.role) { page, shown in
            let hasMore = shown < calls.count && shown > 0
            respond(page.end(cursor: hasMore ? "\(calls[shown - 1].id)" : nil, after: after))
        }
    }

    /// Writes calls into a page, a piece at a time; tells how many found room.
    private func write(
        _ calls: [Call], limit: Int, to role: ManagementIdentity.Role,
        _ done: @escaping (consuming ManagementPage, Int) -> Void
    ) {
        let box = PageBox(limit: limit)
        var place = 0
        management.pieces.run { [weak self] in
            guard let self else { return false }
            guard place < calls.count, !box.isFull else {
                box.finish(place, done)
                return false
            }
            box.add(shown(calls[place], to: role))
            place += 1
            return true
        }
    }

    /// A call as JSON: an operator sees it as its caller does, a viewer without what people said.
    func shown(_ call: Call, to role: ManagementIdentity.Role) -> [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        gateway.desk.encoder.write(call, for: call.caller, into: &writer)
        guard role == .viewer, let value = try? JSONValue(parsing: writer.bytes) else {
            return writer.bytes
        }
        return value.withoutTexts.bytes
    }

    private func follow(
        _ choice: CallChoice, after: Int, _ request: ManagementRequest,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (management, role) = (management, request.identity.role)
        let changes = management.changes
        let number = management.numbers.number(of: after, last: changes.last)
        var place = number ?? 0
        management.polls.wait(
            number == nil ? 0 : request.integer("wait_ms") ?? 0, by: request.identity.name,
            for: { [weak self] isLast in
                guard let self else { return nil }
                changes.watch()
                let (found, areMissing) = changes.changes(after: place)
                let wanted = number == nil ? [] : found.filter { choice.admits($0) }
                guard isLast || areMissing || !wanted.isEmpty else {
                    // What is not wanted is looked at once.
                    place = changes.last
                    return nil
                }
                var page = ManagementPage(limit: .max)
                for call in wanted {
                    // What finds no room is asked for anew, as what was missed is.
                    guard !page.isFull else { break }
                    let text = shown(call, to: role)
                    page.add { $0.value(raw: text) }
                }
                let isReset = number == nil || areMissing || page.count < wanted.count
                return page.end(after: management.numbers.base + changes.last, isReset: isReset)
            }, respond)
    }

    private func show(
        _ id: CallID, to role: ManagementIdentity.Role,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        if let call = exchange.switchboard.call(id) { return respond(answer(call, to: role)) }
        exchange.find(.call(id)) { [weak self] answer in
            guard let self else { return }
            switch answer {
            case .call(let call?): respond(self.answer(call, to: role))
            case .call(nil): respond(.refused(.notFound, "nobody knows a call \(id)"))
            default: respond(.refused(.unavailable, "the store is away"))
            }
        }
    }

    private func answer(_ call: Call, to role: ManagementIdentity.Role) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { $0.field("call", raw: shown(call, to: role)) }
        return .json(200, writer.bytes)
    }

    // MARK: Ended calls

    private func listHistory(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) throws(Refusal) {
        var query = HistoryQuery(limit: request.limit)
        query.before = request.text("cursor").flatMap { CallID($0) }
        if let text = request.text("reason") {
            guard let reason = EndReason(rawValue: text) else {
                throw .bad("reason", "is no reason of an end")
            }
            query.reason = reason
        }
        query.mode = try request.mode
        (query.since, query.until) = (request.moment("since_at"), request.moment("until_at"))
        query.longer = request.integer("longer_ms").map { Milliseconds($0) }
        query.shorter = request.integer("shorter_ms").map { Milliseconds($0) }
        let peer = request.text("peer").flatMap { UserID(checking: $0) }
        let (role, limit) = (request.identity.role, request.limit)
        let plugin = request.text("plugin")
        exchange.find(Self.storeQuery(query, user: request.user ?? peer, peer)) {
            [weak self] answer in
            guard let self, let found = answer.page else {
                return respond(.refused(.unavailable, "the store is away"))
            }
            let asked = plugin.map { self.calls(asking: $0) }
            let calls = found.calls.filter { call in
                query.admits(call) && asked?.contains(call.id) != false
            }
            write(calls, limit: limit, to: role) { page, shown in
                let rest = shown < calls.count ? "\(calls[max(0, shown - 1)].id)" : nil
                respond(page.end(cursor: rest ?? found.cursor.map { "\($0)" }))
            }
        }
    }

    /// Of one user by the index of users, else of everybody.
    private static func storeQuery(
        _ query: HistoryQuery, user: UserID?, _ peer: UserID?
    ) -> StoreQuery {
        guard let user else { return .history(query) }
        var list = ListQuery()
        (list.limit, list.before, list.state) = (query.limit, query.before, .ended)
        (list.since, list.until) = (query.since, query.until)
        list.endReasons = query.reason.map { [$0] } ?? []
        list.peer = peer == user ? nil : peer
        return .page(user, list, bytes: ManagementDesk.answerBytes)
    }

    /// The calls about which `plugin` was asked, as far as decisions are kept in memory.
    private func calls(asking plugin: String) -> Set<CallID> {
        let all = policies?.decisions.newest(DecisionLog.kept) ?? []
        var filter = DecisionFilter()
        filter.plugin = plugin
        return Set(all.lazy.filter { filter.admits($0) }.map(\.call))
    }

    // MARK: Ending

    /// Ends a call for the operator: `callagent end`.
    private func end(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let id = request.callID else { return }
        let code = request.text("reason")
        let detail = code.flatMap { EndDetail(code: $0) }
        guard code == nil || detail != nil else {
            return respond(
                .refused(.badRequest, "reason must be 1-64 bytes of printable ASCII, no space"))
        }
        gateway.desk.request(.call(id, .finish(code: detail)), by: request.identity) {
            [log] reply in
            if reply.status == 200 {
                log.info("call ended by the operator", ("call", "\(id)"), ("reason", code ?? ""))
            }
            respond(HTTPResponse(reply))
        }
    }
}

/// The newest of many calls, which come in any order.
private struct NewestCalls {
    private let most: Int
    private let before: CallID?
    private var found: [Call] = []
    private var oldest: CallID?

    init(_ most: Int, before: CallID?) {
        (self.most, self.before) = (most, before)
    }

    mutating func add(_ calls: [Call]) {
        for call in calls {
            if let before, call.id >= before { continue }
            if let oldest, call.id < oldest { continue }
            found.append(call)
        }
        guard found.count >= 2 * most else { return }
        found = first(most)
        oldest = found.last?.id
    }

    /// The newest first.
    var calls: [Call] { first(most) }

    private func first(_ most: Int) -> [Call] {
        Array(found.sorted { $0.id > $1.id }.prefix(most))
    }
}

/// A page that several pieces of work write.
private final class PageBox {
    private var page: ManagementPage?

    init(limit: Int) { page = ManagementPage(limit: limit) }

    var isFull: Bool { page?.isFull ?? true }

    func add(_ text: [UInt8]) { page?.add { $0.value(raw: text) } }

    func finish(_ count: Int, _ done: (consuming ManagementPage, Int) -> Void) {
        if let page = page.take() { done(page, count) }
    }
}

extension ManagementRequest {
    /// The name of the mode that is asked for. It may be one that is not in force any more: calls
    /// of it are still there.
    fileprivate var mode: String? {
        get throws(Refusal) {
            guard let name = text("mode") else { return nil }
            guard Mode.isName(name) else { throw .bad("mode", "is no name of a mode") }
            return name
        }
    }
}

extension StoreAnswer {
    /// A page of calls, of one user or of all.
    fileprivate var page: CallPage? {
        switch self {
        case .page(let page), .history(let page): page
        default: nil
        }
    }
}

extension JSONValue {
    /// The call without what people said: a viewer sees who called whom, and no more.
    var withoutTexts: JSONValue {
        if let list = array { return .array(list.map(\.withoutTexts)) }
        guard let object else { return self }
        return .object(
            JSONObject(
                object.members.compactMap { member in
                    Self.texts.contains(member.key)
                        ? nil : .init(key: member.key, value: member.value.withoutTexts)
                }))
    }

    private static let texts: Set<String> = ["extended_data", "items", "data", "push", "input"]
}
