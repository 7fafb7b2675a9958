// What a decision hook returned, read and checked.

import CLua
import CallModel
import Configuration
import JSON
import Lua

/// What a script returned from a hook.
package enum Returned {
    case nothing
    /// `reject "busy"` or `reject "declined"` and no more: what most refusals are.
    case rejection(busy: Bool)
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
        if kind == PLAIN_REJECT, reader.isAtOnly("busy") {
            self = .rejection(busy: true)
        } else if kind == PLAIN_REJECT, reader.isAtOnly("declined") {
            self = .rejection(busy: false)
        } else {
            self = .decision(kind, reader.values())
        }
    }

    /// The constructor of the decision.
    fileprivate var constructor: String {
        switch self {
        case .decision(let kind, _): Self.name(of: kind)
        case .rejection: Self.name(of: PLAIN_REJECT)
        case .nothing, .value: "?"
        }
    }

    /// A decision that this hook cannot answer with.
    func unfit(for hook: String) -> BadReturn {
        BadReturn("on.\(hook) cannot answer with '\(constructor)'")
    }
}

extension callua_bytes {
    /// Whether these results of a handler begin with a decision.
    var isDecision: Bool { count > 5 && start[5] == UInt8(PLAIN_DECISION) }
}

/// Why a returned value is no decision.
struct BadReturn: Error {
    let message: String
    /// Whether it is data that is too long or too deep.
    var isTooLarge = false

    init(_ message: String, isTooLarge: Bool = false) {
        self.message = message
        self.isTooLarge = isTooLarge
    }
}

/// What a plugin said about an invitation.
enum Opinion {
    case nothing
    /// The note says what of it had to be changed.
    case decision(Decision, note: String? = nil)
    /// It cannot be done with this call.
    case unfit(String)
}

extension Returned {
    /// The opinion about an invitation whose ring time ends in `remaining`.
    func invitation(
        _ view: CallView, _ remaining: Milliseconds, _ plugin: PluginState
    ) throws(BadReturn) -> Opinion {
        switch self {
        case .nothing: return .nothing
        case .value(let value):
            throw BadReturn("on.invite returned \(value.typePhrase), not a decision")
        case .rejection(let busy): return .decision(.reject(busy: busy, extendedData: nil))
        case .decision(PLAIN_REJECT, let arguments):
            return .decision(
                try Self.rejection(arguments, dataMax: plugin.setting.extendedDataMax))
        case .decision(PLAIN_ACCEPT, let arguments):
            return try Self.acceptance(arguments.first ?? .null, remaining, plugin)
        case .decision(PLAIN_RING, let arguments):
            return try Self.ringing(arguments.first ?? .null, remaining)
        case .decision(PLAIN_FORWARD, let arguments):
            return try Self.forwarding(arguments, view, plugin)
        case .decision: throw unfit(for: "invite")
        }
    }

    /// Whether the plugin wants to be asked again itself when the time of its `ring` is over.
    var asksAgain: Bool {
        if case .decision(PLAIN_RING, let arguments) = self {
            return arguments.first?["again"].bool ?? false
        }
        return false
    }

    /// What is left of the ring time behind a `wait` that was too long for it.
    private static let margin: Milliseconds = 500

    private static func acceptance(
        _ options: LuaValue, _ remaining: Milliseconds, _ plugin: PluginState
    ) throws(BadReturn) -> Opinion {
        let data = try Self.data(options["extended_data"], max: plugin.setting.extendedDataMax)
        let wait = try span(options["wait"], "wait") ?? 0
        guard wait > 0, wait >= remaining else {
            return .decision(.accept(wait: wait, extendedData: data))
        }
        let cut = max(0, remaining - margin)
        return .decision(
            .accept(wait: cut, extendedData: data),
            note: "wait: \(Duration.text(wait)) cut to \(cut) ms, \(remaining) ms were left")
    }

