// Why the process cannot start or go on.

import EventLoop
import StoreContract

/// An error that ends a start, told in one line.
public enum AgentError: Error, Sendable, CustomStringConvertible {
    /// An error of the operating system, such as a port in use.
    case system(EventLoopError)
    /// An error of the store, such as a state directory in use.
    case store(StoreError)
    /// The operator's file or a plugin: `FILE:LINE: text`.
    case configuration(String)
    /// A setting that is not safe or not possible.
    case refused(String)

    /// Whether this node lost what it was about to serve to another one.
    public var saysThatAnotherNodeOwns: Bool {
        guard case .store(let error) = self, case .notOwner = error.kind else { return false }
        return true
    }

    /// One line for a person.
    public var description: String {
        switch self {
        case .system(let error): "\(error)"
        case .store(let error): "\(error)"
        case .configuration(let text), .refused(let text): text
        }
    }
}
