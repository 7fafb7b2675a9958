// Which events different users may see differently.

import CallModel
import CallWire

extension CallEvent.Kind {
    /// Whether two users may see different texts of it: it holds a whole call.
    var dependsOnViewer: Bool {
        switch self {
        case .created(let call), .incoming(let call, _, _), .missed(let call, _):
            !call.views.isEmpty
        case .changed, .timedOut, .cancelled, .ended, .elsewhere, .failed, .mediaPhase,
            .mediaFlags, .hold, .items, .signal:
            false
        }
    }
}
