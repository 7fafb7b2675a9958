// Users and their devices, for whoever looks after the server.

import AgentCore
import CallCore
import CallModel
import CallWire
import EventLoop
import JSON
import PolicyHost
import StoreContract
import WebProtocols

extension Agent {
    func addPeopleRoutes() {
        admin.serve(.users) { [unowned self] request, respond in listUsers(request, respond) }
        admin.serve(.user) { [unowned self] request, respond in
            if let user = request.user { show(user, respond) }
        }
        admin.serve(.disconnect) { [unowned self] request, respond in
            disconnect(request, respond)
        }
        admin.serve(.forget) { [unowned self] request, respond in forget(request, respond) }
    }

    /// Users that one piece of work looks at.
    private static let usersStep = 1_000

    /// The users whose names come first, found a piece at a time.
    private func listUsers(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (prefix, after) = (request.text("prefix") ?? "", request.text("cursor") ?? "")
        let online = request.text("online").map { $0 == "true" }
        let most = request.limit + 1
        var found: [(id: UserID, connected: Int)] = []
        var place = 0
        func isWanted(_ user: (id: UserID, connected: Int)) -> Bool {
            user.id.text.hasPrefix(prefix) && user.id.text > after
                && (online == nil || online == (user.connected > 0))
        }
        func keepFirst() {
            found = Array(found.sorted { $0.id.text < $1.id.text }.prefix(most))
        }
        management.pieces.run { [weak self] in
            guard let self else { return false }
            guard place < exchange.switchboard.places.users else {
                keepFirst()
                respond(page(of: found, limit: request.limit))
                return false
            }
            let step = place..<place + Self.usersStep
            found += exchange.switchboard.users(in: step).filter(isWanted)
            if found.count >= 2 * most { keepFirst() }
            place += Self.usersStep
            return true
        }
    }

    private func page(of users: [(id: UserID, connected: Int)], limit: Int) -> HTTPResponse {
        var page = ManagementPage(limit: limit)
        for user in users where !page.isFull {
            let calls = exchange.switchboard.callCount(of: user.id)
            page.add {
                $0.object {
                    $0.field("user", user.id.text)
                    $0.field("online", user.connected > 0)
                    $0.field("devices", user.connected)
                    $0.field("calls", calls)
                }
            }
        }
        let shown = page.count
        return page.end(cursor: shown < users.count ? users[shown - 1].id.text : nil)
    }

    // MARK: One user

    private func show(_ user: UserID, _ respond: @escaping (HTTPResponse) -> Void) {
        let devices = exchange.devices(of: user)
        let calls = exchange.switchboard.callIDs(of: user, atMost: Self.callsShown)
        var json: JSONObject = [
            "user": .string(user.text), "online": .bool(devices.contains { isConnected($0) }),
            "calls": .array(calls.map { .string("\($0)") }),
            "devices": .array(devices.map { shown($0) }),
            "rates": rates(of: user),
        ]
        tellPolicyStatus { [weak self] status in
            json["breakers"] = .array(status?.breakers(of: user) ?? [])
            self?.exchange.find(.registrations(user, with: nil)) { answer in
                guard case .registrations(let found, _) = answer else {
                    return respond(.refused(.unavailable, "the store is away"))
                }
                json["registrations"] = .array(found.map(\.json))
                self?.exchange.find(.missed(user, limit: 1)) { answer in
                    if case .missed(_, let count) = answer {
                        json["missed"] = .integer(Int64(count))
                    }
                    respond(.json(200, .object(json)))
                }
            }
        }
    }

    /// Calls of one user that are named.
    private static let callsShown = 500

    private func isConnected(_ address: Address) -> Bool {
        gateway.desk.sessions[address]?.line != nil
    }

