// Reads the statements of Lua 5.4.

extension LuaParser {
    mutating func statement() -> LuaStatement? {
        let range = token.range
        if take(";") || leaves() { return nil }
        if take("::") {
            _ = name()
            expect("::")
            return nil
        }
        if take("return") {
            var values: [LuaExpression] = []
            let isBare = isAt(anyOf: "end", "else", "elseif", "until", ";")
            if !isBare, token.kind != .end { values = expressions() }
            flow.isOver = true
            return .back(values, range.lowerBound..<end)
        }
        if take("local") { return local() }
        if take("function") { return function(range) }
        if let statement = compound(range) { return statement }
        return plain()
    }

    /// `break` and `goto`.
    private mutating func leaves() -> Bool {
        if take("goto") {
            _ = name()
            gotos += 1
        } else if !take("break") {
            return false
        }
        (flow.isOver, flow.isLeft) = (true, true)
        return true
    }

    private mutating func compound(_ range: Range<Int>) -> LuaStatement? {
        if take("do") { return .blocks([], [blockToEnd(range)]) }
        if take("while") {
            let condition = expression()
            expect("do")
            let body = loopBody { $0.blockToEnd(range) }
            flow.isOver = if case .truth(true) = condition.kind { !body.isLeft } else { false }
            return .blocks([condition], [body.block])
        }
        if take("repeat") { return repetition(range) }
        if take("if") { return choice(range) }
        if take("for") { return loop(range) }
        return nil
    }

    /// The condition sees the variables of the block.
    private mutating func repetition(_ range: Range<Int>) -> LuaStatement {
        defer { depth -= 1 }
        guard deeper() else { return .blocks([], []) }
        open()
        defer { close() }
        let body = loopBody { LuaBlock($0.statements()) }
        expect("until", opened: range)
        return .blocks([expression()], [body.block])
    }

    /// The body of a loop, and whether something in it may leave the loop.
    private mutating func loopBody(
        _ read: (inout LuaParser) -> LuaBlock
    ) -> (block: LuaBlock, isLeft: Bool) {
        let around = flow
        flow.isLeft = false
        let block = read(&self)
        let isLeft = flow.isLeft
        flow = around
        flow.isLeft = flow.isLeft || gotos > 0
        return (block, isLeft)
    }

    private mutating func choice(_ range: Range<Int>) -> LuaStatement {
        var conditions = [expression()]
        expect("then")
        var blocks = [block()]
        var isOver = flow.isOver
        while take("elseif") {
            conditions.append(expression())
            expect("then")
            blocks.append(block())
            isOver = isOver && flow.isOver
        }
        if take("else") {
            blocks.append(block())
            isOver = isOver && flow.isOver
        } else {
            isOver = false
        }
        flow.isOver = isOver
        expect("end", opened: range)
        return .blocks(conditions, blocks)
    }

    private mutating func loop(_ range: Range<Int>) -> LuaStatement {
        var locals = [LuaLocal(name())]
        while take(",") { locals.append(LuaLocal(name())) }
        if !take("="), !take("in") { complain("'in' or '=' is missing") }
        let values = expressions()
        expect("do")
        let body = loopBody { $0.blockToEnd(range, with: locals) }
        return .loop(locals, values, body.block)
    }

    // MARK: Declarations and assignments

    private mutating func local() -> LuaStatement {
        let range = token.range
        if take("function") {
            let local = LuaLocal(name())
            declare(local)
            let value = functionBody(from: range)
            local.value = value
            return .local([local], [value])
        }
        var locals: [LuaLocal] = []
        repeat {
            locals.append(LuaLocal(name()))
            if take("<") {
                _ = name()
                expect(">")
            }
        } while take(",")
        let values = take("=") ? expressions() : []
        if locals.count == 1, values.count == 1 { locals[0].value = values[0] }
        for local in locals { declare(local) }
        return .local(locals, values)
    }

    /// `function a.b:c() … end` changes what it names.
    private mutating func function(_ range: Range<Int>) -> LuaStatement {
        let start = token.range.lowerBound
        var target = node(variable(name()), from: start)
        if case .local(let local) = target.kind, !isAt("."), !isAt(":") { reassign(local) }
        var own: [LuaLocal] = []
        while isAt(".") || isAt(":") {
            if isAt(":") { own = [LuaLocal(LuaName(text: "self", range: token.range))] }
            advance()
            let name = name()
            target = node(.member(of: target, name), from: start)
        }
        return .assign([target], [functionBody(own, from: range)])
    }

    private mutating func plain() -> LuaStatement {
        var targets = [suffixed()]
        guard isAt("=") || isAt(",") else {
            switch targets[0].kind {
            case .call, .method, .missing, .unread: break
            default: complain("this does nothing", at: targets[0].range)
            }
            return .run(targets[0])
        }
        reassign(targets[0])
        while take(",") {
            targets.append(suffixed())
            reassign(targets[targets.count - 1])
        }
        expect("=")
        return .assign(targets, expressions())
    }

    /// The name that was read last is what is assigned to.
    private func reassign(_ target: LuaExpression) {
        if case .local(let local) = target.kind { reassign(local) }
    }

    /// `(a, b) … end`.
    mutating func functionBody(
        _ own: [LuaLocal] = [], from opened: Range<Int>
    ) -> LuaExpression {
        var parameters = own
        expect("(")
        while !isAt(")"), token.kind == .name || isAt("...") {
            if !take("...") { parameters.append(LuaLocal(name())) }
            if !take(",") { break }
        }
        expect(")")
        let body = loopBody { $0.blockToEnd(opened, with: parameters) }.block
        return node(.function(LuaFunction(parameters, body)), from: opened.lowerBound)
    }
}
