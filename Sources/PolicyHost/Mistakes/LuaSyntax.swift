// A Lua file as a tree, as far as its mistakes are looked for.

/// A local variable or a parameter: one declaration.
final class LuaLocal {
    let name: String
    let line: Int
    /// Whether anything else is assigned to it later.
    var isReassigned = false
    /// How often it is read.
    var uses = 0
    /// What it is declared with, where that is one expression.
    var value: LuaExpression?
    /// What the one who calls gives, for a parameter.
    var type: LuaType?

    init(_ name: String, line: Int) {
        self.name = name
        self.line = line
    }
}

/// A function with its parameters.
final class LuaFunction {
    let parameters: [LuaLocal]
    let body: [LuaStatement]

    init(_ parameters: [LuaLocal], _ body: [LuaStatement]) {
        self.parameters = parameters
        self.body = body
    }
}

/// What has a value.
indirect enum LuaExpression {
    case text(String)
    case local(LuaLocal)
    case global(String)
    case function(LuaFunction)
    /// `of.name`; nil: another index, which is the second of the parts.
    case member(of: LuaExpression, name: String?, index: LuaExpression?, line: Int)
    case call(LuaExpression, [LuaExpression], line: Int)
    case method(of: LuaExpression, name: String, [LuaExpression], line: Int)
    case binary(String, LuaExpression, LuaExpression, line: Int)
    /// The names of its fields; nil: some have none, or are computed.
    case table(names: [String]?, values: [LuaExpression])
    /// Numbers, `nil`, `...`, and what one operator makes of another expression.
    case other([LuaExpression])
}

/// What is done.
enum LuaStatement {
    case local([LuaLocal], [LuaExpression])
    case assign([LuaExpression], [LuaExpression])
    /// A call whose results nobody takes.
    case run(LuaExpression, line: Int)
    case back([LuaExpression], line: Int)
    /// Conditions and the blocks that they stand before.
    case blocks([LuaExpression], [[LuaStatement]])
    case loop([LuaLocal], [LuaExpression], [LuaStatement])
}

/// What a value is known to be.
enum LuaType: Equatable {
    /// An object of the class `name`, as the file for editors has it.
    case object(String)
    case list(of: String)
    /// Options with these names.
    case options([String])
    case decision
}

/// Everything in a file, one after the other, however deep it is.
struct LuaNodes {
    /// All that is read.
    private(set) var expressions: [LuaExpression] = []
    private(set) var statements: [LuaStatement] = []

    init(_ body: [LuaStatement]) { add(body) }

    private mutating func add(_ body: [LuaStatement]) {
        for statement in body {
            statements.append(statement)
            switch statement {
            case .local(_, let values), .back(let values, _): add(values)
            case .run(let call, _): add([call])
            case .assign(let targets, let values):
                for target in targets { addTarget(target) }
                add(values)
            case .blocks(let conditions, let blocks):
                add(conditions)
                for block in blocks { add(block) }
            case .loop(_, let values, let body):
                add(values)
                add(body)
            }
        }
    }

    /// What is assigned to is not read, but what it is found by is.
    private mutating func addTarget(_ target: LuaExpression) {
        guard case .member(let owner, _, let index, _) = target else { return }
        add([owner] + (index.map { [$0] } ?? []))
    }

    private mutating func add(_ list: [LuaExpression]) {
        for expression in list {
            expressions.append(expression)
            switch expression {
            case .text, .local, .global: break
            case .function(let function): add(function.body)
            case .member(let owner, _, let index, _): add([owner] + (index.map { [$0] } ?? []))
            case .call(let function, let arguments, _): add([function] + arguments)
            case .method(let owner, _, let arguments, _): add([owner] + arguments)
            case .binary(_, let left, let right, _): add([left, right])
            case .table(_, let values), .other(let values): add(values)
            }
        }
    }
}
