// The client: one device's connection to a server, kept up over losses.

import CallClientCore
import CallModel
import EventLoop

/// A device of a user. Thread-confined to its loop, on which it also calls back.
///
///     let client = CallClient(options, on: loop) { event in … }
///     client.connect()
///
/// `ClientMachine`, which is the same without a socket, says what it does.
public final class CallClient: CallOperations {
    /// What an app chooses; those of the machine among them.
    @dynamicMemberLookup
    public struct Options: Sendable {
        /// Where to connect.
        public var server: ServerAddress
        /// The authorities to trust for a secure address; nil: the system's.
        public var tls: TLSContext?
        /// The longest message that is taken, in bytes.
        public var maximumMessage = 16 << 20
        /// What does not concern the socket.
        public var machine: ClientMachine.Options

        /// A device of the user that `token` names.
        public init(_ server: ServerAddress, token: String, device: DeviceID) {
            self.server = server
            machine = ClientMachine.Options(token: token, device: device)
        }

        /// A member of `machine`.
        public subscript<Value>(
            dynamicMember path: WritableKeyPath<ClientMachine.Options, Value>
        ) -> Value {
            get { machine[keyPath: path] }
            set { machine[keyPath: path] = newValue }
        }
    }

    /// A text message that left or came.
    public typealias Traffic = ClientMachine.Traffic

    /// What the client is without its socket.
    public let machine: ClientMachine

    /// A client that does nothing before `connect`.
    ///
    /// - Parameter onEvent: see the property, for an owner that exists only after its client.
    public init(
        _ options: Options, on loop: EventLoop,
        onEvent: @escaping (ClientEvent) -> Void = { _ in }
    ) {
        let transport = LoopTransport(options, on: loop)
        machine = ClientMachine(
            options.machine, over: transport, dice: SystemRandomNumberGenerator(),
            onEvent: onEvent)
        transport.machine = machine
    }

    /// See `ClientMachine.State`.
    public var state: ClientMachine.State { machine.state }
    /// Told of everything, on the loop's thread; may call the client.
    public var onEvent: (ClientEvent) -> Void {
        get { machine.onEvent }
        set { machine.onEvent = newValue }
    }
    /// Told of every message, for logs and tools.
    public var trace: ((Traffic) -> Void)? {
        get { machine.trace }
        set { machine.trace = newValue }
    }

    /// Connects; does nothing while the client is connected or about to be.
    public func connect() { machine.connect() }

    /// Goes on with another token: at once if the server asked for one, else from the next
    /// connection on.
    public func renew(token: String) { machine.renew(token: token) }

    /// Ends the connection and stops. The server keeps the session for a while, and counts the user
    /// as connected until then.
    public func disconnect() { machine.disconnect() }

    /// Logs the device out and stops. Without a connection it is `disconnect`.
    public func logOut() { machine.logOut() }
}
