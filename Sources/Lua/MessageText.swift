// Text of files within a message.

extension String {
    /// The text on one line, what nobody sees in it as Lua writes it.
    var escapingUnshown: String {
        guard unicodeScalars.contains(where: { !$0.isShown }) else { return self }
        return unicodeScalars.reduce(into: "") { $0 += $1.isShown ? String($1) : $1.escape }
    }

    /// The text, or two thirds of `most` bytes of its beginning, `…`, and a third of its end.
    func leavingOutMiddle(beyond most: Int) -> String {
        guard utf8.count > most else { return self }
        let head = utf8.index(startIndex, offsetBy: most * 2 / 3)
        let tail = utf8.index(endIndex, offsetBy: -(most / 3))
        return "\(self[..<head])…\(self[tail...])"
    }
}

extension Unicode.Scalar {
    /// Whether a person sees it. Others break the line, control the terminal or change the
    /// direction of the text behind them.
    package var isShown: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    /// As Lua writes it in a text.
    fileprivate var escape: String {
        switch self {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(value, radix: 16, uppercase: true))}"
        }
    }
}
