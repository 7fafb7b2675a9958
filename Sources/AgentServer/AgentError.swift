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

    /// Whether a node that was about to serve waits again: another node owns, or the database now
    /// has no answer or no room, and would have none for the next node either.
    public var isForWaitingNodes: Bool {
        guard case .store(let error) = self else { return false }
        return switch error.kind {
        case .notOwner, .unreachable, .busy, .diskFull: true
        default: false
        }
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
