// The types of everything that scripts can call, for lua-language-server, made from the one table
// of bindings.

import CallModel

/// The `---@meta` file that `callagent meta` prints.
public enum MetaFile {
    /// What the file begins with.
    public static let mark = "---@meta callagent"

    /// The words of a field that has no others, as a type: editors and `check` know them.
    static func words<Words: CaseIterable & RawRepresentable>(_: Words.Type) -> String
    where Words.RawValue == String {
        words(Words.allCases.map(\.rawValue))
    }

    static func words(_ words: [String]) -> String {
        words.map { "\"\($0)\"" }.joined(separator: "|")
    }

    /// The whole file.
    public static var text: String {
        var lines = [mark, "-- Made by `callagent meta`; do not edit.", ""]
        lines += aliases + [""]
        for shape in shapes { lines += shape + [""] }
        lines += ["---@class Test"] + fields(of: "t", in: Bindings.tests) + [""]
        lines += ["---@class Hours"] + fields(of: "hours", in: Bindings.all) + [""]
        lines += ["---@class Users", "---@field [integer] string", "---@operator len: integer"]
        lines += fields(of: "users", in: Bindings.all) + [""]
        lines += ["---@class Call"] + callFields + fields(of: "call", in: Bindings.all) + [""]
        lines += libraries + constructors + functions
        return lines.joined(separator: "\n") + "\n"
    }

    /// Every name that the file declares: `f`, `table.f`, `kind:method`.
    static var names: [String] {
        (Bindings.all + Bindings.tests).map(\.name) + decisions.map(\.name) + ["random"]
            + callFieldNames.map { "call.\($0)" }
    }

    /// Texts of a form.
    private static let aliases = [
        "---@alias Duration string A text such as \"250ms\", \"3s\", \"10m\", \"2h\", \"7d\".",
        "---@alias TimeOfDay string A text such as \"09:00\".",
    ]

    private static let shapes: [[String]] = [
        [
            "---@class User", "---@field id string", "---@field calls integer",
            "---@field online boolean", "---@field devices integer", "---@field name string?",
            "---@operator concat(any): string",
        ],
        ["---@class Decision"],
        [
            "---@class Push", "---@field user string",
            "---@field provider \(PushDraft.providers)",
            "---@field kind \(PushDraft.kinds)", "---@field reason \(PushDraft.reasons)",
            "---@field topic string?", "---@field title string?",
            "---@field body string?", "---@field payload table?",
            "---@field payload_raw string?", "---@field expires_in integer",
            "---@field collapse_id string?",
        ],
        [
            "---@class Manifest", "---@field name? string", "---@field version? string",
            "---@field needs? string[]", "---@field after? string|string[]",
            "---@field guard? boolean",
            "---@field on_error? \"skip\"|\"default\"|\"reject\"|\"accept\"|\"unchanged\"",
            "---@field state_version? integer",
        ],
        [
            "---@class OptionExtra", "---@field min? number|string", "---@field max? number|string",
            "---@field required? boolean", "---@field help? string",
        ],
        [
            "---@class HttpExtra", "---@field json? any", "---@field body? string",
            "---@field headers? table<string, string>", "---@field timeout? Duration",
        ],
        [
            "---@class HttpReply", "---@field status integer", "---@field ok boolean",
            "---@field headers table<string, string>", "---@field body string",
            "---@field json any",
        ],
        [
            "---@class Summary", "---@field reason \(words(EndReason.self))",
            "---@field detail string?",
            "---@field duration number", "---@field answered boolean", "---@field by string?",
            "---@field extended_raw string?",
        ],
        [
            "---@class Context", "---@field reason \(words(ChangeReason.self))",
            "---@field generation string",
        ],
        [
            "---@class PluginError", "---@field plugin string",
            "---@field kind \(words(Failure.self))",
            "---@field message string", "---@field quarantined boolean",
        ],
        [
            "---@class TestCall", "---@field from? string", "---@field to? string|string[]",
            "---@field at? string", "---@field kind? string", "---@field mode? string",
            "---@field timeout? string", "---@field extended_data? any", "---@field group? boolean",
            "---@field user? string", "---@field by? string",
        ],
        [
            "---@class TestEvent: TestCall", "---@field who? string", "---@field reason? string",
            "---@field users? string[]", "---@field was? string",
            "---@field now? string", "---@field data? any",
            "---@field push? TestPush", "---@field generation? string", "---@field plugin? string",
            "---@field message? string", "---@field quarantined? boolean",
        ],
        [
            "---@class TestPush", "---@field user? string", "---@field provider? string",
            "---@field kind? string", "---@field reason? string", "---@field topic? string",
            "---@field title? string", "---@field body? string", "---@field payload? table",
            "---@field payload_raw? string", "---@field expires_in? integer",
            "---@field collapse_id? string",
        ],
        [
            "---@class TestReply", "---@field status? integer",
            "---@field headers? table<string, string>", "---@field body? string",
            "---@field json? any",
        ],
        ["---@type table", "state = {}"],
        ["---@type Decision", "admit = {}"],
    ]

