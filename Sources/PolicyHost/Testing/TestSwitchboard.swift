// What tests of plugins are run with: a real switchboard and real signatures, from the shell.

import CallModel

/// The core as the world of a test drives it. The policy host knows the core's words only, so
/// whoever runs tests brings the switchboard along.
public protocol TestSwitchboard {
    /// The only way state changes.
    mutating func handle(_ input: Input, at now: Moment) -> [Effect]
    /// When `Input.deadlineReached` is next due.
    var nextDeadline: Moment? { get }
    /// Live calls.
    var liveCalls: [Call] { get }
    /// The call `id`, live or just ended.
    func call(_ id: CallID) -> Call?
    /// What is known of a user; `call` does not count among its calls.
    func facts(of user: UserID, besides call: CallID?) -> UserFacts
}

/// What tests and made-up calls need of the shell.
public struct TestTools: Sendable {
    /// For `hmac` and `jwt`.
    public var cryptography: Cryptography
    /// A new switchboard with these settings, whose clock stands at the moment.
    public var switchboard: @Sendable (Settings, UInt64, Moment) -> any TestSwitchboard

    /// These tools.
    public init(
        cryptography: Cryptography,
        switchboard: @escaping @Sendable (Settings, UInt64, Moment) -> any TestSwitchboard
    ) {
        self.cryptography = cryptography
        self.switchboard = switchboard
    }
}
