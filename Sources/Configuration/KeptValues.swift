// The evaluated values of one part of callagent.lua, as they are kept: with the expression that
// stands for a secret, never with its text.

import JSON
import Lua

/// What the operator's file assigned to the names of one part.
public struct KeptValues: Sendable, Equatable {
    /// By name, in the order of the names.
    var members: [(name: String, value: LuaValue)] = []
    /// All of them with those that are not kept: for a digest.
    private(set) var whole = ""
    /// The keys that are written as text, such as `auth[1].key`: they are not among the values.
    public private(set) var textKeys: [String] = []

    /// Nothing but defaults.
    public init() {}

    /// Whether the same values are kept.
    public static func == (a: KeptValues, b: KeptValues) -> Bool {
        a.whole == b.whole && a.textKeys == b.textKeys
            && a.members.map(\.name) == b.members.map(\.name)
            && a.members.map(\.value) == b.members.map(\.value)
    }

    /// Notes what `name` was given. Equal values give equal texts, however the file came to them.
    mutating func add(_ name: String, _ value: LuaValue) {
        members.append((name, value))
    }

    /// The values as a file that says the same; it has nothing of the operator's own words.
    public var text: String {
        members.map { "\($0.name) = \($0.value.kept)\n" }.joined()
    }

    /// The files that secrets among the values are in, as the operator's file names them.
    public var secretFiles: [String] {
        var found: [String] = []
        for member in members {
            for source in member.value.secretSources where source.hasPrefix("file:") {
                let path = String(source.dropFirst(5))
                if !found.contains(path) { found.append(path) }
            }
        }
        return found
    }

    /// Each name with its value as an expression of Lua that shows no secret: `"***"` stands for a
    /// secret, and of an address only scheme and host are left.
    public var shown: [(name: String, value: String)] {
        members.map { ($0.name, $0.value.redacted.kept) }
    }

    // MARK: Keys written as text

    /// The same without keys that are written as text: they are in no store.
    func withoutTextKeys() -> KeptValues {
        var kept = KeptValues()
        kept.whole = text
        for (name, value) in members {
            switch name {
            case "auth" where value.list != nil, "webhooks" where value.list != nil:
                kept.add(name, .list(kept.entries(of: value, name)))
            case "push":
                let providers = (value.table ?? []).filter { pair in
                    kept.keeps(pair.value, "\(name).\(pair.key.text ?? "")")
                }
                kept.add(name, .table(providers))
            case "cluster":
                if kept.keeps(value, name) { kept.add(name, value) }
            default: kept.add(name, value)
            }
        }
        return kept
    }

    private mutating func entries(of value: LuaValue, _ name: String) -> [LuaValue] {
        var entries: [LuaValue] = []
        for (index, entry) in (value.list ?? []).enumerated()
        where keeps(entry, "\(name)[\(index + 1)]") {
            entries.append(entry)
        }
        return entries
    }

    /// Whether the keys of an entry are secrets; notes those that are not.
    private mutating func keeps(_ entry: LuaValue, _ place: String) -> Bool {
        var keeps = true
        for field in ["key", "account", "secret", "database"] {
            let texts = entry[field].list ?? [entry[field]]
            guard texts.contains(where: { $0.text != nil && $0.secretSources.isEmpty }) else {
                continue
            }
            textKeys.append("\(place).\(field)")
            keeps = false
        }
        return keeps
    }
}

extension LuaValue {
    /// The value without secrets, and without what stands behind the host of an address.
    fileprivate var redacted: LuaValue {
        switch self {
        case .text(let text):
            guard secretSources.isEmpty else { return .text("***") }
            return .text(Self.withoutPath(text))
        case .list(let values): return .list(values.map(\.redacted))
        case .table(let pairs):
            return .table(
                pairs.map { pair in
                    let isSecret = SecretName.isOne(pair.key.text ?? "")
                    return Pair(key: pair.key, value: isSecret ? .text("***") : pair.value.redacted)
                })
        default: return self
        }
    }

