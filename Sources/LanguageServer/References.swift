// Where names are declared, and where they are used.

import JSON
import LuaSource
import PolicyHost

/// The places of what stands under the cursor.
struct References {
    private let cursor: Cursor
    private let plugin: OpenPlugin
    /// Where it is declared.
    private(set) var declarations: [JSONValue] = []
    /// Where it is used.
    private(set) var uses: [JSONValue] = []

    init(at cursor: Cursor, in plugin: OpenPlugin) {
        (self.cursor, self.plugin) = (cursor, plugin)
        if cursor.isInComment { return }
        if let option {
            addOption(option)
        } else if let timer {
            addTimer(timer)
        } else if let module {
            addModule(module)
        } else if let local = cursor.local {
            declarations = [Place.location(local.name.range, in: cursor.file)]
            uses = (local.reads + local.writes).sorted { $0.lowerBound < $1.lowerBound }
                .map { Place.location($0, in: cursor.file) }
        }
    }

    // MARK: Options

    /// The option that is read or declared here.
    private var option: String? {
        if let member = cursor.member, case .options = cursor.types.type(of: member.owner).present {
            return member.name.text
        }
        return keys(in: cursor.file).first {
            $0.range.lowerBound <= cursor.place && cursor.place <= $0.range.upperBound
        }?.text
    }

    /// The names in `config { … }`.
    private func keys(in file: PluginFile) -> [LuaName] {
        for expression in file.types.nodes.expressions {
            guard case .call(let called, let arguments) = expression.kind,
                case .global("config") = called.kind,
                case .table(let fields)? = arguments.first?.kind
            else { continue }
            return fields.compactMap { if case .name(let name) = $0.key { name } else { nil } }
        }
        return []
    }

    private mutating func addOption(_ name: String) {
        for file in plugin.files {
            declarations += keys(in: file).filter { $0.text == name }
                .map { Place.location($0.range, in: file) }
            for expression in file.types.nodes.expressions {
                guard case .member(let owner, let member) = expression.kind, member.text == name,
                    case .options = file.types.type(of: owner).present
                else { continue }
                uses.append(Place.location(member.range, in: file))
            }
        }
    }

    // MARK: Timers and modules

    /// A text that is given to `function` under the cursor.
    private func text(of functions: [String], at index: Int) -> String? {
        for (name, value) in Self.texts(of: functions, at: index, in: cursor.file)
        where value.range.lowerBound <= cursor.place && cursor.place <= value.range.upperBound {
            return name
        }
        return nil
    }

    private static func texts(
        of functions: [String], at index: Int, in file: PluginFile
    ) -> [(text: String, value: LuaExpression)] {
        file.types.nodes.expressions.compactMap { expression in
            let (name, arguments): (String, [LuaExpression])
            switch expression.kind {
            case .call(let called, let given):
                guard case .global(let global) = called.kind else { return nil }
                (name, arguments) = (global, given)
            case .method(_, let method, let given): (name, arguments) = (method.text, given)
            default: return nil
            }
            guard functions.contains(name), index < arguments.count,
                case .text(let text?) = arguments[index].kind
            else { return nil }
            return (text, arguments[index])
        }
    }

    private var timer: String? { text(of: ["later"], at: 1) ?? text(of: ["timer"], at: 0) }

    private mutating func addTimer(_ timer: String) {
        for file in plugin.files {
            declarations += Self.texts(of: ["timer"], at: 0, in: file)
                .filter { $0.text == timer }.map { Place.location($0.value.range, in: file) }
            uses += Self.texts(of: ["later"], at: 1, in: file)
                .filter { $0.text == timer }.map { Place.location($0.value.range, in: file) }
        }
    }

    private var module: String? { text(of: ["require"], at: 0) }

    private mutating func addModule(_ module: String) {
        if let file = plugin.module(module) {
            declarations = [Place.location(0..<0, in: file)]
        }
        for file in plugin.files {
            uses += Self.texts(of: ["require"], at: 0, in: file)
                .filter { $0.text == module }.map { Place.location($0.value.range, in: file) }
        }
    }
}
