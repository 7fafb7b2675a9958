// The line of a decision without somebody.

import CallModel
import JSON
import PolicyHost

extension DecisionRecord {
    /// The record without somebody, and without what they said.
    public func forgetting(_ gone: Forgotten) -> DecisionRecord {
        let line = line
        guard let new = Self.forgetting(gone, in: line), new != line else { return self }
        return DecisionRecord(line: new) ?? self
    }

    /// A line of the decision log without somebody; nil: it cannot be read, and may name them.
    public static func forgetting(_ gone: Forgotten, in line: some Collection<UInt8>) -> [UInt8]? {
        let bytes = Array(line)
        let limits = JSONLimits(bytes: max(1, bytes.count))
        if let json = try? JSONValue(parsing: bytes, limits: limits) {
            return LineRewriting(gone, json).rewrite(json, at: "").bytes
        }
        return gone.isNamed(in: String(decoding: bytes, as: UTF8.self)) ? nil : bytes
    }
}

/// Walks through the JSON of a line. Where ids stand is known by the names of members; every other
/// text is looked through, except for words of our own.
private struct LineRewriting {
    private let gone: Forgotten
    /// Whether they made the call: what it says is theirs then.
    private let isCaller: Bool
    /// Whether they are who asked.
    private let isAsker: Bool

    init(_ gone: Forgotten, _ line: JSONValue) {
        self.gone = gone
        let caller = line["input"]?["call"]?["participants"]?[0]?["user"]?.string
        isCaller = caller == gone.user.text
        isAsker = line["user"]?.string == gone.user.text
    }

    /// Members whose texts are words of our own, or names of plugins.
    private static let words: Set<String> = [
        "event", "hook", "generation", "shadow", "plugin", "said", "failure", "action", "reason",
        "mode", "kind", "state", "role", "of", "dice", "provider", "call",
        "traceparent",
    ]
    /// Objects whose members are named by plugins.
    private static let free: Set<String> = ["vars", "payload", "value", "items"]

    /// `value` without them, where it stands under the name that `path` ends with.
    func rewrite(_ value: JSONValue, at path: String) -> JSONValue {
        let key = path.split(separator: "/").last.map(String.init) ?? ""
        switch value {
        case .string(let text):
            // The plugin that decided; names of copies.
            let isOurs = path == "/decision/by" || path.hasPrefix("/input/states/")
            if isOurs || Self.words.contains(key) { return value }
            return .string(gone.replacing(in: text))
        case .array(let all):
            return .array(all.map { rewrite($0, at: path) })
        case .object(let object): return .object(rewrite(object, at: path))
        case .null, .bool, .integer, .number: return value
        }
    }

    private func rewrite(_ object: JSONObject, at path: String) -> JSONObject {
        let isHis = object["user"]?.string == gone.user.text
        let isFree = path.split(separator: "/").contains { Self.free.contains(String($0)) }
        var members: [JSONObject.Member] = []
        for member in object.members {
            if isHis, Self.saidBy.contains("\(path)/\(member.key)") { continue }
            if isCaller, path == "/input/call", member.key == "extended_data" { continue }
            if isAsker, path == "/input", member.key == "data" {
                members.append(.init(key: member.key, value: ""))
                continue
            }
            let key = isFree ? gone.replacing(in: member.key) : member.key
            members.append(
                .init(key: key, value: rewrite(member.value, at: "\(path)/\(member.key)")))
        }
        return JSONObject(members)
    }

    /// What they said, and what they are called.
    private static let saidBy: Set<String> = [
        "/input/call/participants/extended_data", "/input/call/users/name", "/input/seen/user/name",
    ]
}
