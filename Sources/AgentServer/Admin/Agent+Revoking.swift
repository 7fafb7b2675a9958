// Taking tokens back: by the operator's file, and by `callagent revoke`.

import CallModel
import EventLoop
import JSON
import Storage
import WebProtocols

extension Agent {
    /// Numbers of what this waits for in the store; plugins count theirs from below.
    private static let firstTicket = UInt64.max / 2

    /// Answers `callagent revoke`.
    func addRevokingRoutes() {
        let others = exchange.storeAnswered
        var waiting: [StoreTicket: (Bool) -> Void] = [:]
        var last = Self.firstTicket
        exchange.storeAnswered = { answer in
            switch answer {
            case .durable(let ticket), .failed(let ticket):
                guard let done = waiting.removeValue(forKey: ticket) else { return others(answer) }
                if case .durable = answer { done(true) } else { done(false) }
            case .value, .keys, .counted: others(answer)
            }
        }
        admin.route(.post, "/admin/revoke") { [unowned self] request, respond in
            guard !(gateway.tokens is DevelopmentTokens) else {
                return respond(
                    .trouble(409, "without auth everybody may be anybody: nothing to revoke"))
            }
            do throws(AgentError) {
                let revocation = try Revocation(request)
                last += 1
                let ticket = StoreTicket(value: last)
                waiting[ticket] = { [unowned self] isDurable in
                    respond(isDurable ? revoked(revocation) : .trouble(503, "the store is away"))
                }
                keep(revocation, ticket)
            } catch {
                respond(.trouble(400, "\(error)"))
            }
        }
    }

    /// Who is taken back is out at once, also while the store is still writing it down.
    private func keep(_ revocation: Revocation, _ ticket: StoreTicket) {
        let wall = Clock.wallMilliseconds()
        let lifetime = gateway.limits.tokenLifetime
        gateway.revocations.add(
            revocation, at: wall, forgetting: lifetime.map { wall - $0 } ?? .min)
        let change = ValueChange.set(
            plugin: "", key: revocation.storeKey, value: JSONValue.integer(wall).bytes,
            expiresAt: lifetime.map { exchange.now() + $0 })
        exchange.store([.value(change)], then: ticket)
    }

    private func revoked(_ revocation: Revocation) -> HTTPResponse {
        let closed = gateway.closeRevoked()
        log.info(
            "tokens revoked", ("what", revocation.storeKey), ("closed", "\(closed)"))
        return .json(200, ["closed": .integer(Int64(closed))])
    }
}

extension Revocation {
    /// What a tool asks to take back.
    fileprivate init(_ request: HTTPRequest) throws(AgentError) {
        let query = request.target
        switch (query.query("token"), query.query("user"), query.query("device")) {
        case (let id?, nil, nil) where !id.isEmpty:
            self = .token(id, issuer: query.query("issuer"))
        case (nil, let user?, let device):
            guard let user = UserID(checking: user) else {
                throw .refused("user: 1-64 bytes of printable ASCII without space")
            }
            guard let device else {
                self = .user(user)
                return
            }
            guard let device = DeviceID(checking: device) else {
                throw .refused("device: 1-64 bytes of printable ASCII without space")
            }
            self = .device(Address(user, device))
        default: throw .refused("a token, or a user with or without a device, is wanted")
        }
    }
}

extension OpenedStore {
    /// What is taken back, as the store kept it; the newest 100,000.
    func revocations() throws(AgentError) -> Revocations {
        var found = Revocations()
        let now = Moment(Clock.wallMilliseconds())
        do throws(StoreError) {
            let reader = try store.makeReader()
            let keys = try reader.keys(
                of: "", prefix: Revocation.prefix, limit: 100_000, at: now)
            for key in keys {
                guard let revocation = Revocation(storeKey: key),
                    let bytes = try reader.value(of: "", key: key, at: now),
                    let moment = (try? JSONValue(parsing: bytes))?.integer
                else { continue }
                found.add(revocation, at: moment)
            }
        } catch {
            throw .store(error)
        }
        return found
    }
}
