// What a client tells its app.

import CallModel
import CallWire
import JSON

/// Everything that a client tells without being asked, in order.
public enum ClientEvent: Sendable, Equatable {
    /// The connection is open. Where `resumed` is false, `calls` replaces whatever was known.
    case opened(Welcome)
    /// An event of a call. Each event comes once.
    case event(CallEvent)
    /// An event that this client does not know: its name and data.
    case unknownEvent(String, JSONValue)
    /// The connection is lost; the next attempt is made after so many milliseconds.
    case lost(ConnectionLoss, retryAfter: Milliseconds)
    /// The server wants another token: see `ClientMachine.renew(token:)`.
    case tokenNeeded(ConnectionLoss)
    /// The client has stopped and makes no further attempt.
    case stopped(Ending)

    /// Why a client stopped.
    public enum Ending: Error, Sendable, Equatable {
        /// `ClientMachine.disconnect` was called.
        case disconnected
        /// `ClientMachine.logOut` was called, and the server knows.
        case loggedOut
        /// The server refused `hello`.
        case refused(Refusal)
        /// A connection ended in a way after which a client stays away.
        case lost(ConnectionLoss)
    }
}

/// Why a request has no result.
public enum RequestFailure: Error, Sendable, Equatable {
    /// The server refused it, or it was not sent because the server would: a message that is too
    /// large, or a member that no operation has. Nothing was changed.
    case refused(Refusal)
    /// No answer came in time, or a request without a key was under way when the connection was
    /// lost: it may have been carried out or not.
    case unanswered
    /// The answer lacks what it must have.
    case unreadable
    /// The client had stopped.
    case stopped
}

/// The idempotency key of a request.
public enum RequestKey: Sendable, Equatable {
    /// A new key for operations that change something, except signals: those may be many and are
    /// soon out of date.
    case automatic
    /// None: the request is not repeated when the connection is lost.
    case none
    /// This one, of 1-64 bytes; for a request that must survive the app itself.
    case text(String)

    /// The key for `operation`.
    func text(for operation: Operation, _ dice: inout some RandomNumberGenerator) -> String? {
        switch self {
        case .none: nil
        case .text(let text): text
        case .automatic:
            operation.isWorthAKey
                ? SessionID(high: dice.next(), low: dice.next()).description : nil
        }
    }
}

extension Operation {
    fileprivate var isWorthAKey: Bool {
        if case .call(_, .signal, _) = self { false } else { !isReading }
    }
}
