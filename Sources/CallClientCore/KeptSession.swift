// What outlives the app itself.

import CallModel
import CallWire
import JSON

/// A session and the calls in it, for the next run of an app: the system may end an app at any
/// time, and its user is still in a call. Whoever has it and a token of the user can go on with the
/// session; keep it where other apps cannot read it.
public struct KeptSession: Sendable, Equatable {
    let user: UserID
    let session: SessionID
    let received: UInt64
    let calls: [Call]
    let here: [CallID]

    init(user: UserID, session: SessionID, received: UInt64, calls: [Call], here: [CallID]) {
        self.user = user
        self.session = session
        self.received = received
        self.calls = calls.sorted { $0.id < $1.id }
        self.here = here.sorted()
    }

    /// The session in `json`; nil: that is none.
    public init?(json: [UInt8]) {
        let limits = JSONLimits(bytes: max(json.count, 1))
        guard let value = try? JSONValue(parsing: json, limits: limits),
            let user = value["user"]?.string.flatMap({ UserID(checking: $0) }),
            let session = value["session"]?.string.flatMap({ SessionID($0) }),
            let received = value["received"]?.integer, received >= 0
        else { return nil }
        self.init(
            user: user, session: session, received: UInt64(received),
            calls: (value["calls"]?.array ?? []).compactMap { Reading.decoder.call($0) },
            here: (value["here"]?.array ?? []).compactMap { $0.string.flatMap { CallID($0) } })
    }

    /// One JSON object.
    public var json: [UInt8] {
        var writer = JSONWriter()
        let encoder = WireEncoder()
        writer.object {
            $0.field("user", user.text)
            $0.field("session", session.description)
            $0.field("received", Int64(clamping: received))
            $0.array("calls") {
                for call in calls { encoder.write(call, for: user, into: &$0) }
            }
            $0.array("here") {
                for id in here { $0.value(id.description) }
            }
        }
        return writer.bytes
    }
}
