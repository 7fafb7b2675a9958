// One number for the body of a request, to tell a repeated request from a different one.

import CallModel
import JSON

/// FNV-1a, 64 bits, over the operation's name, a zero byte and the canonical data (B25). It is
/// stored with idempotency keys, so it must never change.
enum BodyHash {
    private static let start: UInt64 = 0xCBF2_9CE4_8422_2325
    private static let prime: UInt64 = 0x0000_0100_0000_01B3

    /// The hash of the operation `name` with `data`; none is the same as `{}`.
    static func of(_ name: OperationName, _ data: UnsafeRawBufferPointer?) -> UInt64 {
        var hash = start
        add(name.rawValue.utf8, to: &hash)
        add(CollectionOfOne(0), to: &hash)
        guard let data else {
            add("{}".utf8, to: &hash)
            return hash
        }
        // A number beyond a double has no canonical form; then the text as written must do.
        if let canonical = try? JSONCanonical.bytes(parsing: data) {
            add(canonical, to: &hash)
        } else {
            add(data, to: &hash)
        }
        return hash
    }

    private static func add(_ bytes: some Sequence<UInt8>, to hash: inout UInt64) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* prime }
    }
}
