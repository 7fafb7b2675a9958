// Reads the statements of Lua 5.4, and which variable every name means.

/// Reads a file that Lua has compiled already. It gives up on what it does not understand: then
/// nothing is said of the file.
struct LuaParser {
    /// It was not understood.
    struct GivenUp: Error {}

    var tokens: [LuaToken]
    var place = 0
    /// The variables that can be seen, the innermost block last.
    private var scopes: [[LuaLocal]] = [[]]
    private var depth = 0

    /// The statements of a file; nil: it was not understood.
    static func statements(of bytes: [UInt8]) -> [LuaStatement]? {
        var parser = LuaParser(tokens: LuaLexer.tokens(of: bytes))
        guard let body = try? parser.block(), parser.token.kind == .end else { return nil }
        return body
    }

    private init(tokens: [LuaToken]) { self.tokens = tokens }

    // MARK: Words

    var token: LuaToken { tokens[min(place, tokens.count - 1)] }
    var line: Int { token.line }

    func isAt(_ text: String) -> Bool {
        token.text == text && (token.kind == .symbol || token.kind == .keyword)
    }

    func isAt(anyOf texts: String...) -> Bool {
        for text in texts where isAt(text) { return true }
        return false
    }

    mutating func take(_ text: String) -> Bool {
        guard isAt(text) else { return false }
        place += 1
        return true
    }

    mutating func expect(_ text: String) throws(GivenUp) {
        guard take(text) else { throw GivenUp() }
    }

    mutating func name() throws(GivenUp) -> String {
        guard token.kind == .name else { throw GivenUp() }
        defer { place += 1 }
        return token.text
    }

    // MARK: Variables

    private mutating func declare(_ local: LuaLocal) { scopes[scopes.count - 1].append(local) }

    /// What a name means where it is read.
    mutating func variable(_ name: String) -> LuaExpression {
        for scope in scopes.reversed() {
            guard let local = scope.last(where: { $0.name == name }) else { continue }
            local.uses += 1
            return .local(local)
        }
        return .global(name)
    }

    // MARK: Blocks

    /// Statements up to the word that ends their block.
    mutating func block(with locals: [LuaLocal] = []) throws(GivenUp) -> [LuaStatement] {
        depth += 1
        scopes.append(locals)
        defer {
            depth -= 1
            scopes.removeLast()
        }
        guard depth < 200 else { throw GivenUp() }
        return try statements()
    }

    private mutating func statements() throws(GivenUp) -> [LuaStatement] {
        var statements: [LuaStatement] = []
        while !isAt(anyOf: "end", "else", "elseif", "until"), token.kind != .end {
            if let statement = try statement() { statements.append(statement) }
        }
        return statements
    }

    private mutating func statement() throws(GivenUp) -> LuaStatement? {
        let line = line
        if take(";") || take("break") { return nil }
        if take("::") {
            _ = try name()
            try expect("::")
            return nil
        }
        if take("goto") {
            _ = try name()
            return nil
        }
        if take("return") {
            var values: [LuaExpression] = []
            let isBare = isAt(anyOf: "end", "else", "elseif", "until", ";")
            if !isBare, token.kind != .end { values = try expressions() }
            return .back(values, line: line)
        }
        if take("local") { return try local() }
        if take("function") { return try function() }
        if let statement = try compound() { return statement }
        return try plain(line)
    }

    private mutating func compound() throws(GivenUp) -> LuaStatement? {
        if take("do") { return .blocks([], [try blockToEnd()]) }
        if take("while") {
            let condition = try expression()
            try expect("do")
            return .blocks([condition], [try blockToEnd()])
        }
        if take("repeat") { return try repetition() }
        if take("if") { return try choice() }
        if take("for") { return try loop() }
        return nil
    }

    mutating func blockToEnd(with locals: [LuaLocal] = []) throws(GivenUp) -> [LuaStatement] {
        let body = try block(with: locals)
        try expect("end")
        return body
    }

    /// The condition sees the variables of the block.
    private mutating func repetition() throws(GivenUp) -> LuaStatement {
        scopes.append([])
        defer { scopes.removeLast() }
        let body = try statements()
        try expect("until")
        return .blocks([try expression()], [body])
    }

    private mutating func choice() throws(GivenUp) -> LuaStatement {
        var conditions = [try expression()]
        try expect("then")
        var blocks = [try block()]
        while take("elseif") {
            conditions.append(try expression())
            try expect("then")
            blocks.append(try block())
        }
        if take("else") { blocks.append(try block()) }
        try expect("end")
        return .blocks(conditions, blocks)
    }

    private mutating func loop() throws(GivenUp) -> LuaStatement {
        var locals = [LuaLocal(try name(), line: line)]
        while take(",") { locals.append(LuaLocal(try name(), line: line)) }
        guard take("=") || take("in") else { throw GivenUp() }
        let values = try expressions()
        try expect("do")
        return .loop(locals, values, try blockToEnd(with: locals))
    }

    // MARK: Declarations and assignments

    private mutating func local() throws(GivenUp) -> LuaStatement {
        if take("function") {
            let local = LuaLocal(try name(), line: line)
            declare(local)
            let value = LuaExpression.function(try functionBody())
            local.value = value
            return .local([local], [value])
        }
        var locals: [LuaLocal] = []
        repeat {
            locals.append(LuaLocal(try name(), line: line))
            if take("<") {
                _ = try name()
                try expect(">")
            }
        } while take(",")
        let values = take("=") ? try expressions() : []
        if locals.count == 1, values.count == 1 { locals[0].value = values[0] }
        for local in locals { declare(local) }
        return .local(locals, values)
    }

    /// `function a.b:c() … end` changes what it names.
    private mutating func function() throws(GivenUp) -> LuaStatement {
        var target = variable(try name())
        if case .local(let local) = target, !isAt("."), !isAt(":") { local.isReassigned = true }
        var own: [LuaLocal] = []
        while isAt(".") || isAt(":") {
            if take(":") { own = [LuaLocal("self", line: line)] } else { place += 1 }
            target = .member(of: target, name: try name(), index: nil, line: line)
        }
        return .assign([target], [.function(try functionBody(own))])
    }

    private mutating func plain(_ line: Int) throws(GivenUp) -> LuaStatement {
        var targets = [try suffixed()]
        guard isAt("=") || isAt(",") else {
            switch targets[0] {
            case .call, .method: return .run(targets[0], line: line)
            default: throw GivenUp()
            }
        }
        while take(",") { targets.append(try suffixed()) }
        try expect("=")
        for case .local(let local) in targets {
            local.isReassigned = true
            local.uses -= 1
        }
        return .assign(targets, try expressions())
    }

    /// `(a, b) … end`.
    mutating func functionBody(_ own: [LuaLocal] = []) throws(GivenUp) -> LuaFunction {
        var parameters = own
        try expect("(")
        while !take(")") {
            if !take("...") { parameters.append(LuaLocal(try name(), line: line)) }
            _ = take(",")
        }
        return LuaFunction(parameters, try blockToEnd(with: parameters))
    }
}
