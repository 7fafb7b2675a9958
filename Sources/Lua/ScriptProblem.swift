// What is wrong with a file of the operator or of a plugin.

/// One fault, printed as `FILE:LINE: text`.
public struct ScriptProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file, or nil where none is to blame.
    public let file: String?
    /// The line, or nil.
    public let line: Int?
    /// A message of Lua, with the names of files in it, is not much longer than 2,048.
    private static let bytesMax = 3_000
    /// What is wrong.
    public let text: String

    /// The fault `text` in `file`, at `line`.
    public init(_ text: String, file: String? = nil, line: Int? = nil) {
        self.text = text.leavingOutMiddle(beyond: Self.bytesMax)
        self.file = file
        self.line = line
    }

    /// A message of Lua, which begins with `FILE:LINE: ` where it knows; else it is about `file`.
    package init(message: String, in file: String? = nil) {
        let parts = message.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        if parts.count == 3, let line = Int(parts[1]), parts[2].hasPrefix(" ") {
            self.init(String(parts[2].dropFirst()), file: String(parts[0]), line: line)
        } else {
            self.init(message, file: file)
        }
    }

    /// `FILE:LINE: text`, as far as known.
    public var description: String {
        guard let file else { return text }
        return line.map { "\(file):\($0): \(text)" } ?? "\(file): \(text)"
    }
}

/// Everything that is wrong with a generation.
public struct ScriptProblems: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    public let all: [ScriptProblem]

    /// These faults.
    public init(_ all: [ScriptProblem]) { self.all = all }

    /// One line each.
    public var description: String { all.map(\.description).joined(separator: "\n") }
}
