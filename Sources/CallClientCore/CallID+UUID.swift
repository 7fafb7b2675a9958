// The id of a call as other systems write 128 bits.

import CallModel

extension CallID {
    /// The same 128 bits as 8-4-4-4-12 hex digits, as CallKit wants them:
    /// `UUID(uuidString: id.uuid)`.
    public var uuid: String {
        var text = description
        for place in [20, 16, 12, 8] {
            text.insert("-", at: text.index(text.startIndex, offsetBy: place))
        }
        return text
    }

    /// The id in a text as `uuid` gives it, with capitals too, as `UUID.uuidString` writes it; nil:
    /// it is no such text.
    public init?(uuid text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        self.init(parts.joined().lowercased())
    }
}