    private func shown(_ address: Address) -> JSONValue {
        guard let live = gateway.desk.sessions[address] else {
            return ["device": .string(address.device.text), "connected": false]
        }
        let link = live.line?.endpoint as? ClientLink
        let remote = live.line?.endpoint as? RemoteClient
        return [
            "device": .string(address.device.text), "connected": .bool(live.line != nil),
            "session": .string("\(live.session.id)".shortened(to: 6)),
            "since_at": .integer(live.since.milliseconds),
            "address": link.map { .string($0.transport.peer.host) } ?? .null,
            "agent": (link?.agent ?? remote?.agent).map { .string($0) } ?? .null,
            "sent": .integer(Int64(clamping: live.session.lastNumbered)),
            "acknowledged": .integer(Int64(clamping: live.session.acknowledged)),
        ]
    }

    private func rates(of user: UserID) -> JSONValue {
        let now = exchange.now()
        let wait = gateway.invitations.withLock { $0.wait(of: user, at: now) }
        return [
            "calls_made": .integer(Int64(exchange.liveCalls(madeBy: user))),
            "calls_made_max": .integer(Int64(gateway.limits.callsPerUser)),
            "invitations_per_minute": .integer(Int64(gateway.limits.invitationsPerMinute)),
            "invitation_wait_ms": .integer(wait ?? 0),
        ]
    }

    /// Ends sessions; the devices see that their connections end, and may come back.
    private func disconnect(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let user = request.user else { return }
        let all = exchange.devices(of: user)
        let wanted = all.filter { address in
            request.device.map { address.device == $0 } ?? true
        }
        guard !wanted.isEmpty else {
            return respond(.refused(.notFound, "no such device of \(user) is there"))
        }
        gateway.endSessions(wanted)
        log.info(
            "sessions ended by the operator", ("user", user.text), ("count", "\(wanted.count)"))
        respond(.json(200, ["closed": .integer(Int64(wanted.count))]))
    }

    /// Forgets a person who is in no live call: what is under way goes on as it is.
    private func forget(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let user = request.user, let forgetting = management.forgetting else {
            return respond(.refused(.unavailable, "the server begins or ends"))
        }
        guard user.group == nil, !user.text.hasPrefix(Forgotten.prefix) else {
            return respond(.refused(.badRequest, "\(user) is no person"))
        }
        let identity = request.identity
        forgetting.liveCalls(naming: user) { [weak self] calls in
            guard calls.isEmpty else {
                let shown = calls.prefix(10).map { "\($0)" }.joined(separator: ", ")
                return respond(
                    .refused(
                        .wrongState,
                        "\(calls.count) live calls name \(user), end them first: \(shown)"))
            }
            forgetting.begin(user) { [weak self] gone in
                guard let self, let gone else {
                    return respond(.refused(.unavailable, "the store is away"))
                }
                let job = management.jobs.add("forget", by: identity) { control, done in
                    forgetting.forget(gone, control, done)
                }
                guard job == nil else { return respond(Management.begun(job)) }
                forgetting.withdraw(gone) { respond(Management.begun(nil)) }
            }
        }
    }
}

extension PolicyStatus {
    /// The plugins that pass `user` over for a while, with when that ends.
    fileprivate func breakers(of user: UserID) -> [JSONValue] {
        plugins.flatMap { plugin in
            plugin.paused.filter { $0.text.split(separator: " ").contains(user.text[...]) }
                .map { pause in
                    [
                        "plugin": .string(plugin.name),
                        "until_at": .integer(pause.until.milliseconds),
                    ]
                }
        }
    }
}

extension Registration {
    /// `provider`, `device`, `token` (its beginning), `since_at`.
    fileprivate var json: JSONValue {
        [
            "provider": .string(registration.provider), "device": .string(address.device.text),
            "token": .string(registration.token.shortened(to: 6)),
            "since_at": .integer(at.milliseconds),
        ]
    }
}

extension String {
    /// Its first characters and `…`: enough to tell it from others, too little to use it.
    func shortened(to count: Int) -> String {
        let shown = min(count, self.count / 4)
        return String(prefix(shown)) + "…"
    }
}
