// SHA-256 (FIPS 180-4), to name generations by what they are made of.

/// A digest that equal contents share and others do not.
enum SHA256 {
    private static let constants: [UInt32] = primes.map { fraction(cubeRoot: $0) }
    private static let initial: [UInt32] = primes.prefix(8).map { fraction(squareRoot: $0) }

    private static let primes: [UInt64] = (2...311).filter { number in
        !(2..<number).contains { number % $0 == 0 && $0 * $0 <= number }
    }

    /// The first 32 bits behind the point of the square root.
    private static func fraction(squareRoot number: UInt64) -> UInt32 {
        largest { $0.multipliedFullWidth(by: $0) <= (number, 0) }
    }

    /// The first 32 bits behind the point of the cube root: of x with x³ ≤ n·2⁹⁶.
    private static func fraction(cubeRoot number: UInt64) -> UInt32 {
        largest { root in
            let square = root.multipliedFullWidth(by: root)
            let low = square.low.multipliedFullWidth(by: root)
            let (high, overflow) = square.high.multipliedReportingOverflow(by: root)
            guard !overflow else { return false }
            let (top, carried) = high.addingReportingOverflow(low.high)
            return !carried && (top, low.low) < (number << 32, 1)
        }
    }

    /// The lower 32 bits of the largest number below 2³⁷ that `fits`.
    private static func largest(_ fits: (UInt64) -> Bool) -> UInt32 {
        var root: UInt64 = 0
        for bit in (0..<37).reversed() where fits(root | 1 << bit) { root |= 1 << bit }
        return UInt32(truncatingIfNeeded: root)
    }

    /// The digest of `bytes` as 64 hex digits.
    static func hex(_ bytes: [UInt8]) -> String {
        var message = bytes + [0x80]
        message += Array(repeating: 0, count: (120 - message.count % 64) % 64)
        let length = UInt64(bytes.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) {
            message.append(UInt8(truncatingIfNeeded: length >> UInt64(shift)))
        }
        var state = initial
        for start in stride(from: 0, to: message.count, by: 64) {
            compress(&state, message[start..<start + 64])
        }
        let digits = Array("0123456789abcdef")
        return String(
            state.flatMap { word in
                stride(from: 28, through: 0, by: -4).map { digits[Int(word >> UInt32($0) & 15)] }
            })
    }

    private static func compress(_ state: inout [UInt32], _ block: ArraySlice<UInt8>) {
        var words = [UInt32](repeating: 0, count: 64)
        for (index, byte) in block.enumerated() {
            words[index / 4] = words[index / 4] << 8 | UInt32(byte)
        }
        for index in 16..<64 {
            let (a, b) = (words[index - 15], words[index - 2])
            let first = a.rotated(7) ^ a.rotated(18) ^ a >> 3
            let second = b.rotated(17) ^ b.rotated(19) ^ b >> 10
            words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
        }
        var s = state
        for index in 0..<64 {
            let mixed = s[4].rotated(6) ^ s[4].rotated(11) ^ s[4].rotated(25)
            let choice = (s[4] & s[5]) ^ (~s[4] & s[6])
            let first = s[7] &+ mixed &+ choice &+ constants[index] &+ words[index]
            let spread = s[0].rotated(2) ^ s[0].rotated(13) ^ s[0].rotated(22)
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])
            s = [first &+ spread &+ majority, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
        }
        for index in 0..<8 { state[index] = state[index] &+ s[index] }
    }
}

extension UInt32 {
    fileprivate func rotated(_ count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}
