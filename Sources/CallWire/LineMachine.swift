// The server's side of one client's line: what a message means at the moment at which it comes.

import CallModel

/// One line, from its opening to its end. It owns no socket and reads no clock: the shell tells it
/// what came and does what it answers.
///
///     awaiting hello ──hello──▶ checking ──admitted──▶ open ──bye──▶ closed
///           │                      │                     │
///           └──────── wrong message, bad token, time, third unparseable ──▶ closed
///
/// A line comes and goes with its connection; what outlives it is the `ClientSession`.
public struct LineMachine: Sendable, Equatable {
    /// Where a line stands.
    public enum State: Sendable, Equatable {
        /// Nothing but `hello` is understood. Then: `checking`, `closed`.
        case awaitingHello(until: Moment)
        /// The shell checks the token before it reads on. Then: `open`, `closed`.
        case checking(MessageID)
        /// Requests are carried out. Then: `closed`.
        case open
        /// Nothing is understood any more.
        case closed
    }

    /// Something that happened to a line.
    public enum Input: Sendable, Equatable {
        // Said by the client.

        /// A message.
        case message(ClientMessage)
        /// A message that the decoder refused.
        case malformed(Malformed)
        /// A binary frame.
        case binary

        // Said by the shell.

        /// The token of `hello` is good.
        case admitted
        /// The token of `hello` is not good.
        case refused(Refusal)
        /// `nextDeadline` has come.
        case deadlineReached
    }

    /// What the shell does with what happened.
    public enum Output: Sendable, Equatable {
        /// Nothing.
        case nothing
        /// Check the token and say `admitted` or `refused` before the next message.
        case check(MessageID, Hello)
        /// Ask the switchboard.
        case request(MessageID, key: IdempotencyKey?, Operation)
        /// Tell the session that events have arrived.
        case acknowledge(Int64)
        /// Log the device out, reply `{}` and close with 1000.
        case logOut(MessageID)
        /// Reply.
        case reply(MessageID?, Reply)
        /// Reply and close.
        case refuseAndClose(MessageID?, Refusal, CloseCode)
        /// Close.
        case close(CloseCode)
    }

    /// See `State`.
    public private(set) var state: State
    private var unparseable = 0
    private let unparseableMax: Int

    /// A line that was opened at `now`.
    public init(at now: Moment, limits: SessionLimits = SessionLimits()) {
        state = .awaitingHello(until: now + limits.helloWithin)
        unparseableMax = limits.unparseableMessages
    }

    /// When `deadlineReached` is due; nil: never.
    public var nextDeadline: Moment? {
        if case .awaitingHello(let until) = state { until } else { nil }
    }

    /// The only way in which a line changes.
    public mutating func handle(_ input: Input, at now: Moment) -> Output {
        let output = output(for: input, at: now)
        switch output {
        case .check(let id, _): state = .checking(id)
        case .logOut, .refuseAndClose, .close: state = .closed
        case .nothing, .request, .acknowledge, .reply: break
        }
        return output
    }

    private mutating func output(for input: Input, at now: Moment) -> Output {
        switch state {
        case .closed: .nothing
        case .awaitingHello(let until): beforeHello(input, until: until, at: now)
        case .checking(let id): verdict(input, on: id)
        case .open: whenOpen(input)
        }
    }

    private mutating func beforeHello(
        _ input: Input, until: Moment, at now: Moment
    ) -> Output {
        switch input {
        case .message(.hello(let id, let hello)): .check(id, hello)
        case .message: .close(.protocolError)
        case .malformed(let malformed): refuse(malformed, onlyHello: true)
        case .binary: .close(.unsupportedData)
        case .deadlineReached: now < until ? .nothing : .close(.protocolError)
        case .admitted, .refused: preconditionFailure("a verdict without hello: \(self)")
        }
    }

    private mutating func verdict(_ input: Input, on id: MessageID) -> Output {
        switch input {
        case .admitted:
            state = .open
            return .nothing
        case .refused(let refusal):
            // Whoever may come later is not told to stay away.
            let code: CloseCode = refusal.code == .unavailable ? .draining : .forbidden
            return .refuseAndClose(id, refusal, code)
        case .deadlineReached: return .nothing
        case .message, .malformed, .binary:
            preconditionFailure("a message before the verdict: \(self)")
        }
    }

    private mutating func whenOpen(_ input: Input) -> Output {
        switch input {
        case .message(.hello(let id, _)):
            .reply(id, .refused(Refusal(.wrongState, "this connection has said hello already")))
        case .message(.ping(let id)): .reply(id, .done)
        case .message(.bye(let id)): .logOut(id)
        case .message(.acknowledge(let seq)): .acknowledge(seq)
        case .message(.request(let id, let key, let operation)):
            .request(id, key: key, operation)
        case .malformed(let malformed): refuse(malformed, onlyHello: false)
        case .binary: .close(.unsupportedData)
        case .deadlineReached: .nothing
        case .admitted, .refused: preconditionFailure("a second verdict: \(self)")
        }
    }

    /// A `hello` with a mistake may be tried again in time; another message is not waited for.
    private mutating func refuse(_ malformed: Malformed, onlyHello: Bool) -> Output {
        if malformed.isUnparseable {
            unparseable += 1
            if unparseable >= unparseableMax { return .close(.protocolError) }
        } else if onlyHello, malformed.operation != .hello {
            return .close(.protocolError)
        }
        return .reply(malformed.id, .refused(malformed.refusal))
    }
}
