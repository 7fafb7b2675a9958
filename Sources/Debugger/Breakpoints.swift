// Where a run is to stop, and when.

import JSON

/// One breakpoint on a line.
final class Breakpoint {
    let id: Int64
    /// As it was asked for.
    let wanted: Int
    /// Where it is; nil: nowhere.
    var line: Int?
    var file: Int?
    var problem: String?
    let condition: String?
    let hitCondition: HitCondition?
    let message: String?
    /// How often it was met in this run.
    var hits = 0

    init(id: Int64, line: Int, _ json: JSONValue) throws(DebugProblem) {
        self.id = id
        wanted = line
        condition = json["condition"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        message = json["logMessage"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        let hits = json["hitCondition"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        hitCondition = try hits.map { text throws(DebugProblem) in try HitCondition(text) }
    }
}

/// `5`, `>= 5`, `% 5`: the how many-th time counts.
struct HitCondition {
    private let sign: String
    private let count: Int

    init(_ text: String) throws(DebugProblem) {
        let signs = ["==", ">=", "<=", ">", "<", "%", "="]
        let trimmed = text.drop { $0 == " " }
        sign = signs.first { trimmed.hasPrefix($0) } ?? "=="
        let digits = trimmed.dropFirst(trimmed.hasPrefix(sign) ? sign.count : 0)
            .filter { $0 != " " }
        guard let count = Int(digits), count > 0 else {
            throw DebugProblem(
                "'\(text)' counts no hits: write a number such as 5, '>= 5' or '% 5'")
        }
        self.count = count
    }

    func holds(_ hits: Int) -> Bool {
        switch sign {
        case ">=": hits >= count
        case "<=": hits <= count
        case ">": hits > count
        case "<": hits < count
        case "%": hits % count == 0
        default: hits == count
        }
    }
}

/// All of them.
struct Breakpoints {
    /// By what an editor calls the file.
    private var sets: [(source: JSONValue, points: [Breakpoint])] = []
    private var lines: [Int: [Breakpoint]] = [:]
    /// Lines that have one, in whatever file: it is asked at every line.
    private var marks: Set<Int32> = []
    private var lastID: Int64 = 0
    /// Titles of handlers that stop where they begin.
    var functions: [String] = []
    /// What editors count lines from, less 1.
    var lineShift = 0

    /// The breakpoints of `source` are those that `asked` tells of, each with its line.
    mutating func set(
        _ source: JSONValue, _ asked: [(line: Int, json: JSONValue)], in files: DebugFiles
    ) -> [JSONValue] {
        let place = files.place(of: source)
        sets.removeAll { set in
            set.source == source || place != nil && files.place(of: set.source) == place
        }
        var points: [Breakpoint] = []
        var told: [JSONValue] = []
        for (line, json) in asked {
            lastID += 1
            do throws(DebugProblem) {
                let point = try Breakpoint(id: lastID, line: line, json)
                points.append(point)
                put(point, of: source, at: place, in: files)
                told.append(describe(point, files))
            } catch {
                told.append(
                    [
                        "id": .integer(lastID), "verified": false, "message": .string(error.text),
                    ])
            }
        }
        if !points.isEmpty { sets.append((source, points)) }
        index()
        return told
    }

    /// There are other files now; tells of every breakpoint.
    mutating func place(in files: DebugFiles) -> [JSONValue] {
        var told: [JSONValue] = []
        for (source, points) in sets {
            let place = files.place(of: source)
            for point in points {
                put(point, of: source, at: place, in: files)
                told.append(describe(point, files))
            }
        }
        index()
        return told
    }

    private func put(
        _ point: Breakpoint, of source: JSONValue, at place: Int?, in files: DebugFiles
    ) {
        (point.file, point.line, point.problem) = (place, nil, nil)
        guard let place else {
            point.problem =
                files.all.isEmpty
                ? "nothing is debugged yet" : "this file is no part of what is debugged"
            return
        }
        let isOfFrame = (source["sourceReference"]?.integer ?? 0) > 0
        guard files.all[place].isOnDisk || isOfFrame else {
            point.problem = "the text on disk is not the one that runs: open the file of a frame"
            point.file = nil
            return
        }
        point.line = files.line(point.wanted, in: place)
        if point.line == nil { point.problem = "there is no code from this line on" }
    }

    private func describe(_ point: Breakpoint, _ files: DebugFiles) -> JSONValue {
        var json: JSONObject = ["id": .integer(point.id), "verified": .bool(point.line != nil)]
        json["message"] = point.problem.map { .string($0) }
        guard let line = point.line, let file = point.file else { return .object(json) }
        json["line"] = .integer(Int64(line + lineShift))
        json["source"] = files.source(file)
        return .object(json)
    }

    private mutating func index() {
        let points = sets.flatMap(\.points).filter { $0.line != nil }
        lines = Dictionary(grouping: points) { $0.line ?? 0 }
        marks = Set(lines.keys.map { Int32(clamping: $0) })
    }

    /// Whether there may be one.
    func mayStop(at line: Int32) -> Bool { !marks.isEmpty && marks.contains(line) }

    /// Those on a line of a file.
    func points(at line: Int, of file: Int) -> [Breakpoint] {
        (lines[line] ?? []).filter { $0.file == file }
    }

    /// A run begins.
    func begin() { for point in sets.flatMap(\.points) { point.hits = 0 } }
}
