// The call object that was written last, for those who show the same one.

import CallModel
import JSON

/// The text of one call as everybody sees it who has no view of his own. An invitation is answered
/// with the call, and the events that follow show the same one: it is written once.
public struct CallText: ~Copyable {
    private var writer: JSONWriter
    /// Which call it is, and how old: a change of the object changes the revision (C36), and one
    /// of a name the names' version.
    private var shown: (id: CallID, revision: UInt32, names: UInt64)?

    /// No call yet; `capacity` bytes have room before it has to grow.
    public init(capacity: Int = 1_024) { writer = JSONWriter(capacity: capacity) }

    /// Forgets the call: after a failure of the store its revisions may start again.
    public mutating func forget() { shown = nil }

    /// Writes `call` as `viewer` sees it.
    mutating func write(
        _ call: Call, for viewer: UserID, by encoder: WireEncoder,
        into target: inout JSONWriter
    ) {
        guard call.views.isEmpty else {
            return encoder.write(call, for: viewer, into: &target)
        }
        let names = encoder.names?.version ?? 0
        if shown?.id != call.id || shown?.revision != call.revision || shown?.names != names {
            writer.removeAll()
            encoder.write(call, for: viewer, into: &writer)
            shown = (call.id, call.revision, names)
        }
        target.value(raw: writer.written)
    }
}
