// Reads Lua 5.4, also half-typed.

/// Makes a tree of words. It never fails: what is missing is told, and the rest is read on.
package struct LuaParser {
    /// As deep as Lua itself goes with what is nested; beyond it the file is no Lua.
    static let levels = 200
    /// As deep as the tree of an expression is followed: chains such as `a.b.c` have no bound.
    static let treeDepth = 250
    private static let troublesMax = 20

    let tokens: [LuaToken]
    var place = 0
    var depth = 0
    /// Where the statement at hand goes on.
    struct Flow {
        /// Whether what stands behind it is never reached.
        var isOver = false
        /// Whether something leaves the loop around.
        var isLeft = false
    }
    var flow = Flow()
    /// How many `goto` there were: where they lead is not followed.
    var gotos = 0
    private var unreached: [Range<Int>] = []
    private var troubles: [LuaTrouble] = []
    private var isWhole = true
    private var locals: [LuaLocal] = []
    /// What each name means here, the innermost last.
    private var visible: [String: [LuaLocal]] = [:]
    /// The locals of the blocks around, the innermost last.
    private var scopes: [[LuaLocal]] = []

    /// The tree of a file.
    package static func file(_ bytes: [UInt8]) -> LuaFile {
        let words = LuaLexer.words(of: bytes)
        var parser = LuaParser(tokens: words.tokens)
        let body = parser.wholeFile()
        return LuaFile(
            body, parser.locals, parser.troubles, isWhole: parser.isWhole,
            unreached: parser.unreached, words: words)
    }

    private init(tokens: [LuaToken]) { self.tokens = tokens }

    private mutating func wholeFile() -> LuaBlock {
        var statements: [LuaStatement] = []
        open()
        repeat {
            statements += self.statements()
            if token.kind != .end { complain("'\(token.text)' closes nothing", skipping: true) }
        } while token.kind != .end
        close()
        return LuaBlock(statements)
    }

    // MARK: Words

    var token: LuaToken { tokens[place] }
    /// Where the word before this one ends.
    var end: Int { place > 0 ? tokens[place - 1].range.upperBound : 0 }

    func isAt(_ text: String) -> Bool {
        (token.kind == .symbol || token.kind == .keyword) && token.text == text
    }

    func isAt(anyOf texts: String...) -> Bool { texts.contains(where: isAt) }

    mutating func advance() { if token.kind != .end { place += 1 } }

    mutating func take(_ text: String) -> Bool {
        guard isAt(text) else { return false }
        advance()
        return true
    }

    mutating func expect(_ text: String, opened: Range<Int>? = nil) {
        guard !take(text) else { return }
        complain("'\(text)' is missing", at: token.kind == .end ? opened : nil)
    }

    /// A name; an empty one where none stands.
    mutating func name() -> LuaName {
        guard token.kind == .name else {
            complain("a name is missing")
            return LuaName(text: "", range: end..<end)
        }
        defer { advance() }
        return LuaName(text: token.text, range: token.range)
    }

    /// Notes what is no Lua: at `range`, else at the next word.
    mutating func complain(_ text: String, at range: Range<Int>? = nil, skipping: Bool = false) {
        if troubles.count < Self.troublesMax {
            let range = range ?? (token.kind == .end ? end..<end : token.range)
            troubles.append(LuaTrouble(text: text, range: range))
        }
        if skipping { advance() }
    }

    /// Goes one level deeper; false: that is too deep, and the rest of the file is left out.
    mutating func deeper() -> Bool {
        depth += 1
        guard depth > Self.levels else { return true }
        if isWhole { complain("this is nested too deeply") }
        isWhole = false
        place = tokens.count - 1
        return false
    }

    /// A node of the tree, unless it is too deep.
    mutating func node(_ kind: LuaExpression.Kind, from start: Int) -> LuaExpression {
        let node = LuaExpression(kind, start..<max(start, end))
        guard node.depth > Self.treeDepth else { return node }
        isWhole = false
        return LuaExpression(.unread, node.range)
    }

    // MARK: Variables

    mutating func open(with locals: [LuaLocal] = []) {
        scopes.append([])
        for local in locals { declare(local) }
    }

    mutating func close() {
        for local in scopes.removeLast() {
            visible[local.name.text]?.removeLast()
            local.scope = local.scope.lowerBound..<max(local.scope.lowerBound, end)
        }
    }

    mutating func declare(_ local: LuaLocal) {
        locals.append(local)
        guard !local.name.text.isEmpty else { return }
        local.scope = end..<end
        scopes[scopes.count - 1].append(local)
        visible[local.name.text, default: []].append(local)
    }

    /// What a name means where it is read.
    func variable(_ name: LuaName) -> LuaExpression.Kind {
        guard let local = visible[name.text]?.last else { return .global(name.text) }
        local.reads.append(name.range)
        return .local(local)
    }

    /// The name that was read last is assigned to.
    func reassign(_ local: LuaLocal) {
        local.isReassigned = true
        if let range = local.reads.popLast() { local.writes.append(range) }
    }

    // MARK: Blocks

    /// Statements up to the word that ends their block.
    mutating func block(with locals: [LuaLocal] = []) -> LuaBlock {
        defer { depth -= 1 }
        guard deeper() else { return LuaBlock([]) }
        open(with: locals)
        let statements = statements()
        close()
        return LuaBlock(statements)
    }

    mutating func statements() -> [LuaStatement] {
        var statements: [LuaStatement] = []
        var (isOver, isTold) = (false, false)
        while !isAt(anyOf: "end", "else", "elseif", "until"), token.kind != .end {
            let start = place
            let first = token
            flow.isOver = false
            if let statement = statement() { statements.append(statement) }
            if place == start { complain("'\(token.text)' begins nothing", skipping: true) }
            if first.text == "::" {
                isOver = false
            } else if isOver, !isTold, first.text != ";" {
                unreached.append(first.range.lowerBound..<max(first.range.upperBound, end))
                isTold = true
            }
            isOver = isOver || flow.isOver && Self.turns.contains(first.text)
        }
        flow.isOver = isOver
        return statements
    }

    /// What may lead away from what stands behind it.
    private static let turns: Set<String> = ["return", "break", "goto", "do", "while", "if"]

    mutating func blockToEnd(
        _ opened: Range<Int>, with locals: [LuaLocal] = []
    ) -> LuaBlock {
        let body = block(with: locals)
        expect("end", opened: opened)
        return body
    }
}
