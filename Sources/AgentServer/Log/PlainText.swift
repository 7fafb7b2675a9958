// Text from others, shown to the operator.

extension String {
    /// The text on one line. It cannot break the line, control the terminal or change the direction
    /// of the text behind it.
    public var onOneLine: String {
        let isPlain = utf8.allSatisfy { 0x20..<0x7F ~= $0 }
        if isPlain { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0.isShown ? $0 : " " }))
    }

    /// The text as the value of a field: in quotes where its end would not be clear.
    var asFieldValue: String {
        let text = onOneLine
        guard text.isEmpty || text.contains(where: { " \"\\=".contains($0) }) else { return text }
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }
}

extension Unicode.Scalar {
    fileprivate var isShown: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
