// For which accounts a set of plugins that is being tried decides.

/// The accounts that a canary decides for: some by their names, or a share of all by a hash.
public struct CanaryExtent: Sendable, Equatable {
    /// One reference, because every question about an account asks it.
    private let body: Body

    fileprivate final class Body: Sendable {
        let text: String
        let salt: String
        /// So many of `whole` parts of all hashes; nil: those that are named.
        let parts: UInt64?
        /// The hash of the salt, with which all others begin.
        let begin: UInt64
        /// Hashes of names, and of what stands before a `*`, with its lengths as bits.
        let names: [UInt64]
        let beginnings: [UInt64]
        let lengths: UInt64
        /// Whether everybody is named.
        let isEverybody: Bool

        init(_ words: [String], salt: String, parts: UInt64?) {
            (text, self.salt, self.parts) = (words.joined(separator: " "), salt, parts)
            let begin = add(0, to: hash(salt, from: 0xcbf2_9ce4_8422_2325))
            self.begin = begin
            let patterns = words.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
            names = words.filter { !$0.hasSuffix("*") }.map { hash($0, from: begin) }.sorted()
            beginnings = patterns.map { hash($0, from: begin) }.sorted()
            lengths = patterns.reduce(0) { $0 | bit($1.utf8.count) }
            isEverybody = patterns.contains("")
        }
    }

    /// What a text must be.
    public static let form = "is names with spaces between, a * at their ends, or 0.01% to 100%"

    /// A share has two decimals.
    private static let whole: UInt64 = 10_000

    /// The extent that `text` describes; nil: it is neither names with spaces between them, where a
    /// `*` stands only at an end, nor a share of `0.01%` to `100%`.
    public init?(_ text: String, salt: String) {
        let words = text.split(separator: " ").map(String.init)
        guard let first = words.first else { return nil }
        var parts: UInt64?
        if words.count == 1, first.hasSuffix("%") {
            parts = Self.parts(first.dropLast())
            guard parts != nil else { return nil }
        } else {
            guard words.allSatisfy({ Self.isPattern($0) }) else { return nil }
        }
        body = Body(words, salt: salt, parts: parts)
    }

    /// As the operator wrote it: `desk-1* ann`, or `10%`.
    public var text: String { body.text }
    /// The beginning of what is hashed, so that each set of plugins meets other accounts.
    public var salt: String { body.salt }

    /// Whether both were written alike: then they mean the same accounts.
    public static func == (one: CanaryExtent, other: CanaryExtent) -> Bool {
        one.body === other.body || (one.text, one.salt) == (other.text, other.salt)
    }

    private static func isPattern(_ word: String) -> Bool {
        let body = word.hasSuffix("*") ? String(word.dropLast()) : word
        return !body.contains("*") && (word == "*" || UserID(checking: body) != nil)
    }

    /// `12.5` as 1,250 parts.
    private static func parts(_ text: Substring) -> UInt64? {
        let halves = text.split(separator: ".", omittingEmptySubsequences: false)
        guard halves.count <= 2, halves.allSatisfy({ $0.utf8.allSatisfy(isDigit) }),
            let whole = UInt64(halves[0]), whole <= 100
        else { return nil }
        var parts = whole * 100
        if halves.count == 2 {
            guard (1...2).contains(halves[1].count), let rest = UInt64(halves[1]) else {
                return nil
            }
            parts += halves[1].count == 1 ? rest * 10 : rest
        }
        return (1...Self.whole).contains(parts) ? parts : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Whether `user` is one of the accounts: always the same for the same text and salt, on every
    /// machine. A larger share has all accounts of a smaller one with the same salt. Names are
    /// distinguished by 64 bits of a hash with a beginning that nobody outside knows.
    public func contains(_ user: UserID) -> Bool {
        let body = body
        guard let parts = body.parts else { return body.isNamed(user) }
        let mixed = mix(hash(user.text, from: body.begin))
        return mixed.multipliedFullWidth(by: Self.whole).high < parts
    }
}

extension CanaryExtent.Body {
    /// Whether `user` is named.
    func isNamed(_ user: UserID) -> Bool {
        if isEverybody { return true }
        var (hash, count, text) = (begin, 0, user.text)
        let isBeginning = text.withUTF8 { bytes in
            for byte in bytes {
                hash = add(byte, to: hash)
                count += 1
                if lengths & bit(count) != 0, beginnings.has(hash) { return true }
            }
            return false
        }
        return isBeginning || names.has(hash)
    }
}

extension [UInt64] {
    /// Whether `hash` is among these, which are sorted.
    fileprivate func has(_ hash: UInt64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] == hash { return true }
            if self[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return false
    }
}

// MARK: The hash

private func bit(_ length: Int) -> UInt64 { 1 << UInt64(length & 63) }

/// FNV-1a, 64 bits.
private func hash(_ text: String, from begin: UInt64) -> UInt64 {
    var (hash, text) = (begin, text)
    text.withUTF8 { for byte in $0 { hash = add(byte, to: hash) } }
    return hash
}

private func add(_ byte: UInt8, to hash: UInt64) -> UInt64 {
    (hash ^ UInt64(byte)) &* 0x100_0000_01b3
}

/// Spreads what the last letters of a name change over all bits.
private func mix(_ hash: UInt64) -> UInt64 {
    var hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash >> 33
}
