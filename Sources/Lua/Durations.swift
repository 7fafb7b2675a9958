// Durations and sizes as operators and plugins write them: "250ms", "3s", "10m", "7d", "16MB".

import CallModel

/// A duration written as a number and `ms`, `s`, `m`, `h` or `d`.
package enum Duration {
    private static let units: [(String, Milliseconds)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// The longest one, a hundred years: a moment that far away is still a moment.
    package static let longest: Milliseconds = 36_525 * 86_400_000

    /// The milliseconds that `text` says, or nil for anything else and for more than `longest`.
    package static func parse(_ text: String) -> Milliseconds? {
        parse(text, units: units).flatMap { $0 <= longest ? $0 : nil }
    }

    /// The shortest text for a duration.
    package static func text(_ span: Milliseconds) -> String {
        for (name, unit) in units.reversed() where span >= unit && span % unit == 0 {
            return "\(span / unit)\(name)"
        }
        return "\(span)ms"
    }

    fileprivate static func parse(_ text: String, units: [(String, Int64)]) -> Int64? {
        let digits = text.prefix { ("0"..."9").contains($0) || $0 == "." }
        guard let factor = units.first(where: { $0.0 == text.dropFirst(digits.count) })?.1,
            let first = digits.first, first != ".", digits.last != ".", digits.utf8.count <= 15
        else { return nil }
        if let whole = Int64(digits) {
            let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
            return overflow ? nil : product
        }
        guard let number = Double(digits) else { return nil }
        let product = number * Double(factor)
        return product < 9e15 ? Int64(product.rounded()) : nil
    }
}

/// A size written as a number and `B`, `KB`, `MB` or `GB` (of 1,024 each).
package enum ByteSize {
    private static let units: [(String, Int64)] = [
        ("B", 1), ("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30),
    ]

    /// The bytes that `text` says, or nil for anything else.
    package static func parse(_ text: String) -> Int? {
        Duration.parse(text, units: units).map { Int($0) }
    }

    /// The shortest text for a size.
    package static func text(_ size: Int) -> String {
        for (name, unit) in units.reversed() where size >= unit && Int64(size) % unit == 0 {
            return "\(Int64(size) / unit)\(name)"
        }
        return "\(size)B"
    }
}

extension Milliseconds {
    /// As many nanoseconds; 0 for what is negative.
    @inlinable public var nanoseconds: UInt64 { UInt64(Swift.max(0, self)) * 1_000_000 }
}
