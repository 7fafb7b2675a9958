// A Lua file as a tree. Everything knows where it stands.

/// A local variable or a parameter: one declaration.
package final class LuaLocal {
    package let name: LuaName
    /// Whether anything else is assigned to it later.
    package internal(set) var isReassigned = false
    /// Where it is read, in order.
    package internal(set) var reads: [Range<Int>] = []
    /// Where something else is assigned to it.
    package internal(set) var writes: [Range<Int>] = []
    /// What it is declared with, where that is one expression.
    package internal(set) var value: LuaExpression?
    /// Where it can be seen.
    package internal(set) var scope: Range<Int>

    init(_ name: LuaName) {
        self.name = name
        scope = name.range.upperBound..<name.range.upperBound
    }
}

extension LuaLocal: Equatable {
    package static func == (one: LuaLocal, other: LuaLocal) -> Bool { one === other }
}

/// A function with its parameters.
package final class LuaFunction {
    package let parameters: [LuaLocal]
    package let body: LuaBlock

    init(_ parameters: [LuaLocal], _ body: LuaBlock) {
        self.parameters = parameters
        self.body = body
    }
}

/// Statements, one after the other.
package final class LuaBlock {
    package let statements: [LuaStatement]
    let depth: Int

    init(_ statements: [LuaStatement]) {
        self.statements = statements
        depth = 1 + (statements.map(\.depth).max() ?? 0)
    }
}

/// What has a value.
package final class LuaExpression {
    package indirect enum Kind {
        /// Nothing stands where a value has to: the file is half typed.
        case missing
        /// It is too deep to be followed.
        case unread
        case nothing
        case truth(Bool)
        case number(String)
        /// As it is written; nil: escapes say something else.
        case text(String?)
        case varargs
        case local(LuaLocal)
        case global(String)
        case function(LuaFunction)
        /// `of.name`, and `of["name"]`.
        case member(of: LuaExpression, LuaName)
        case index(of: LuaExpression, LuaExpression)
        case call(LuaExpression, [LuaExpression])
        case method(of: LuaExpression, LuaName, [LuaExpression])
        case unary(String, LuaExpression)
        case binary(String, LuaExpression, LuaExpression)
        case table([LuaField])
        case brackets(LuaExpression)
    }

    package let kind: Kind
    package let range: Range<Int>
    let depth: Int

    init(_ kind: Kind, _ range: Range<Int>) {
        self.kind = kind
        self.range = range
        depth = 1 + (kind.parts.map(\.depth).max() ?? 0) + kind.bodyDepth
    }
}

/// One field of a table.
package struct LuaField {
    package enum Key {
        case name(LuaName)
        case computed(LuaExpression)
        /// The next place of the list.
        case next
    }
    package let key: Key
    package let value: LuaExpression
}

/// What is done.
package enum LuaStatement {
    case local([LuaLocal], [LuaExpression])
    case assign([LuaExpression], [LuaExpression])
    /// A call whose results nobody takes; in half-typed files any expression.
    case run(LuaExpression)
    case back([LuaExpression], Range<Int>)
    /// Conditions and the blocks that they stand before.
    case blocks([LuaExpression], [LuaBlock])
    case loop([LuaLocal], [LuaExpression], LuaBlock)

    var depth: Int {
        switch self {
        case .local(_, let values), .back(let values, _): values.map(\.depth).max() ?? 0
        case .assign(let targets, let values): (targets + values).map(\.depth).max() ?? 0
        case .run(let call): call.depth
        case .blocks(let conditions, let blocks):
            max(conditions.map(\.depth).max() ?? 0, blocks.map(\.depth).max() ?? 0)
        case .loop(_, let values, let body): max(values.map(\.depth).max() ?? 0, body.depth)
        }
    }
}

extension LuaExpression.Kind {
    /// The expressions that it is made of, except for those in the body of a function.
    package var parts: [LuaExpression] {
        switch self {
        case .missing, .unread, .nothing, .truth, .number, .text, .varargs, .local, .global,
            .function:
            []
        case .member(let owner, _): [owner]
        case .index(let owner, let index): [owner, index]
        case .call(let function, let arguments): [function] + arguments
        case .method(let owner, _, let arguments): [owner] + arguments
        case .unary(_, let value), .brackets(let value): [value]
        case .binary(_, let left, let right): [left, right]
        case .table(let fields):
            fields.flatMap { field in
                if case .computed(let key) = field.key {
                    [key, field.value]
                } else {
                    [field.value]
                }
            }
        }
    }

    fileprivate var bodyDepth: Int {
        if case .function(let function) = self { function.body.depth } else { 0 }
    }
}

/// The locals of a file. Their values name each other, in circles and in very long rows: these are
/// cut before they are freed, one by one.
private final class LuaLocals {
    let all: [LuaLocal]

    init(_ all: [LuaLocal]) { self.all = all }

    deinit { for local in all { local.value = nil } }
}

/// A file, read as far as it can be.
package struct LuaFile {
    package let body: LuaBlock
    private let declarations: LuaLocals
    /// Every local variable and parameter.
    package var locals: [LuaLocal] { declarations.all }
    /// What is no Lua, in order; the first one is what matters.
    package let troubles: [LuaTrouble]
    /// Whether every expression was followed. Else nothing can be said of what is never used.
    package let isWhole: Bool
    /// The first statement of each row of them that is never reached.
    package let unreached: [Range<Int>]
    package let comments: [Range<Int>]
    package let tokens: [LuaToken]

    init(
        _ body: LuaBlock, _ locals: [LuaLocal], _ troubles: [LuaTrouble], isWhole: Bool,
        unreached: [Range<Int>], words: (tokens: [LuaToken], comments: [Range<Int>])
    ) {
        self.body = body
        declarations = LuaLocals(locals)
        self.troubles = troubles
        self.isWhole = isWhole
        self.unreached = unreached
        (tokens, comments) = words
    }

    /// Everything in the file, one after the other, however deep it is.
    package var nodes: LuaNodes { LuaNodes(body) }
}

/// All that is read and all that is done in a file, in order.
package struct LuaNodes {
    package private(set) var expressions: [LuaExpression] = []
    package private(set) var statements: [LuaStatement] = []

    init(_ body: LuaBlock) { add(body) }

    private mutating func add(_ block: LuaBlock) {
        for statement in block.statements {
            statements.append(statement)
            switch statement {
            case .local(_, let values), .back(let values, _): add(values)
            case .run(let call): add([call])
            case .assign(let targets, let values):
                // What is assigned to is not read, but what it is found by is.
                for target in targets { add(target.kind.parts) }
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

    private mutating func add(_ list: [LuaExpression]) {
        for expression in list {
            expressions.append(expression)
            if case .function(let function) = expression.kind { add(function.body) }
            add(expression.kind.parts)
        }
    }
}

extension LuaNodes {
    /// Everything that is read in a block, however deep it is.
    package static func within(_ block: LuaBlock) -> [LuaExpression] {
        LuaNodes(block).expressions
    }

    /// Everything that is done in a block, however deep it is.
    package static func done(in block: LuaBlock) -> [LuaStatement] { LuaNodes(block).statements }
}
