// What is wrong with a file while somebody types it.

import JSON
import Lua
import LuaSource
import PolicyHost

/// Looks through open files; nothing of them is run.
struct Diagnostics {
    private let names: NameFinder

    init() throws(ScriptProblem) { names = try NameFinder() }

    /// Every name that scripts can use.
    var known: Set<String> { names.known }

    /// What is told of an open file.
    func found(in file: OpenFile, among files: OpenFiles) -> [JSONValue] {
        guard file.text.count <= files.limit else {
            let text = "this file has over \(files.limit) bytes: no plugin is that large"
            return [Self.diagnostic(text, 0..<0, file.lines)]
        }
        // The types for editors declare what there is, and are run by nobody.
        if file.text.starts(with: MetaFile.mark.utf8) { return [] }
        let source = SourceFile(name: "p.lua", text: file.text)
        let isOperators = file.path.split(separator: "/").last == "callagent.lua"
        let problem = Compiling.problem(in: source)
        if isOperators {
            if let problem { return [syntax(problem, nil, file.lines)] }
            return OperatorNames.mistakes(in: LuaParser.file(file.text)).map {
                Self.diagnostic($0.text, $0.range, file.lines)
            }
        }
        let plugin = files.plugin(of: file)
        guard let own = plugin.file(at: file.path) else { return [] }
        let mistakes =
            MistakeFinder.mistakes(in: own.types, plugin.declared)
            + names.mistakes(in: own.types)
        var shown =
            mistakes.map { (mistake: $0, severity: Severity.error) }
            + (plugin.changes(in: own) + MistakeFinder.unreached(in: own.types))
            .map { (mistake: $0, severity: Severity.warning) }
        shown.sort { $0.mistake.range.lowerBound < $1.mistake.range.lowerBound }
        var diagnostics: [JSONValue] = []
        let trouble = own.types.file.troubles.first
        if let problem {
            diagnostics.append(syntax(problem, trouble, file.lines))
            // What stands behind it, or in its line, may be read as something that it is not.
            let end = trouble.map { file.lines.line(of: $0.range.lowerBound) } ?? 0
            shown = shown.filter { file.lines.line(of: $0.mistake.range.lowerBound) < end }
        }
        return diagnostics
            + shown.map {
                Self.diagnostic($0.mistake.text, $0.mistake.range, file.lines, $0.severity)
            }
    }

    /// What Lua says, at the place that it means.
    private func syntax(
        _ problem: ScriptProblem, _ trouble: LuaTrouble?, _ lines: LineMap
    ) -> JSONValue {
        let line = problem.line ?? 1
        if let trouble, lines.line(of: trouble.range.lowerBound) == line {
            return Self.diagnostic(problem.text, trouble.range, lines)
        }
        return Self.diagnostic(problem.text, lines.content(ofLine: line), lines)
    }

    /// As the protocol numbers them.
    enum Severity: Int64 {
        case error = 1
        case warning = 2
    }

    static func diagnostic(
        _ text: String, _ range: Range<Int>, _ lines: LineMap, _ severity: Severity = .error
    ) -> JSONValue {
        [
            "range": Place.range(range, lines), "severity": .integer(severity.rawValue),
            "source": "callagent", "message": .string(text),
        ]
    }
}

/// Places as the protocol writes them.
enum Place {
    static func range(_ range: Range<Int>, _ lines: LineMap) -> JSONValue {
        ["start": spot(range.lowerBound, lines), "end": spot(range.upperBound, lines)]
    }

    private static func spot(_ place: Int, _ lines: LineMap) -> JSONValue {
        let spot = lines.spot(place)
        return ["line": .integer(Int64(spot.line)), "character": .integer(Int64(spot.column))]
    }

    static func location(_ range: Range<Int>, in file: PluginFile) -> JSONValue {
        ["uri": .string(FileAddress.uri(of: file.path)), "range": self.range(range, file.lines)]
    }

    /// The place that a position means.
    static func read(_ position: JSONValue?, _ lines: LineMap) -> Int? {
        guard let object = position?.object, let line = object["line"]?.integer,
            let column = object["character"]?.integer,
            let row = Int(exactly: line), let unit = Int(exactly: column)
        else { return nil }
        return lines.place(LineMap.Spot(line: row, column: unit))
    }
}
