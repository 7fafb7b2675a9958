// Clients: who is connected, what they ask, and what they are told.

import CallModel
import CallWire
import JSON

/// Brings lines to the desk, and checks what only the shell can check.
public protocol ClientDeskOwner: AnyObject {
    /// A client shows a token: `ClientDesk.admit` or `refuse` follows, now or later.
    func check(_ hello: Hello, _ id: MessageID, of line: Line)
    /// A request over the endpoint was refused because the user asks too much too often.
    func asksTooOften(_ user: UserID, over endpoint: any Endpoint)
    /// Nothing is left of any session: every client has to come again.
    func dropEverybody()
}

/// Serves clients, whatever carries their messages: bytes come in over a `Line`, and leave by its
/// `Endpoint`. Policies and tools ask here too. Owner: the thread of its exchange.
public final class ClientDesk {
    /// Where everything is decided.
    public let exchange: Exchange
    /// Writes what clients are told.
    public let encoder: WireEncoder
    /// What clients may do; see `configure`.
    public private(set) var limits: ServerLimits
    /// Reads what clients say.
    public private(set) var decoder: WireDecoder
    private(set) var welcomeSettings: WelcomeSettings
    private let server: String
    /// Holds this desk; set before the first line comes. Not weak: with each message the owner is
    /// used, which would cost three times as much.
    public unowned var owner: (any ClientDeskOwner)?
    /// Why a device cannot register for pushes like that; nil: it can.
    public var registrationRefusal: (PushRegistration) -> Refusal? = { _ in nil }
    /// A user invites so many: how long they have to wait before that; nil: they need not. Counts
    /// the invitees.
    public var invitationWait: (Int, UserID, Moment) -> Milliseconds? = { _, _, _ in nil }

    /// Sessions of the devices.
    public internal(set) var sessions: SessionTable
    /// Requests under way.
    public internal(set) var requests = RequestRegistry()
    /// Users with a device to which so many signals are unsent that one sender may be too many.
    public internal(set) var crowded: Set<UserID> = []
    /// What clients ask and are told, in numbers.
    public internal(set) var figures = ClientFigures()
    var rates: [UserID: RequestRate] = [:]
    /// See `lookAround`.
    private var ratesMark = 1_024
    /// Pages that were asked for one by one.
    var pages = PageTurns<(Request, any Endpoint)>()
    var writer = JSONWriter(capacity: 4_096)
    /// See `CallText`.
    var callText = CallText()
    /// Tells of missed calls; nil: nobody does.
    private(set) var missedCalls: MissedCalls?
    private var dice: any RandomNumberGenerator

    /// A desk before `exchange`.
    ///
    /// - Parameters:
    ///   - server: name and version, for `hello`.
    ///   - dice: names sessions.
    public init(
        _ exchange: Exchange, limits: ServerLimits, modes: [ModeRow], server: String,
        dice: any RandomNumberGenerator
    ) {
        self.exchange = exchange
        self.limits = limits
        sessions = SessionTable(seed: exchange.seed)
        self.server = server
        self.dice = dice
        decoder = WireDecoder(limits: limits.wire, modes: modes)
        encoder = WireEncoder(names: exchange.names)
        welcomeSettings = WelcomeSettings(limits, modes, server)
        exchange.deliverer = self
    }

    /// Goes on with other limits.
    public func configure(_ limits: ServerLimits, modes: [ModeRow]) {
        self.limits = limits
        decoder = WireDecoder(limits: limits.wire, modes: modes)
        welcomeSettings = WelcomeSettings(limits, modes, server)
    }

    /// From now on who was called in vain is told at the next connection.
    public func tellMissedCalls() { missedCalls = MissedCalls(self) }

    // MARK: What clients say

    /// A whole message came.
    public func message(_ bytes: UnsafeRawBufferPointer, over line: Line) {
        do throws(Malformed) {
            var trace: TraceParent?
            // In one step: a copy of the message would cost more than the rest of this.
            handle(.message(try decoder.message(bytes, trace: &trace)), of: line, trace: trace)
        } catch {
            figures.malformed += 1
            handle(.malformed(error), of: line)
        }
    }

    /// Something happened to a line.
    ///
    /// - Parameter trace: the one that a message names.
    public func handle(
        _ input: LineMachine.Input, of line: Line, trace: TraceParent? = nil
    ) {
        switch line.handle(input, at: exchange.now()) {
        case .nothing: break
        case .check(let id, let hello):
            figures.requests.note(.hello)
            owner?.check(hello, id, of: line)
        case .request(let id, let key, let operation):
            request(id, key: key, operation, from: line, trace: trace)
        case .acknowledge(let seq):
            line.session?.session.acknowledge(seq)
            if let live = line.session, !live.called.isEmpty { enterAcknowledged(seq, live) }
            if let live = line.session, live.missed != nil { missedCalls?.acknowledged(live, seq) }
        case .logOut(let id): logOut(id, line)
        case .reply(let id, let reply):
            if case .done = reply { figures.requests.note(.ping) }
            send(reply, to: id, over: line)
        case .refuseAndClose(let id, let refusal, let code):
            send(.refused(refusal), to: id, over: line)
            line.endpoint?.close(code, refusal.message)
        case .close(let code): line.endpoint?.close(code)
        }
    }

