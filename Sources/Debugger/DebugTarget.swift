// What is debugged: it can be run again and again, and every run is the same.

import Lua

/// One file of a plugin.
public struct DebugFile: Sendable, Equatable {
    /// As messages name it, such as `busy.lua`.
    public let source: SourceFile
    /// Where it stands on disk, or where another text of it stands.
    public let path: String?
    /// Whether the text on disk is the one that runs.
    public let isOnDisk: Bool

    /// The file `source`, which stands at `path`.
    public init(_ source: SourceFile, path: String?, isOnDisk: Bool) {
        (self.source, self.path, self.isOnDisk) = (source, path, isOnDisk)
    }
}

/// What came of a run.
public struct DebugResult: Sendable, Equatable {
    /// Lines for a person.
    public let lines: [String]
    /// Whether it went as it should.
    public let isGood: Bool

    /// A result told in `lines`.
    public init(lines: [String], isGood: Bool) { (self.lines, self.isGood) = (lines, isGood) }
}

/// A test, or a decision that was made.
public protocol DebugTarget {
    /// Every file that may run.
    var files: [DebugFile] { get }
    /// Said once, before the first run.
    var notes: [String] { get }
    /// Plugins whose `state` is not the one of then, because that was not recorded.
    var unknownStates: Set<String> { get }
    /// Runs it from the beginning, in Lua states of its own, while `observer` looks on.
    func run(_ observer: ScriptObserver) -> DebugResult
}

extension DebugTarget {
    /// None: all of its states are known.
    public var unknownStates: Set<String> { [] }
}

/// Why something cannot be debugged, or looked at.
public struct DebugProblem: Error, Equatable {
    /// For a person.
    public let text: String

    /// The reason `text`.
    public init(_ text: String) { self.text = text }
}

/// How much is shown at once.
public struct DebugSight: Sendable, Equatable {
    /// Bytes of a string.
    public var text = 1_024
    /// Members of a table.
    public var members = 300
    /// Functions under way.
    public var frames = 200

    /// The usual.
    public init() {}
}
