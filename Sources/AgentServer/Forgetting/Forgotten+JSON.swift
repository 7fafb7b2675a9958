// Who is forgotten, in JSON: where they are named, and what is kept of them until it is done.

import CallModel
import JSON

extension Forgotten {
    /// Whether a text of this JSON names them; bytes that are no JSON are looked through as text.
    func isNamed(in bytes: [UInt8]) -> Bool {
        let limits = JSONLimits(bytes: max(1, bytes.count))
        guard let json = try? JSONValue(parsing: bytes, limits: limits) else {
            return isNamed(in: String(decoding: bytes, as: UTF8.self))
        }
        return isNamed(in: json)
    }

    private func isNamed(in json: JSONValue) -> Bool {
        if let text = json.string { return isNamed(in: text) }
        if let all = json.array { return all.contains { isNamed(in: $0) } }
        return json.object?.members.contains { isNamed(in: $0.key) || isNamed(in: $0.value) }
            ?? false
    }

    /// What is kept until they are forgotten.
    var kept: [UInt8] {
        JSONValue.object([
            "as": .string(substitute.text), "name": name.map { .string($0.text) } ?? .null,
        ]).bytes
    }

    /// Somebody whom an earlier process began to forget.
    init?(_ user: UserID, kept bytes: [UInt8]?) {
        guard let bytes, let json = try? JSONValue(parsing: bytes),
            let substitute = json["as"]?.string
        else { return nil }
        let name = json["name"]?.string.flatMap { PersonName(checking: $0) }
        self.init(user, as: UserID(substitute), called: name)
    }
}
