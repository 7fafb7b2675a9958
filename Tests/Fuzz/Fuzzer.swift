// What a fuzzer is, and the list of all.

/// A property that is checked with made-up input, again and again.
///
/// Each iteration gets its own generator, made from the seed and the number of the iteration, so
/// that one iteration can be replayed alone. It throws `FuzzFailure` when the property does not
/// hold; a crash counts as a failure too.
struct Fuzzer: Sendable {
    /// The word on the command line.
    let name: String
    /// The property in one line.
    let property: String
    /// True for a fuzzer with a planted bug, which must fail: it shows that failures are seen.
    var mustFail = false
    /// One iteration.
    let iterate: @Sendable (inout FuzzGenerator) throws(FuzzFailure) -> Void

    /// All fuzzers; a new one is added here.
    static let all: [Fuzzer] = [
        .json, .jsonCanary, .http, .httpCanary, .frames, .framesCanary, .links,
        .linksCanary, .messages,
        .messagesCanary, .tokens, .tokensCanary, .configuration, .configurationCanary, .records,
        .recordsCanary, .canary,
    ]

    /// The iteration `number` of a run with `seed`.
    func iterate(seed: UInt64, number: Int) throws(FuzzFailure) {
        var generator = FuzzGenerator(seed: seed, iteration: number)
        try iterate(&generator)
    }
}

/// A property that did not hold.
struct FuzzFailure: Error, CustomStringConvertible {
    let what: String
    let input: [UInt8]

    /// The failure with its input as printable text, other bytes as `\xNN`.
    var description: String {
        let text = input.map { byte in
            if (0x20...0x7E).contains(byte), byte != 0x5C {
                return String(Character(Unicode.Scalar(byte)))
            }
            return "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "\(what)\n  input: \(text.joined())"
    }
}

/// Throws unless `condition` holds.
func expect(
    _ condition: Bool, _ what: @autoclosure () -> String, _ input: [UInt8]
) throws(FuzzFailure) {
    if !condition { throw FuzzFailure(what: what(), input: input) }
}
