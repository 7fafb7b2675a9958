// What can go wrong with sockets, names, threads and certificates, in words for the operator.
import CUV
import Glibc

/// A failure of the operating system or of a peer, with what it concerned.
public struct EventLoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What went wrong, for code that must decide.
    public enum Kind: Equatable, Sendable {
        /// Another socket listens at this address, or a living process owns this Unix socket.
        case addressInUse
        /// The address does not belong to this machine.
        case addressUnavailable
        /// The text is no address, or a name stands where an address is needed.
        case invalidAddress
        /// The process may not do this.
        case permissionDenied
        /// Nobody listens at the other end.
        case refused
        /// There is no way to the other end.
        case unreachable
        /// The other end broke the connection off.
        case reset
        /// It took longer than its limit.
        case timedOut
        /// The name has no address.
        case nameNotFound
        /// Out of file descriptors or kernel memory.
        case outOfDescriptors
        /// Certificate, key or handshake trouble.
        case tls
        /// It was called off.
        case cancelled
        /// Anything else; `description` has the words of the system.
        case system
    }

    /// What went wrong.
    public let kind: Kind
    /// What it concerned: an address, a path, a name.
    public let subject: String
    /// One sentence without the final stop.
    public let description: String

    init(_ kind: Kind, _ subject: String, _ description: String) {
        self.kind = kind
        self.subject = subject
        self.description = description
    }

    /// From a negative `errno` as libuv and the shim return it.
    init(code: Int32, doing action: String, _ subject: String) {
        let words = String(cString: strerror(-code))
        self.init(Kind(code: -code), subject, "\(action) \(subject): \(words)")
    }
}

extension EventLoopError.Kind {
    init(code: Int32) {
        switch code {
        case EADDRINUSE: self = .addressInUse
        case EADDRNOTAVAIL: self = .addressUnavailable
        case EACCES, EPERM: self = .permissionDenied
        case ECONNREFUSED: self = .refused
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN: self = .unreachable
        case ECONNRESET, EPIPE, ECONNABORTED: self = .reset
        case ETIMEDOUT: self = .timedOut
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .outOfDescriptors
        case ECANCELED: self = .cancelled
        default: self = .system
        }
    }
}
