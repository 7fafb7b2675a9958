// The options that a plugin declares, as far as they are written out.

import Configuration
import Lua
import LuaSource

/// Reads `config { lines = option.int(1, { min = 1 }) }` without running it.
struct OptionReader {
    private let types: TypeFinder

    init(_ types: TypeFinder) { self.types = types }

    /// The names and types of the options; nil: they are computed.
    func options(_ schema: LuaExpression?) -> [ScriptMember]? {
        guard case .table(let fields)? = schema?.kind else { return nil }
        var options: [ScriptMember] = []
        for field in fields {
            guard case .name(let name) = field.key else { return nil }
            options.append(option(name.text, field.value))
        }
        return options
    }

    private func option(_ name: String, _ value: LuaExpression) -> ScriptMember {
        var option = ScriptMember(name: name, type: .any)
        guard case .call(let maker, let arguments) = value.kind,
            case .function(let signature?) = types.type(of: maker),
            let type = signature.results.first
        else { return option }
        option.type = type
        let extra = arguments.last.flatMap(Self.fields) ?? [:]
        if case .text(let help?)? = extra["help"]?.kind { option.help = help }
        // Without a value it is nil, unless it must be set.
        if case .truth(true)? = extra["required"]?.kind { return option }
        switch arguments.first?.kind {
        case nil, .nothing: option.isOptional = true
        case .truth, .number, .text, .table: break
        default: option.type = .either(of: [type, .any])
        }
        return option
    }

    private static func fields(_ table: LuaExpression) -> [String: LuaExpression]? {
        guard case .table(let fields) = table.kind else { return nil }
        var named: [String: LuaExpression] = [:]
        for field in fields {
            if case .name(let name) = field.key { named[name.text] = field.value }
        }
        return named
    }

    /// What is wrong with an option whose values are all written out.
    static func mistake(of kind: String, _ arguments: [LuaExpression]) -> String? {
        let isChoice = kind == "choice"
        var pairs = [LuaValue.Pair(key: .text("option"), value: .text(kind))]
        let places = isChoice ? ["default", "choices"] : ["default"]
        for (index, name) in places.enumerated() where index < arguments.count {
            guard let value = value(of: arguments[index]) else { return nil }
            if !value.isNull { pairs.append(.init(key: .text(name), value: value)) }
        }
        if arguments.count > places.count {
            guard let extra = value(of: arguments[places.count])?.table else { return nil }
            pairs += extra
        }
        do throws(LuaProblem) {
            _ = try OptionField(name: "option.\(kind)", description: .table(pairs))
            return nil
        } catch {
            return error.message
        }
    }

    /// The value of what is written out.
    private static func value(of expression: LuaExpression) -> LuaValue? {
        switch expression.kind {
        case .nothing: return .null
        case .truth(let value): return .bool(value)
        case .number(let text):
            return Int64(text).map { .integer($0) } ?? Double(text).map { .number($0) }
        case .text(let text): return text.map { .text($0) }
        case .unary("-", let inside):
            switch value(of: inside) {
            case .integer(let number)?: return .integer(-number)
            case .number(let number)?: return .number(-number)
            default: return nil
            }
        case .table(let fields): return table(fields)
        default: return nil
        }
    }

    private static func table(_ fields: [LuaField]) -> LuaValue? {
        var (list, pairs): ([LuaValue], [LuaValue.Pair]) = ([], [])
        for field in fields {
            guard let value = value(of: field.value) else { return nil }
            switch field.key {
            case .next: list.append(value)
            case .name(let name): pairs.append(.init(key: .text(name.text), value: value))
            case .computed: return nil
            }
        }
        if list.isEmpty { return .table(pairs) }
        return pairs.isEmpty ? .list(list) : nil
    }
}