    /// `https://host:port/…` of an address with more behind it.
    private static func withoutPath(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: "://".utf8) })
        else { return text }
        let host = bytes[(place + 3)...].prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
        }
        let end = place + 3 + host.count
        // Who is asked for in the name of whom stands before an @.
        let plain = host.split(separator: UInt8(ascii: "@")).last ?? host
        return String(decoding: bytes[..<(place + 3)], as: UTF8.self)
            + String(decoding: plain, as: UTF8.self) + (end < bytes.count ? "/…" : "")
    }

    /// The value as an expression of Lua, secrets as the calls that they came from.
    fileprivate var kept: String {
        switch self {
        case .text(let text):
            let pieces = SecretMark.pieces(of: text).map { piece in
                switch piece {
                case .plain(let text): Self.quoted(Array(text.utf8))
                case .secret(let source): "secret \(Self.quoted(Array(source.utf8)))"
                }
            }
            return pieces.isEmpty ? "\"\"" : pieces.joined(separator: " .. ")
        case .bytes(let bytes): return Self.quoted(bytes)
        case .list(let values):
            return values.isEmpty ? "{}" : "{ \(values.map(\.kept).joined(separator: ", ")) }"
        case .table(let pairs):
            let members = pairs.map { "[\($0.key.kept)] = \($0.value.kept)" }
            return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
        case .number(let number) where !number.isFinite:
            return number.isNaN ? "0/0" : number < 0 ? "-1/0" : "1/0"
        case .null, .bool, .integer, .number: return shown
        case .function, .call, .user, .handle, .decision: return "nil"
        }
    }

    /// A string of Lua that any bytes fit into.
    private static func quoted(_ bytes: [UInt8]) -> String {
        var text = "\""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text += "\\" + String(Character(Unicode.Scalar(byte)))
            case 0x20..<0x7F: text += String(Character(Unicode.Scalar(byte)))
            default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return text + "\""
    }

    /// Where the secrets among the values are.
    var secretSources: [String] {
        switch self {
        case .text(let text):
            SecretMark.pieces(of: text).compactMap { piece in
                if case .secret(let source) = piece { source } else { nil }
            }
        case .list(let values): values.flatMap(\.secretSources)
        case .table(let pairs): pairs.flatMap(\.value.secretSources)
        default: []
        }
    }

    /// The value with the texts of its secrets.
    func resolved(
        _ secret: (String) throws(LuaProblem) -> String
    ) throws(LuaProblem) -> LuaValue {
        switch self {
        case .text(let text):
            guard SecretMark.mayBe(in: text) else { return self }
            var whole = ""
            for piece in SecretMark.pieces(of: text) {
                switch piece {
                case .plain(let text):
                    guard !SecretMark.mayBe(in: text) else { throw SecretMark.changed }
                    whole += text
                case .secret(let source): whole += try secret(source)
                }
            }
            return .text(whole)
        case .list(let values):
            var list: [LuaValue] = []
            for value in values { list.append(try value.resolved(secret)) }
            return .list(list)
        case .table(let pairs):
            var table: [Pair] = []
            for pair in pairs {
                guard pair.key.secretSources.isEmpty else { throw SecretMark.changed }
                table.append(Pair(key: pair.key, value: try pair.value.resolved(secret)))
            }
            return .table(table)
        default: return self
        }
    }
}

/// What `secret "…"` is while the operator's file runs: a text that says where the secret is, so
/// that the expression, and not the secret, is what is kept.
enum SecretMark {
    /// Control characters that no setting has.
    private static let begin: Character = "\u{11}"
    private static let end: Character = "\u{12}"

    enum Piece {
        case plain(String)
        /// `env:NAME` or `file:PATH`.
        case secret(String)
    }

    static let changed = LuaProblem(
        "a secret may stand in a longer text, but it cannot be changed or be a name")

    static func of(_ source: String) -> String { "\(begin)\(source)\(end)" }

    static func mayBe(in text: String) -> Bool { text.utf8.contains { $0 == 0x11 || $0 == 0x12 } }

    static func pieces(of text: String) -> [Piece] {
        guard mayBe(in: text) else { return text.isEmpty ? [] : [.plain(text)] }
        var pieces: [Piece] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: begin),
            let stop = rest[start...].firstIndex(of: end)
        {
            if start > rest.startIndex { pieces.append(.plain(String(rest[..<start]))) }
            pieces.append(.secret(String(rest[rest.index(after: start)..<stop])))
            rest = rest[rest.index(after: stop)...]
        }
        if !rest.isEmpty { pieces.append(.plain(String(rest))) }
        return pieces
    }
}
