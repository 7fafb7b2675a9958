// The names of things: users, devices, calls, requests, questions.

/// A user: 1-64 bytes of printable ASCII without space.
public struct UserID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The id as clients write it.
    public let text: String

    /// An id that is already known to be well formed.
    public init(_ text: String) { self.text = text }

    /// The id in `text`, or nil when it is not 1-64 bytes of printable ASCII without space.
    public init?(checking text: String) {
        guard isIdentifier(text) else { return nil }
        self.text = text
    }

    /// What an id begins with that names a group of people and no user.
    public static let groupPrefix = "group:"

    /// The group that it names; nil: it is a user.
    public var group: String? {
        // Most begin otherwise: that is seen sooner than that they do not begin with all of it.
        guard text.utf8.first == UInt8(ascii: "g"), text.hasPrefix(Self.groupPrefix) else {
            return nil
        }
        return String(text.dropFirst(Self.groupPrefix.count))
    }

    /// By their bytes.
    public static func < (left: UserID, right: UserID) -> Bool { left.text < right.text }
    /// The bytes as they are: users are ASCII.
    public func hash(into hasher: inout Hasher) { hasher.combine(ascii: text) }
    /// The text.
    public var description: String { text }
}

/// One installation of a user; unique within the user. Same form as a user id.
public struct DeviceID: Hashable, Sendable, CustomStringConvertible {
    /// The id as clients write it.
    public let text: String

    /// An id that is already known to be well formed.
    public init(_ text: String) { self.text = text }

    /// The id in `text`, or nil when it is not 1-64 bytes of printable ASCII without space.
    public init?(checking text: String) {
        guard isIdentifier(text) else { return nil }
        self.text = text
    }

    /// The bytes as they are: devices are ASCII.
    public func hash(into hasher: inout Hasher) { hasher.combine(ascii: text) }
    /// The text.
    public var description: String { text }
}

extension Hasher {
    /// Feeds a text that has only one spelling, so that comparing bytes is enough.
    fileprivate mutating func combine(ascii text: String) {
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

func isIdentifier(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
        guard (1...64).contains(bytes.count) else { return false }
        for byte in bytes where !(0x21...0x7E).contains(byte) { return false }
        return true
    }
}

/// A call: 128 bits, written as 32 lower-case hex digits, sorting by creation time.
///
/// The upper 48 bits are the millisecond of creation, the next 16 a counter within it,
/// the lower 64 random: whoever does not know an id cannot guess it.
public struct CallID: Hashable, Sendable, Comparable, BitwiseCopyable, CustomStringConvertible {
    /// Milliseconds since 1970 and a counter.
    public let high: UInt64
    /// Random bits.
    public let low: UInt64

    /// The id of these two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The id written as 32 lower-case hex digits, or nil for any other text.
    @inlinable
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for (index, byte) in text.utf8.enumerated() {
            let digit: UInt64
            switch byte {
            case 0x30...0x39: digit = UInt64(byte - 0x30)
            case 0x61...0x66: digit = UInt64(byte - 0x61 + 10)
            default: return nil  // external: a byte
            }
            if index < 16 {
                halves.0 = halves.0 << 4 | digit
            } else {
                halves.1 = halves.1 << 4 | digit
            }
        }
        (high, low) = halves
    }

    /// When the call was made, by the id.
    public var createdAt: Moment { Moment(Int64(high >> 16)) }

    /// By the time at which they were made.
    public static func < (left: CallID, right: CallID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    /// 32 lower-case hex digits.
    public var description: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            writeDigits(to: buffer)
            return 32
        }
    }

    /// Writes the 32 digits.
    func writeDigits(to buffer: UnsafeMutableBufferPointer<UInt8>) {
        for index in 0..<16 {
            let shift = UInt64(60 - index * 4)
            buffer[index] = hexDigit(high >> shift)
            buffer[index + 16] = hexDigit(low >> shift)
        }
    }

    private func hexDigit(_ nibble: UInt64) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: nibble & 0xF)
        return digit < 10 ? 0x30 + digit : 0x57 + digit
    }
}

/// A request under way, named by the shell; its reply carries the same value.
public struct RequestID: Hashable, Sendable {
    /// Chosen by the shell; the core never looks into it.
    public let value: UInt64

    /// A request named `value`.
    public init(_ value: UInt64) { self.value = value }
}

/// A question to the policies, named by the core; its answer carries the same value.
public struct QuestionID: Hashable, Sendable {
    /// Unique within one life of a switchboard.
    public let value: UInt64

    /// A question named `value`.
    public init(_ value: UInt64) { self.value = value }
}

/// Random numbers that depend only on a seed (SplitMix64): the core's only source of randomness.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The seed of a generator that continues this one.
    public var seed: UInt64 { state }

    /// A generator that gives the same numbers for the same `seed`.
    public init(seed: UInt64) { state = seed }

    /// The next number of the sequence (SplitMix64).
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
