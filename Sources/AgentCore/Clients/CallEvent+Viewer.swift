// Which events different users may see differently.

import CallModel
import CallWire

extension CallEvent.Kind {
    /// Whether two users may see different texts of it: it holds a whole call.
    public var dependsOnViewer: Bool { call.map { !$0.views.isEmpty } ?? false }
}