    private static let callFieldTypes: [(String, String)] = [
        ("id", "string"), ("mode", "string"), ("kind", "string"), ("caller", "User"),
        ("callee", "User"), ("inviter", "User?"), ("invitees", "User[]"), ("users", "User[]"),
        ("timeout", "number"), ("remaining", "number"), ("extended_data", "table?"),
        ("extended_raw", "string?"), ("items", "table<string, string>?"), ("vars", "table"),
        ("alive", "boolean"), ("group", "boolean"), ("receiver", "User|string|nil"),
        ("sender", "User?"), ("transferred_by", "User?"),
    ]

    static var callFieldNames: [String] { callFieldTypes.map(\.0) }
    private static var callFields: [String] {
        callFieldTypes.map { "---@field \($0.0) \($0.1)" }
    }

    /// Every function that is no method: `f` and `library.f`.
    static var functionTable: [(name: String, type: String, help: String)] {
        decisions + [random]
            + Bindings.all.filter { !$0.name.contains(":") }.map { ($0.name, $0.type, $0.help) }
    }

    private static let random = (
        name: "random", type: "fun(m?: integer, n?: integer): number",
        help: "A number from 0 to 1, from 1 to m, or from m to n."
    )

    private static let decisions: [(name: String, type: String, help: String)] = [
        (
            "accept", "fun(options?: {wait?: Duration, extended_data?: any}): Decision",
            "Accept, after a wait in which a person may take the call."
        ),
        (
            "reject", "fun(reason: string, options?: {extended_data?: any}): Decision",
            "Say no: busy, declined or a reason of your own."
        ),
        (
            "ring", "fun(options?: {for_?: Duration, again?: boolean}): Decision",
            "Let the devices ring; with for_, ask the later plugins then, or this one again."
        ),
        (
            "forward",
            "fun(user: string|User|table<integer, string|User>, options?: {first?: boolean, each?: "
                + "Duration}): Decision",
            "Invite others instead: one, all at once or one after the other."
        ),
        ("refuse", "fun(code: string): Decision", "Refuse to place the call."),
        (
            "allow",
            "fun(options?: {timeout?: Duration, invitees?: table<integer, string|User>, "
                + "extended_data?: any}): Decision",
            "Place the call, changed where a value is given."
        ),
        ("drop", "fun(reason: string): Decision", "Send nothing."),
    ]

    // MARK: Parts

    /// The methods of a kind of object as fields of its class.
    private static func fields(of kind: String, in bindings: [Binding]) -> [String] {
        bindings.filter { $0.name.hasPrefix("\(kind):") }.map {
            "---@field \($0.name.dropFirst(kind.count + 1)) \($0.type) \($0.help)"
        }
    }

    private static var libraries: [String] {
        var names: [String] = []
        for binding in Bindings.all where binding.name.contains(".") {
            let library = String(binding.name.prefix { $0 != "." })
            if !names.contains(library) { names.append(library) }
        }
        return names.flatMap { name in
            ["---@class \(name)lib"]
                + Bindings.all.filter { $0.name.hasPrefix("\(name).") }.map {
                    "---@field \($0.name.dropFirst(name.count + 1)) \($0.type) \($0.help)"
                } + ["\(name) = {}", ""]
        }
    }

    private static var constructors: [String] {
        decisions.flatMap { decision in
            ["---\(decision.help)", "---@nodiscard"]
                + signature(decision.name, decision.type) + [""]
        }
    }

    private static var functions: [String] {
        ["---\(random.help)"] + signature(random.name, random.type) + [""] + bound
    }

    private static var bound: [String] {
        Bindings.all.filter { !$0.name.contains(".") && !$0.name.contains(":") }.flatMap {
            ["---\($0.help)"] + signature($0.name, $0.type) + [""]
        }
    }

    /// A declaration of a function whose type is written `fun(a: T, b?: T): R`. Editors heed
    /// `@nodiscard` only where parameters and results are told one by one.
    private static func signature(_ name: String, _ type: String) -> [String] {
        let type = FunctionType(type)
        let names = type.parameters.map {
            $0.name.hasSuffix("?") ? $0.name.dropLast() : $0.name[...]
        }
        return (type.isGeneric ? ["---@generic T"] : [])
            + type.parameters.map { "---@param \($0.name) \($0.type)" }
            + type.results.map { "---@return \($0)" }
            + ["function \(name)(\(names.joined(separator: ", "))) end"]
    }
}
