// Revoking tokens: by the operator's file, and by `callagent revoke`.

import AgentCore
import CallModel
import EventLoop
import JSON
import Storage
import StoreContract
import WebProtocols

extension Agent {
    /// Answers `callagent revoke`.
    func addRevokingRoutes() {
        admin.serve(.revoke) { [unowned self] request, respond in
            guard !(gateway.tokens is DevelopmentTokens) else {
                return respond(
                    .refused(
                        .wrongState, "without auth there are no tokens to revoke"))
            }
            do throws(AgentError) {
                let revocation = try Revocation(request)
                keep(revocation) { [unowned self] in
                    respond(
                        $0 == .durable
                            ? revoked(revocation) : .refused(.unavailable, "the store is away"))
                }
            } catch {
                respond(.refused(.badRequest, "\(error)"))
            }
        }
    }

    /// The connections are closed at once, also while the store is still writing.
    private func keep(_ revocation: Revocation, then done: @escaping (Stored) -> Void) {
        let wall = Clock.wallMilliseconds()
        let lifetime = gateway.limits.tokenLifetime
        gateway.revocations.add(
            revocation, at: wall, forgetting: lifetime.map { wall - $0 } ?? .min)
        let change = ValueChange.set(
            plugin: "", key: revocation.storeKey, value: JSONValue.integer(wall).bytes,
            expiresAt: lifetime.map { exchange.now() + $0 })
        exchange.store([.value(change)], then: done)
    }

    private func revoked(_ revocation: Revocation) -> HTTPResponse {
        let closed = gateway.closeRevoked()
        log.info(
            "tokens revoked", ("what", revocation.storeKey), ("closed", "\(closed)"))
        return .json(200, ["closed": .integer(Int64(closed))])
    }
}

extension Revocation {
    /// The revocation that a tool asks for.
    fileprivate init(_ request: ManagementRequest) throws(AgentError) {
        switch (request.text("jti"), request.user, request.device) {
        case (let id?, nil, nil): self = .token(id, issuer: request.text("issuer"))
        case (nil, let user?, nil): self = .user(user)
        case (nil, let user?, let device?): self = .device(Address(user, device))
        default: throw .refused("a jti, or a user with or without a device, is wanted")
        }
    }
}

extension OpenedStore {
    /// The stored revocations; the newest 100,000.
    func revocations() throws(AgentError) -> Revocations {
        var found = Revocations()
        let now = Moment(Clock.wallMilliseconds())
        do throws(StoreError) {
            let all = StoreQuery.keys(
                plugin: "", prefix: Revocation.prefix, limit: 100_000, at: now)
            guard case .keys(let keys) = try reader.answer(all),
                case .values(let values) = try reader.answer(
                    .values(plugin: "", keys: keys, at: now))
            else { return found }
            for (key, bytes) in zip(keys, values) {
                guard let revocation = Revocation(storeKey: key), let bytes,
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
