// The one table of what scripts can call: names, types, help and the code behind them.

import JSON
import Lua

/// A host function as scripts see it.
struct Binding: Sendable {
    /// `f`, `table.f` or `kind:method`.
    let name: String
    /// `CALLUA_WAITS` and its like.
    var flags: Int = 0
    /// Parameters and result as lua-language-server writes them: `fun(a: T, b?: T): R`.
    let type: String
    /// One line for the editor.
    let help: String
    /// Runs it; what it returns goes back to Lua.
    let body: @Sendable (PluginState, Arguments) throws(Refused) -> Response

    init(
        _ name: String, _ flags: Int = 0, type: String, help: String,
        body: @escaping @Sendable (PluginState, Arguments) throws(Refused) -> Response
    ) {
        self.name = name
        self.flags = flags
        self.type = type
        self.help = help
        self.body = body
    }
}

/// What a host function says.
enum Response {
    case values([LuaValue])
    case json(JSONValue)
    /// The answer comes later; this is what it waits for.
    case wait(Wait)

    static let nothing = Response.values([])
    static func value(_ value: LuaValue) -> Response { .values([value]) }
    /// `nil, "limit"`: the plugin, or the accounts behind the event, have as much as they may.
    static let limit = Response.trouble("limit")
    /// `nil, "too_large"`: more data than it takes.
    static let tooLarge = Response.trouble("too_large")
    /// `nil, error`: trouble that a script is meant to handle.
    static func trouble(_ text: String) -> Response { .values([.null, .text(text)]) }
}

/// All bindings of plugins.
package enum Bindings {
    static let all: [Binding] =
        declarations + options + output + data + clock + waits + calls

    /// The methods of host objects need their kind named first.
    package enum Kind: UInt8, CaseIterable {
        case hours = 1
        case accounts = 2
        case test = 3

        var name: String {
            switch self {
            case .hours: "hours"
            case .accounts: "users"
            case .test: "t"
            }
        }
    }
}
