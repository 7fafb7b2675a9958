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
    /// Links of one chain, such as `a or b or c` or `a.b.c`: each makes the tree one deeper, and
    /// Lua has no bound for them as it has for brackets.
    private static let chainLinks = 200

    mutating func expressions() throws(GivenUp) -> [LuaExpression] {
        var list = [try expression()]
        while take(",") { list.append(try expression()) }
        return list
    }

    mutating func expression(above limit: Int = 0) throws(GivenUp) -> LuaExpression {
        var left: LuaExpression
        if isAt(anyOf: "not", "-", "#", "~") {
            place += 1
            left = .other([try expression(above: Self.ofOne)])
        } else {
            left = try simple()
        }
        var links = 0
        while token.kind == .symbol || token.kind == .keyword,
            let priority = Self.priorities[token.text], priority.left > limit
        {
            let (sign, line) = (token.text, line)
            place += 1
            links += 1
            guard links <= Self.chainLinks else { throw GivenUp() }
            let right = try expression(above: priority.right)
            left = .binary(sign, left, right, line: line)
        }
        return left
    }

    private mutating func simple() throws(GivenUp) -> LuaExpression {
        switch token.kind {
        case .text:
            defer { place += 1 }
            return .text(token.text)
        case .number:
            place += 1
            return .other([])
        case .keyword where ["nil", "true", "false"].contains(token.text):
            place += 1
            return .other([])
        default: break
        }
        if take("...") { return .other([]) }
        if take("function") { return .function(try functionBody()) }
        if isAt("{") { return try table() }
        return try suffixed()
    }

    /// A name or brackets, with fields and calls behind it.
    mutating func suffixed() throws(GivenUp) -> LuaExpression {
        var value: LuaExpression
        if take("(") {
            value = try expression()
            try expect(")")
        } else {
            value = variable(try name())
        }
        var links = 0
        while let next = try suffix(of: value) {
            value = next
            links += 1
            guard links <= Self.chainLinks else { throw GivenUp() }
        }
        return value
    }

    private mutating func suffix(of value: LuaExpression) throws(GivenUp) -> LuaExpression? {
        let line = line
        if take(".") { return .member(of: value, name: try name(), index: nil, line: line) }
        if take("[") {
            let index = try expression()
            try expect("]")
            if case .text(let name) = index {
                return .member(of: value, name: name, index: nil, line: line)
            }
            return .member(of: value, name: nil, index: index, line: line)
        }
        if take(":") {
            let name = try name()
            return .method(of: value, name: name, try arguments(), line: line)
        }
        guard isAt("(") || isAt("{") || token.kind == .text else { return nil }
        return .call(value, try arguments(), line: line)
    }

    private mutating func arguments() throws(GivenUp) -> [LuaExpression] {
        if token.kind == .text || isAt("{") { return [try simple()] }
        try expect("(")
        if take(")") { return [] }
        let list = try expressions()
        try expect(")")
        return list
    }

    private mutating func table() throws(GivenUp) -> LuaExpression {
        try expect("{")
        var names: [String]? = []
        var values: [LuaExpression] = []
        while !take("}") {
            if token.kind == .name, tokens[min(place + 1, tokens.count - 1)].text == "=",
                tokens[min(place + 1, tokens.count - 1)].kind == .symbol
            {
                let key = try name()
                names?.append(key)
                place += 1
            } else if take("[") {
                let key = try expression()
                try expect("]")
                try expect("=")
                if case .text(let name) = key { names?.append(name) } else { names = nil }
                values.append(key)
            } else {
                names = nil
            }
            values.append(try expression())
            if !take(",") { _ = take(";") }
        }
        return .table(names: names, values: values)
    }
}
