// What a decision hook returned, read and checked.

import CLua
import CallModel
import JSON

/// What a script returned from a hook.
enum Returned {
    case nothing
    case decision(Int, [LuaValue])
    case value(LuaValue)

    /// Reads the result of a handler.
    init(_ bytes: callua_bytes) {
        // An array of no value, or of a single nil: by far the most frequent results.
        if bytes.count <= 5 || bytes.start[5] == UInt8(PLAIN_NIL) {
            self = .nothing
            return
        }
        var reader = PlainReader(bytes)
        _ = reader.byte()
        _ = reader.length()
        guard bytes.start[5] == UInt8(PLAIN_DECISION) else {
            self = .value(reader.value())
            return
        }
        _ = reader.byte()
        _ = reader.length()
        let kind = Int(reader.byte())
        self = .decision(kind, reader.values())
    }
}

extension callua_bytes {
    /// Whether these results of a handler begin with a decision.
    var isDecision: Bool { count > 5 && start[5] == UInt8(PLAIN_DECISION) }
}

/// Why a returned value is no decision.
struct BadReturn: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

extension Returned {
    /// The decision about an invitation; nil: no opinion.
    func invitation(_ view: CallView, _ setting: PluginSetting) throws(BadReturn) -> Decision? {
        switch self {
        case .nothing: return nil
        case .value(let value):
            throw BadReturn("on.invite returned \(value.typePhrase), not a decision")
        case .decision(PLAIN_REJECT, let arguments):
            return try Self.rejection(arguments, dataMax: setting.extendedDataMax)
        case .decision(PLAIN_ACCEPT, let arguments):
            let options = arguments.first ?? .null
            let wait = try Self.span(options["wait"], below: view.remaining, "wait")
            let data = try Self.data(options["extended_data"], max: setting.extendedDataMax)
            return .accept(wait: wait ?? 0, extendedData: data)
        case .decision(PLAIN_RING, let arguments):
            return .ring(for: try Self.ringTime(arguments.first ?? .null, view))
        case .decision(PLAIN_FORWARD, let arguments):
            let text = arguments.first?.text ?? ""
            guard let user = UserID(checking: text) else {
                throw BadReturn("forward: bad user id '\(text)'")
            }
            guard setting.directory?.contains(user) ?? true else {
                throw BadReturn("forward: there is no user '\(text)'")
            }
            guard view.call.index(of: user) == nil else {
                throw BadReturn("forward: '\(text)' is in the call already")
            }
            return .forward(user)
        case .decision(let kind, _):
            throw BadReturn("on.invite cannot answer with '\(Self.name(of: kind))'")
        }
    }

    /// Whether the plugin wants to be asked again itself when the time of its `ring` is over.
    var asksAgain: Bool {
        if case .decision(PLAIN_RING, let arguments) = self {
            return arguments.first?["again"].bool ?? false
        }
        return false
    }

    private static func ringTime(
        _ options: LuaValue, _ view: CallView
    ) throws(BadReturn) -> Milliseconds? {
        let span = try span(options["for_"], below: view.remaining, "for_")
        if options["again"].isNull { return span }
        guard options["again"].bool != nil else { throw BadReturn("ring: again is true or false") }
        // A plugin that asks itself again at once would ask itself for ever.
        guard let span, span >= 1_000 else {
            throw BadReturn("ring: again needs a for_ of at least \"1s\"")
        }
        return span
    }

    /// The functions that make decisions, by kind.
    static let decisions = ["accept", "reject", "ring", "forward", "refuse", "allow", "drop"]

    static func name(of kind: Int) -> String {
        kind < decisions.count ? decisions[kind] : "?"
    }

    private static func rejection(
        _ arguments: [LuaValue], dataMax: Int
    ) throws(BadReturn) -> Decision {
        let reason = arguments.first?.text ?? ""
        var value = arguments.count > 1 ? arguments[1]["extended_data"] : .null
        if reason == "busy" || reason == "declined" {
            return .reject(
                busy: reason == "busy", extendedData: try data(value, max: dataMax))
        }
        guard (1...64).contains(reason.utf8.count) else {
            throw BadReturn("reject: a reason has 1 to 64 bytes")
        }
        // The own text goes into the data, where nothing stands under that key yet (F61).
        if value.isNull { value = .table([]) }
        if case .table(var pairs) = value, value["reason"].isNull {
            pairs.append(LuaValue.Pair(key: .text("reason"), value: .text(reason)))
            value = .table(pairs)
        }
        return .reject(busy: false, extendedData: try data(value, max: dataMax))
    }

    /// Extended data given as a table or a string.
    static func data(_ value: LuaValue, max: Int) throws(BadReturn) -> String? {
        let text: String
        switch value {
        case .null: return nil
        case .text(let given): text = given
        default:
            do throws(LuaProblem) {
                text = try value.json().description
            } catch {
                throw BadReturn("extended_data: \(error.message)")
            }
        }
        guard text.utf8.count <= max else {
            throw BadReturn("extended_data has \(text.utf8.count) bytes, over the limit of \(max)")
        }
        return text
    }

    private static func span(
        _ value: LuaValue, below limit: Milliseconds, _ name: String
    ) throws(BadReturn) -> Milliseconds? {
        if value.isNull { return nil }
        guard let text = value.text, let span = Duration.parse(text) else {
            throw BadReturn("\(name): bad duration '\(value.shown)' (write \"3s\")")
        }
        guard span < limit else {
            throw BadReturn("\(name): \(text) is not shorter than the \(Duration.text(limit)) left")
        }
        return span
    }
}
