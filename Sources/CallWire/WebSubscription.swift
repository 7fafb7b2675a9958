// The form of a browser's subscription for pushes, seen to when a device registers.

import CallModel
import JSON

/// What `PushSubscription.toJSON()` gives (Push API; RFC 8291 section 2). Whether the key is a
/// point on the curve shows with the first push: that takes cryptography.
enum WebSubscription {
    /// 65 bytes, an uncompressed point, in base64url without padding.
    private static let keyDigits = 87
    /// 16 bytes in base64url without padding.
    private static let secretDigits = 22

    /// Refuses what no push can be sent to, by the path of the field.
    static func check(_ text: String) throws(Refusal) {
        let json = try? JSONValue(parsing: text)
        guard let endpoint = json?["endpoint"]?.string else {
            throw .badField("subscription.endpoint", "is required, a string")
        }
        guard isSecureURL(endpoint) else {
            throw .badField("subscription.endpoint", "must be an https URL")
        }
        let key = digits(json?["keys"]?["p256dh"])
        // The first byte of such a point is 4: a B, then a digit below 16.
        guard key?.count == keyDigits, let second = key?[1], key?[0] == UInt8(ascii: "B"),
            (UInt8(ascii: "A")...UInt8(ascii: "P")).contains(second)
        else {
            throw .badField(
                "subscription.keys.p256dh", "must be an uncompressed point on P-256 in base64url")
        }
        guard digits(json?["keys"]?["auth"])?.count == secretDigits else {
            throw .badField("subscription.keys.auth", "must be 16 bytes in base64url")
        }
    }

    private static func isSecureURL(_ text: String) -> Bool {
        let scheme = "https://"
        guard text.prefix(scheme.count).lowercased() == scheme else { return false }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        guard let first = rest.first, !"/?#:@".utf8.contains(first) else { return false }
        return rest.allSatisfy { (0x21..<0x7F).contains($0) }
    }

    /// The digits of base64 in either alphabet, as pushing reads them; nil for any other text.
    private static func digits(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string else { return nil }
        let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        let isFine = digits.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false  // external: a byte of a client's text
            }
        }
        return isFine ? Array(digits) : nil
    }
}
