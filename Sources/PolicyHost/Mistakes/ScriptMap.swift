// Where everything in the files of a plugin stands.

import LuaSource

/// The functions and locals of a plugin's files, with what is done to them.
final class ScriptMap {
    typealias ID = ObjectIdentifier

    /// What stands in one function, or at the top level, but not in the functions within.
    struct Code {
        var expressions: [LuaExpression] = []
        var assignments: [(target: LuaExpression, value: LuaExpression?)] = []
        var returns: [LuaExpression] = []
        var within: [LuaFunction] = []
        var file = 0
    }

    /// By function.
    private(set) var code: [ID: Code] = [:]
    /// Of each file, what is run while it is loaded.
    private(set) var top: [Code] = []
    /// The function that declares a local; none: the file does.
    private(set) var owner: [ID: ID] = [:]
    /// What a local is declared with, and what is assigned to it.
    private(set) var values: [ID: [LuaExpression]] = [:]
    /// What is assigned to fields of a local.
    private(set) var stored: [ID: [(name: String?, value: LuaExpression)]] = [:]
    /// What a loop's variable is taken from.
    private(set) var lists: [ID: LuaExpression] = [:]
    /// Functions that are fields, by the names of these.
    private(set) var methods: [String: [LuaFunction]] = [:]
    /// What the functions that a local names are called with.
    private(set) var arguments: [ID: [[LuaExpression]]] = [:]
    private let modules: [String: Int]

    /// Of these files, the main one first, then the modules in the order of their names.
    init(_ files: [LuaFile], modules: [String]) {
        self.modules = Dictionary(uniqueKeysWithValues: zip(modules, 1...))
        for (number, file) in files.enumerated() {
            var code = Code()
            code.file = number
            walk(file.body, nil, &code)
            top.append(code)
        }
    }

    /// What `require` gives for a module.
    func module(_ name: String) -> LuaExpression? {
        guard let number = modules[name], number < top.count else { return nil }
        return top[number].returns.first
    }

    // MARK: The files

    private func walk(_ block: LuaBlock, _ function: ID?, _ code: inout Code) {
        for statement in block.statements {
            switch statement {
            case .local(let locals, let list):
                for (place, local) in locals.enumerated() {
                    owner[ID(local)] = function
                    guard place < list.count else { continue }
                    values[ID(local), default: []].append(list[place])
                }
                walk(list, function, &code)
            case .assign(let targets, let list):
                for (place, target) in targets.enumerated() {
                    note(target, place < list.count ? list[place] : nil, &code)
                    walk(target.kind.parts, function, &code)
                }
                walk(list, function, &code)
            case .run(let call): walk([call], function, &code)
            case .back(let list, _):
                if let first = list.first { code.returns.append(first) }
                walk(list, function, &code)
            case .blocks(let conditions, let blocks):
                walk(conditions, function, &code)
                for block in blocks { walk(block, function, &code) }
            case .loop(let locals, let list, let body):
                for local in locals { owner[ID(local)] = function }
                if case .call(.global(let name), let given) = list.first?.shape,
                    name == "ipairs" || name == "pairs", let list = given.first,
                    locals.count == 2
                {
                    lists[ID(locals[1])] = list
                }
                walk(list, function, &code)
                walk(body, function, &code)
            }
        }
    }

    private func note(_ target: LuaExpression, _ value: LuaExpression?, _ code: inout Code) {
        code.assignments.append((target, value))
        guard let value else { return }
        switch target.kind {
        case .local(let local): values[ID(local), default: []].append(value)
        case .member(let table, let name):
            store(value, in: table, name.text)
            if case .function(let function) = value.kind {
                methods[name.text, default: []].append(function)
            }
        case .index(let table, _): store(value, in: table, nil)
        default: break
        }
    }

    private func store(_ value: LuaExpression, in table: LuaExpression, _ name: String?) {
        var (table, name) = (table, name)
        while case .member(let owner, _) = table.kind { (table, name) = (owner, nil) }
        while case .index(let owner, _) = table.kind { (table, name) = (owner, nil) }
        if case .local(let local) = table.kind {
            stored[ID(local), default: []].append((name, value))
        }
    }

    private func walk(_ list: [LuaExpression], _ function: ID?, _ code: inout Code) {
        for expression in list {
            code.expressions.append(expression)
            switch expression.kind {
            case .function(let inner):
                code.within.append(inner)
                for parameter in inner.parameters { owner[ID(parameter)] = ID(inner) }
                var own = Code()
                own.file = code.file
                walk(inner.body, ID(inner), &own)
                self.code[ID(inner)] = own
            case .call(let called, let given):
                if case .local(let local) = called.kind {
                    arguments[ID(local), default: []].append(given)
                }
            case .table(let fields):
                for field in fields {
                    guard case .name(let name) = field.key,
                        case .function(let method) = field.value.kind
                    else { continue }
                    methods[name.text, default: []].append(method)
                }
            default: break
            }
            walk(expression.kind.parts, function, &code)
        }
    }
}

extension LuaExpression {
    /// The kinds of expressions that are looked for with what they are made of.
    enum Shape {
        case call(LuaExpression.Kind, [LuaExpression])
        case other
    }

    /// Whether it is a call, and of what.
    var shape: Shape {
        if case .call(let called, let arguments) = kind {
            .call(called.kind, arguments)
        } else {
            .other
        }
    }
}
