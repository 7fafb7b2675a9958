// How long a call may be on the wire.

import CallModel

/// An upper bound of a call's size on the wire.
public enum CallSize {
    /// Bytes of the JSON of `call`, at most: texts may be escaped.
    public static func estimate(_ call: Call) -> Int {
        var texts = (call.extendedData?.utf8.count ?? 0) + (call.end?.extendedData?.utf8.count ?? 0)
        for participant in call.participants { texts += participant.extendedData?.utf8.count ?? 0 }
        for item in call.items { texts += item.key.utf8.count + item.value.utf8.count + 8 }
        return 600 + call.participants.count * 420 + texts * 2
    }
}
