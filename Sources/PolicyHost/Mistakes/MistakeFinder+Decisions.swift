// What decisions and options bound beyond their types.

import CallModel
import Configuration
import Lua
import LuaSource

extension MistakeFinder {
    private static let textBytes = 1...64
    private static let turn: ClosedRange<Milliseconds> = 1_000...Call.Fork.timeMax
    private static let ringTime: ClosedRange<Milliseconds> = 1_000...600_000

    /// What the host says of a decision when it is returned, where it is written out.
    mutating func judgeDecision(
        _ name: String, _ arguments: [LuaExpression], _ range: Range<Int>
    ) {
        switch name {
        case "reject": judgeWords(arguments.first, "reject: a reason has 1 to 64 bytes")
        case "refuse": judgeWords(arguments.first, "refuse: a code has 1 to 64 bytes")
        case "ring": judgeRing(arguments.first)
        case "forward": judgeForward(arguments, range)
        case "allow":
            judgeSpan(
                arguments.first?.field("timeout"), Self.ringTime,
                "allow: timeout is a duration from \"1s\" to \"10m\"")
        default: break
        }
    }

    private mutating func judgeWords(_ words: LuaExpression?, _ text: String) {
        guard let words, case .text(let written?) = words.kind,
            !Self.textBytes.contains(written.utf8.count)
        else { return }
        report(text, words.range)
    }

    private mutating func judgeSpan(
        _ span: LuaExpression?, _ bounds: ClosedRange<Milliseconds>, _ text: String
    ) {
        guard let span, case .text(let written?) = span.kind,
            let value = Duration.parse(written), !bounds.contains(value)
        else { return }
        report(text, span.range)
    }

    private mutating func judgeRing(_ options: LuaExpression?) {
        guard let options, case .truth(true)? = options.field("again")?.kind else { return }
        let text = "ring: again needs a for_ of at least \"1s\""
        guard let span = options.field("for_") else { return report(text, options.range) }
        judgeSpan(span, 1_000...Int64.max, text)
    }

    private mutating func judgeForward(_ arguments: [LuaExpression], _ range: Range<Int>) {
        let options = arguments.dropFirst().first
        let each = options?.field("each")
        let isFirst = if case .truth(true)? = options?.field("first")?.kind { true } else { false }
        if let options, each != nil, isFirst {
            return report("forward: first and each exclude each other", options.range)
        }
        judgeSpan(each, Self.turn, "forward: each is between \"1s\" and \"10m\"")
        guard options == nil, case .table(let users)? = arguments.first?.kind, users.count > 1
        else { return }
        report("forward: several need { first = true } or { each = \"15s\" }", range)
    }

    // MARK: Options

    /// `config { lines = 5 }`.
    mutating func judgeOptions(_ schema: LuaExpression?) {
        guard case .table(let fields)? = schema?.kind else { return }
        for field in fields {
            let kind: String
            switch (field.key, field.value.kind) {
            case (.next, _):
                report("config: options have names", field.value.range)
                continue
            case (.computed, _): continue
            case (_, .number(let text)): kind = Int64(text) == nil ? "number" : "int"
            case (_, .truth): kind = "bool"
            case (_, .text): kind = "text"
            case (_, .table): kind = "list"
            case (_, .nothing), (_, .function): kind = "text"
            default: continue
            }
            report("this is no option (write option.\(kind)(…))", field.value.range)
        }
    }

    // MARK: Hosts and modules

    /// `http.get` of a host that the plugin never says it needs.
    mutating func judgeAddress(_ address: LuaExpression?) {
        guard let address, let hosts = declared.hosts, let url = address.beginning else { return }
        guard let host = WebAddress.host(of: url) else {
            guard case .text(let text?) = address.kind else { return }
            return report(
                "bad address '\(text)' (write \"https://crm.example.com/\")", address.range)
        }
        guard !hosts.contains(host) else { return }
        let hint = Suggestion.text(for: host, among: hosts.sorted())
        let form = hint.isEmpty ? " (write plugin { needs = { \"http:\(host)\" } })" : hint
        report("the plugin does not say that it needs \"http:\(host)\"\(form)", address.range)
    }

    /// `require` finds the files of the plugin only.
    mutating func judgeModule(_ name: LuaExpression?) {
        guard let name, case .text(let text?) = name.kind, !declared.modules.contains(text)
        else { return }
        let hint = Suggestion.text(for: text, among: declared.modules.sorted())
        report("this plugin has no file for '\(text)'\(hint)", name.range)
    }
}

extension LuaExpression {
    /// The value of a field of a table that is written out.
    func field(_ name: String) -> LuaExpression? {
        guard case .table(let fields) = kind else { return nil }
        return fields.last {
            if case .name(let key) = $0.key { key.text == name } else { false }
        }?.value
    }

    /// The text that it is, or begins with up to the end of an address's host.
    fileprivate var beginning: String? {
        switch kind {
        case .text(let text): return text
        case .binary("..", let left, _):
            guard case .text(let text?) = left.kind else { return nil }
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            return parts.count > 3 ? parts[..<3].joined(separator: "/") + "/" : nil
        default: return nil
        }
    }
}
