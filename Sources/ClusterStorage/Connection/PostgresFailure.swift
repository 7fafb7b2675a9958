// Why the database did not do something, as it or the network says.

import CPostgres
import StoreContract

/// A failure of one turn. Nothing is known of a commit whose failure `isUnknown`.
struct PostgresFailure: Error, Equatable {
    /// The five characters of SQLSTATE; empty when the server said nothing.
    var code = ""
    /// What the server, libpq or the system said.
    var text: String
    /// Which statement of the turn failed, from 0; nil: the connection did.
    var place: Int?

    /// Whether the connection cannot be used any more.
    var isLost: Bool { code.isEmpty || code.hasPrefix("57P") || code.hasPrefix("08") }

    // The codes of PostgreSQL that mean something here.
    static let divisionByZero = "22012"
    static let lockNotAvailable = "55P03"
    static let noSuchTable = "42P01"
    static let noSuchSchema = "3F000"
    static let notLetIn = "28000"
    static let checkViolation = "23514"

    /// The codes in what libpq says of connecting, as in `FATAL:  28P01: text`, in order.
    static func codes(in text: String) -> [String] {
        let bytes = Array(text.utf8)
        let (before, behind) = (Array(":  ".utf8), Array(": ".utf8))
        var found: [String] = []
        for place in bytes.indices where bytes[place...].starts(with: before) {
            let code = bytes[(place + before.count)...].prefix(codeSize)
            let isCode = code.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
            }
            guard code.count == codeSize, isCode, bytes[code.endIndex...].starts(with: behind)
            else { continue }
            found.append(String(decoding: code, as: UTF8.self))
        }
        return found
    }

    private static let codeSize = 5

    /// Whether waiting helps: the server starts, ends, has no room, or the way to it is broken.
    static func passes(_ code: String) -> Bool {
        ["08", "40", "53", "55", "57", "58", "XX"].contains { code.hasPrefix($0) }
    }

    /// As an error of the store at `name`.
    func error(of name: String, _ operation: String) -> StoreError {
        let shown = place == nil || code.isEmpty ? text : "\(text), SQLSTATE \(code)"
        return StoreError(kind, path: name, operation: operation, detail: shown)
    }

    private var kind: StoreError.Kind {
        switch code {
        case "53100": .diskFull
        case Self.noSuchTable, Self.noSuchSchema: .noSchema
        case Self.lockNotAvailable: .busy
        case "42501", Self.notLetIn, "28P01": .notAllowed
        case _ where isLost || code.hasPrefix("53") || code == "57014" || code == "25006":
            .unreachable
        default: .other
        }
    }
}