    /// The token of `hello` is good: its session goes on over the line, or begins.
    ///
    /// - Parameter kept: the session that the client has from an earlier owner, and goes on with if
    ///   none is known here.
    public func admit(
        _ identity: Identity, _ hello: Hello, _ id: MessageID, over line: Line,
        kept: Hello.Resume? = nil
    ) {
        let address = Address(identity.user, hello.device)
        line.asker = AdmittedAddress(identity, for: address)
        // Without keys nobody signs what a client says of itself.
        if let name = identity.token?.signer == nil ? hello.name : identity.token?.name {
            exchange.learn(name, of: identity.user)
        }
        handle(.admitted, of: line)
        let newID = SessionID(high: dice.next(), low: dice.next())
        // A device that gave its place to another one begins anew: it was not told of what happened
        // since, even if its end still waits for the store.
        let isKnown = exchange.devices(of: identity.user).contains(address)
        let goesOn = kept.flatMap {
            sessions.keep($0, of: address, over: line, at: exchange.now())
        }
        let opening =
            goesOn
            ?? sessions.open(
                address, over: line, isKnown ? hello.resume : nil, newID: newID,
                at: exchange.now())
        let live = opening.live
        if let older = opening.replaced, !exchange.shows(.deafAfterReplacement) {
            older.session = nil
            older.endpoint?.close(.replaced, "a newer connection of this device")
        }
        if opening.isResumed, let resume = hello.resume {
            missedCalls?.acknowledged(live, Int64(clamping: resume.seq))
            missedCalls?.replay(to: live, after: resume.seq)
        } else {
            live.missed = nil
        }
        live.wantsMissed = hello.wantsMissed
        line.session = live
        let request = requests.add(.hello(line, id, address))
        requests.note(request, .hello, at: exchange.now())
        exchange.feed(
            .deviceConnected(request, address.user, address.device, resumed: opening.isResumed))
    }

    /// No client is served at the moment.
    public func turnAway(_ id: MessageID, of line: Line) {
        send(.refused(.notReady), to: id, over: line)
        line.endpoint?.close(.draining, "not ready")
    }

    private func logOut(_ id: MessageID, _ line: Line) {
        figures.requests.note(.bye)
        send(.done, to: id, over: line)
        guard let live = line.session else { return close(line) }
        _ = sessions.end(live.address)
        line.session = nil
        guard !exchange.shows(.sessionAfterBye) else { return close(line) }
        exchange.feed(.deviceGone(live.address.user, live.address.device, bye: true))
        close(line)
    }

    /// Enters into journals that a device has heard of its calls.
    private func enterAcknowledged(_ seq: Int64, _ live: LiveSession) {
        for call in live.takeCalled(upTo: seq) {
            exchange.journal?.acknowledged(call, by: live.address, at: exchange.now())
        }
    }

    private func close(_ line: Line) { line.endpoint?.close(.normal) }

    /// `bye` of a device that says it over another connection: its own, if there is one, ends too.
    public func logOut(_ address: Address) {
        figures.requests.note(.bye)
        if let line = sessions.end(address) {
            line.session = nil
            close(line)
        }
        exchange.feed(.deviceGone(address.user, address.device, bye: true))
    }

    // MARK: Going

    /// The line no longer speaks for its device; the session waits for another line. One that ends
    /// for silence ended at its last frame (A20).
    public func part(_ line: Line, forSilence isSilent: Bool = false) {
        guard let live = line.session else { return }
        line.session = nil
        let mayReturn = sessions.detach(live, at: exchange.now(), limits: limits.session)
        let address = live.address
        // Another device of the user is found again with the next signal to it.
        if !crowded.isEmpty { crowded.remove(address.user) }
        let heard = line.keepAlive.heardAt
        exchange.feed(
            .deviceDisconnected(
                address.user, address.device, heard: heard,
                ended: isSilent ? heard : exchange.now()))
        if !mayReturn {
            exchange.feed(.deviceGone(address.user, address.device, bye: false))
        }
    }

    /// Ends the session of a device, as if its time to resume were over.
    public func forget(_ address: Address) {
        sessions.end(address)?.session = nil
        exchange.feed(.deviceGone(address.user, address.device, bye: false))
    }

    /// To be called now and then: ends sessions whose time to resume is over, and forgets the rates
    /// of users who have asked little lately.
    public func lookAround(at now: Moment) {
        endSessions(at: now)
        rates.forget(over: &ratesMark, at: now)
    }

    /// Ends some of the sessions whose time to resume is over; `sessions.hasExpired` tells of more.
    public func endSessions(at now: Moment) {
        for address in sessions.expire(at: now) where !exchange.shows(.sessionForEver) {
            exchange.feed(.deviceGone(address.user, address.device, bye: false))
        }
    }
}

extension WelcomeSettings {
    fileprivate init(_ limits: ServerLimits, _ modes: [ModeRow], _ server: String) {
        self.init(
            session: limits.session, limits: AnnouncedLimits(limits.wire, modes: modes),
            server: server, modes: modes)
    }
}
