// The form of push tokens, seen to when a device registers.

import CallModel

/// What can be told of a token without asking who made it.
enum PushToken {
    /// Apple's tokens have 32 bytes and may grow; nobody has seen one beyond 100.
    private static let appleDigits = 64...200

    /// Refuses what is no device token of Apple: an even number of hexadecimal digits.
    static func checkApple(_ token: String) throws(Refusal) {
        let count = token.utf8.count
        guard appleDigits.contains(count), count.isMultiple(of: 2),
            token.utf8.allSatisfy(isHexDigit)
        else {
            throw .badField(
                "token",
                "must be \(appleDigits.lowerBound) to \(appleDigits.upperBound) hexadecimal digits,"
                    + " two for each byte")
        }
    }

    /// Refuses what is no registration token of Google: printable ASCII without space.
    static func checkGoogle(_ token: String) throws(Refusal) {
        guard token.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            throw .badField("token", "must be printable ASCII without space")
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false  // external: a byte of a client's text
        }
    }
}
