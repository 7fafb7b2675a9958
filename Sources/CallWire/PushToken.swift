// The form of push tokens, seen to when a device registers.

import CallModel

/// What can be told of a token without asking who made it: only its maker knows its length.
enum PushToken {
    /// Refuses what is no device token of Apple: its hexadecimal digits become part of a path, so
    /// nothing may stand in it that means something there.
    static func checkApple(_ token: String) throws(Refusal) {
        guard token.utf8.allSatisfy(isUnreserved) else {
            throw .badField("token", "must be the token's bytes as hexadecimal digits")
        }
    }

    /// Refuses what is no registration token of Google: printable ASCII without space.
    static func checkGoogle(_ token: String) throws(Refusal) {
        guard token.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            throw .badField("token", "must be printable ASCII without space")
        }
    }

    /// Whether the byte means itself in a URL (RFC 3986 section 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false  // external: a byte of a client's text
        }
    }
}
