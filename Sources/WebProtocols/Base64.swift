// Base64 in both alphabets (RFC 4648), strict in what it reads.

/// Bytes as text and back.
public enum Base64 {
    /// Which of the two alphabets.
    public enum Alphabet: Sendable {
        /// `+` and `/`, padded with `=` (section 4).
        case standard
        /// `-` and `_`, without padding (section 5), as JOSE and Web Push use it.
        case url
    }

    /// The text of `bytes`.
    public static func encode(
        _ bytes: some Collection<UInt8>, as alphabet: Alphabet = .standard
    ) -> String {
        let text = bytes.withContiguousStorageIfAvailable { encode(buffer: $0, as: alphabet) }
        return text ?? Array(bytes).withUnsafeBufferPointer { encode(buffer: $0, as: alphabet) }
    }

    /// Three bytes at a time, two digits at once: journals are written as text all day.
    private static func encode(
        buffer bytes: UnsafeBufferPointer<UInt8>, as alphabet: Alphabet
    ) -> String {
        let pairs = alphabet == .standard ? standardPairs : urlPairs
        let digits = alphabet == .standard ? standardDigits : urlDigits
        return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            let target = UnsafeMutableRawBufferPointer(text)
            var (read, written) = (0, 0)
            pairs.withUnsafeBufferPointer { pairs in
                while read &+ 3 <= bytes.count {
                    let first = Int(bytes[read]) << 4 | Int(bytes[read &+ 1] >> 4)
                    let second = Int(bytes[read &+ 1] & 15) << 8 | Int(bytes[read &+ 2])
                    target.storeBytes(of: pairs[first], toByteOffset: written, as: UInt16.self)
                    target.storeBytes(
                        of: pairs[second], toByteOffset: written &+ 2, as: UInt16.self)
                    (read, written) = (read &+ 3, written &+ 4)
                }
            }
            let rest = bytes[read...]
            if !rest.isEmpty {
                // Eight bits are two digits, sixteen are three: zeros fill the last one.
                let bits = rest.reduce(0) { $0 << 8 | Int($1) } << (rest.count == 1 ? 4 : 2)
                for shift in stride(from: rest.count * 6, through: 0, by: -6) {
                    text[written] = digits[bits >> shift & 63]
                    written += 1
                }
            }
            while alphabet == .standard, written % 4 != 0 {
                text[written] = UInt8(ascii: "=")
                written += 1
            }
            return written
        }
    }

    /// The bytes of `text`, or nil if it is not exactly what `encode` would have written: another
    /// alphabet, white space, wrong padding and stray bits at the end are refused, so that two
    /// different texts never mean the same bytes.
    public static func decode(
        _ text: some Collection<UInt8>, as alphabet: Alphabet = .standard
    ) -> [UInt8]? {
        let values = alphabet == .standard ? standardValues : urlValues
        guard let digits = digits(of: text, alphabet), digits % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits * 3 / 4)
        var (bits, pending): (UInt32, Int) = (0, 0)
        for digit in text.prefix(digits) {
            let value = values[Int(digit)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            pending += 6
            if pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
            }
        }
        guard bits & (1 << UInt32(pending) - 1) == 0 else { return nil }
        return bytes
    }

    /// The bytes of `text`, or nil; see `decode(_:as:)` above.
    public static func decode(_ text: String, as alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(Array(text.utf8), as: alphabet)
    }

    /// What people paste: either alphabet, with or without padding; nil as of `decode`.
    public static func decodeEither(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8).reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        let asURL = digits.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return decode(asURL, as: .url)
    }

    /// How many digits come before the padding; nil if the padding is wrong.
    private static func digits(of text: some Collection<UInt8>, _ alphabet: Alphabet) -> Int? {
        guard alphabet == .standard else { return text.count }
        guard text.count % 4 == 0 else { return nil }
        let end = text.suffix(2).filter { $0 == UInt8(ascii: "=") }.count
        return text.count - end
    }

    private static let standardDigits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlDigits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// Two digits for each number of twelve bits, as they stand in memory.
    private static let standardPairs = pairs(of: standardDigits)
    private static let urlPairs = pairs(of: urlDigits)
    private static let standardValues = values(of: standardDigits)
    private static let urlValues = values(of: urlDigits)

    private static func pairs(of digits: [UInt8]) -> [UInt16] {
        digits.flatMap { first in
            digits.map { UInt16(littleEndian: UInt16(first) | UInt16($0) << 8) }
        }
    }

    private static func values(of digits: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }
}
