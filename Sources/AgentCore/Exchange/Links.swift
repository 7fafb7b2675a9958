// What the exchange works with: clients, policies, the shell around it.

import CallModel
import CallWire
import StoreContract

/// Whoever carries replies and events to clients.
public protocol Deliverer: AnyObject {
    /// The text of the reply that `request` will get.
    func note(_ reply: WrittenReply, to request: RequestID)
    /// Answers a request, once.
    func deliver(_ reply: Reply, to request: RequestID)
    /// Answers a `hello` with the live calls, newest first; `more`: there are others.
    func deliver(welcome calls: [Call], more: Bool, to request: RequestID)
    /// Tells these devices of an event; what a device without a connection misses is kept for it.
    func deliver(_ event: CallEvent, to receivers: [Address])
    /// Answers a `call.list` of `user`.
    func deliver(_ page: CallPage, to request: RequestID, of user: UserID)
    /// Another device took the place of this one.
    func replace(_ address: Address)
    /// The switchboard forgot everything that is not stored: every request is `unavailable`.
    func dropEverything()
}

/// Whoever thinks for the policies.
public protocol PolicyLink: AnyObject {
    /// Asks; `Input.answered` or `Input.thinking` follows, or the core's own deadline comes.
    func ask(_ question: Question)
    /// The answer to a question no longer matters; one that is under way is dropped.
    func withdraw(_ question: QuestionID)
    /// Tells what is stored by now; those of one call are told in order.
    func tell(_ report: Report)
    /// Called once a turn: what was gathered goes to the policy thread.
    func flush()
    /// Whether questions went to the policy thread that it has not looked at yet.
    var isThinking: Bool { get }
    /// Events and questions that it has not been through.
    var backlog: Int { get }
    /// Of those, reports that this account caused.
    func reportsWaiting(for account: UserID) -> Int
}

extension PolicyLink {
    /// None: nothing is counted for anybody.
    public func reportsWaiting(for account: UserID) -> Int { 0 }
}

/// What is around the server: the clock, the timers and the log.
public protocol Shell: AnyObject {
    /// The present moment of the core's clock, which never goes back.
    func now() -> Moment
    /// How far the wall clock is ahead of the core's, in milliseconds.
    var wallGap: Milliseconds { get }
    /// Calls `Exchange.wake` at this moment, and no more at the one that was given before.
    func wake(at moment: Moment)
    /// Calls `Exchange.openStore` in a while.
    func openStore(after pause: Milliseconds)
    /// Calls `Exchange.endTurn` in a while, even if nothing comes in until then.
    func endTurn(after pause: Milliseconds)
    /// Somebody has to know.
    func log(_ level: LogLevel, _ message: StaticString, _ fields: [(String, String)])
}

extension Shell {
    func log(_ level: LogLevel, _ message: StaticString, _ fields: (String, String)...) {
        log(level, message, fields)
    }
}
