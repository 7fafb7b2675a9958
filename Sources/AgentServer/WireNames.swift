// What the shell needs to know of events and operations on the wire.

import CallCore
import CallWire

extension CallEvent.Kind {
    /// Whether two users may see different texts of it: it holds a whole call.
    var dependsOnViewer: Bool {
        switch self {
        case .created(let call), .incoming(let call, _, _): !call.views.isEmpty
        case .changed, .timedOut, .cancelled, .ended, .elsewhere, .failed, .mediaPhase,
            .mediaFlags, .hold, .items, .signal:
            false
        }
    }
}

extension OperationName {
    /// The name of an operation.
    init(_ operation: Operation) {
        switch operation {
        case .invite: self = .invite
        case .call(_, let action, _): self.init(action)
        case .list: self = .list
        case .pushRegister: self = .pushRegister
        case .pushUnregister: self = .pushUnregister
        }
    }

    private init(_ action: CallAction) {
        switch action {
        case .add: self = .add
        case .ringing: self = .ringing
        case .accept: self = .accept
        case .acceptAck: self = .acceptAck
        case .reject: self = .reject
        case .cancel: self = .cancel
        case .join: self = .join
        case .leave: self = .leave
        case .end: self = .end
        case .report: self = .report
        case .media: self = .media
        case .hold: self = .hold
        case .items: self = .items
        case .signal: self = .signal
        case .get: self = .get
        case .token: self = .token
        }
    }
}