    private static func forwarding(
        _ arguments: [LuaValue], _ view: CallView, _ plugin: PluginState
    ) throws(BadReturn) -> Opinion {
        let named = arguments.first ?? .null
        let options = arguments.count > 1 ? arguments[1] : .null
        if let callee = view.callee, let invited = view.call.participant(callee),
            Int(invited.hops) >= Settings.forwardHopsMax
        {
            return .unfit("forward: it was forwarded \(invited.hops) times already")
        }
        let each = try turn(options)
        guard let list = named.list else {
            let user = try target(named, plugin)
            if let why = try obstacle(to: user, in: view.call) { return .unfit(why) }
            return .decision(.forward([user], each: each))
        }
        guard list.count <= Settings.groupMembersMax else {
            throw BadReturn("forward: more than \(Settings.groupMembersMax) users")
        }
        if list.count > 1, each == nil {
            guard options["first"].bool == true else {
                throw BadReturn("forward: several need { first = true } or { each = \"15s\" }")
            }
            if view.call.mode.isTwoParty {
                return .unfit("forward: two people are in such a call; { each = … } would do")
            }
        }
        var users: [UserID] = []
        var known: Set<UserID> = []
        for value in list {
            let user = try target(value, plugin)
            // Whoever is in the call is left out, as whoever is busy is.
            if user != view.callee, known.insert(user).inserted,
                (try? obstacle(to: user, in: view.call)) == .some(nil)
            {
                users.append(user)
            }
        }
        if users.isEmpty { return .unfit("forward: nobody of them can be called") }
        let note = users.count < list.count ? "forward: \(list.count - users.count) left out" : nil
        return .decision(.forward(users, each: each), note: note)
    }

    private static func turn(_ options: LuaValue) throws(BadReturn) -> Milliseconds? {
        if options["first"].bool == true, !options["each"].isNull {
            throw BadReturn("forward: first and each exclude each other")
        }
        guard let each = try span(options["each"], "each") else { return nil }
        guard (1_000...Call.Fork.timeMax).contains(each) else {
            throw BadReturn("forward: each is between \"1s\" and \"10m\"")
        }
        return each
    }

    private static func target(
        _ value: LuaValue, _ plugin: PluginState
    ) throws(BadReturn) -> UserID {
        var text = value.text ?? value["id"].text ?? ""
        if case .user(let facts) = value { text = facts.user.text }
        guard let user = UserID(checking: text), user.group == nil else {
            throw BadReturn("forward: bad user id '\(text)'")
        }
        guard plugin.setting.directory?.contains(user) ?? true else {
            throw BadReturn("forward: there is no user '\(text)'")
        }
        return user
    }

    /// Why the call cannot be forwarded to `user`; nil: it can.
    private static func obstacle(to user: UserID, in call: Call) throws(BadReturn) -> String? {
        guard let member = call.participant(user) else { return nil }
        if member.reason == .forwarded {
            throw BadReturn("forward: '\(user)' has forwarded this call: that is a loop")
        }
        // Whose part is over may be invited again (G73).
        guard member.state.isLive else { return nil }
        let part = member.state == .joined ? "in the call" : "invited"
        return "forward: '\(user)' is \(part) already"
    }

    private static func ringing(
        _ options: LuaValue, _ remaining: Milliseconds
    ) throws(BadReturn) -> Opinion {
        let span = try span(options["for_"], "for_")
        if !options["again"].isNull {
            guard options["again"].bool != nil else {
                throw BadReturn("ring: again is true or false")
            }
            // A plugin that asks itself again at once would ask itself for ever.
            guard let span, span >= 1_000 else {
                throw BadReturn("ring: again needs a for_ of at least \"1s\"")
            }
        }
        guard let span, span >= remaining else { return .decision(.ring(for: span)) }
        return .decision(
            .ring(for: nil),
            note: "for_: \(Duration.text(span)) rings to the end, \(remaining) ms were left")
    }

    /// The functions that make decisions, by kind.
    static let decisions = [
        "accept", "reject", "ring", "forward", "refuse", "allow", "drop", "admit",
    ]

    package static func name(of kind: Int) -> String {
        kind < decisions.count ? decisions[kind] : "?"
    }

    private static func rejection(
        _ arguments: [LuaValue], dataMax: Int
    ) throws(BadReturn) -> Decision {
        guard let reason = arguments.first?.text else {
            throw BadReturn("reject: the reason is not UTF-8")
        }
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
            throw BadReturn(
                "extended_data has \(text.utf8.count) bytes, over the limit of \(max)",
                isTooLarge: true)
        }
        return text
    }

    private static func span(
        _ value: LuaValue, _ name: String
    ) throws(BadReturn) -> Milliseconds? {
        if value.isNull { return nil }
        guard let text = value.text, let span = Duration.parse(text) else {
            throw BadReturn("\(name): bad duration '\(value.shown)' (write \"3s\")")
        }
        return span
    }
}
