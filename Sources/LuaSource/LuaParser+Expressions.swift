// Reads the expressions of Lua 5.4.

extension LuaParser {
    /// How tightly operators bind, on their left and on their right (Lua 5.4, section 3.4.8).
    private static let priorities: [String: (left: Int, right: Int)] = [
        "or": (1, 1), "and": (2, 2), "<": (3, 3), ">": (3, 3), "<=": (3, 3), ">=": (3, 3),
        "~=": (3, 3), "==": (3, 3), "|": (4, 4), "~": (5, 5), "&": (6, 6), "<<": (7, 7),
        ">>": (7, 7), "..": (9, 8), "+": (10, 10), "-": (10, 10), "*": (11, 11), "/": (11, 11),
        "//": (11, 11), "%": (11, 11), "^": (14, 13),
    ]
    private static let ofOne = 12

    mutating func expressions() -> [LuaExpression] {
        var list = [expression()]
        while take(",") { list.append(expression()) }
        return list
    }

    mutating func expression(above limit: Int = 0) -> LuaExpression {
        let start = token.range.lowerBound
        defer { depth -= 1 }
        guard deeper() else { return LuaExpression(.missing, start..<start) }
        var left: LuaExpression
        if isAt(anyOf: "not", "-", "#", "~") {
            let sign = token.text
            advance()
            left = node(.unary(sign, expression(above: Self.ofOne)), from: start)
        } else {
            left = simple()
        }
        while token.kind == .symbol || token.kind == .keyword,
            let priority = Self.priorities[token.text], priority.left > limit
        {
            let sign = token.text
            advance()
            let right = expression(above: priority.right)
            left = node(.binary(sign, left, right), from: start)
        }
        return left
    }

    private mutating func simple() -> LuaExpression {
        let (token, start) = (token, token.range.lowerBound)
        switch (token.kind, token.text) {
        case (.text, let text):
            advance()
            return node(.text(token.isPlain ? text : nil), from: start)
        case (.number, let text):
            advance()
            return node(.number(text), from: start)
        case (.keyword, "nil"):
            advance()
            return node(.nothing, from: start)
        case (.keyword, "true"), (.keyword, "false"):
            advance()
            return node(.truth(token.text == "true"), from: start)
        default: break
        }
        if take("...") { return node(.varargs, from: start) }
        if take("function") { return functionBody(from: token.range) }
        if isAt("{") { return table() }
        return suffixed()
    }

    /// A name or brackets, with fields and calls behind it.
    mutating func suffixed() -> LuaExpression {
        let (start, opened) = (token.range.lowerBound, token.range)
        var value: LuaExpression
        if take("(") {
            let inside = expression()
            expect(")", opened: opened)
            value = node(.brackets(inside), from: start)
        } else if token.kind == .name {
            value = node(variable(name()), from: start)
        } else {
            complain("a value is missing")
            return LuaExpression(.missing, end..<end)
        }
        while let next = suffix(of: value, from: start) { value = next }
        return value
    }

    private mutating func suffix(of value: LuaExpression, from start: Int) -> LuaExpression? {
        let opened = token.range
        if take(".") {
            let name = nameOfSameLine()
            return node(.member(of: value, name), from: start)
        }
        if take("[") {
            let key = token
            let index = expression()
            expect("]", opened: opened)
            if case .text(let name?) = index.kind, key.kind == .text {
                let range =
                    key.range.lowerBound
                    + 1..<max(
                        key.range.lowerBound + 1, key.range.upperBound - 1)
                return node(.member(of: value, LuaName(text: name, range: range)), from: start)
            }
            return node(.index(of: value, index), from: start)
        }
        if take(":") {
            let name = nameOfSameLine()
            let arguments = isAtArguments ? arguments() : []
            return node(.method(of: value, name, arguments), from: start)
        }
        guard isAtArguments else { return nil }
        let arguments = arguments()
        return node(.call(value, arguments), from: start)
    }

    /// The name behind a dot. While somebody types it, what stands in the next line is another
    /// statement.
    private mutating func nameOfSameLine() -> LuaName {
        guard token.isFirst, token.kind == .name else { return name() }
        complain("a name is missing", at: end..<end)
        return LuaName(text: "", range: end..<end)
    }

    private var isAtArguments: Bool { token.kind == .text || isAt("(") || isAt("{") }

    private mutating func arguments() -> [LuaExpression] {
        let opened = token.range
        guard take("(") else { return [simple()] }
        if take(")") { return [] }
        let list = expressions()
        expect(")", opened: opened)
        return list
    }

    private mutating func table() -> LuaExpression {
        let opened = token.range
        var fields: [LuaField] = []
        advance()
        while !isAt("}"), token.kind != .end {
            let start = place
            fields.append(field())
            if !take(","), !take(";") { break }
            if place == start { break }
        }
        expect("}", opened: opened)
        return node(.table(fields), from: opened.lowerBound)
    }

    private mutating func field() -> LuaField {
        if take("[") {
            let key = expression()
            expect("]")
            expect("=")
            return LuaField(key: .computed(key), value: expression())
        }
        if token.kind == .name, tokens[place + 1].kind == .symbol, tokens[place + 1].text == "=" {
            let name = name()
            advance()
            return LuaField(key: .name(name), value: expression())
        }
        return LuaField(key: .next, value: expression())
    }
}
