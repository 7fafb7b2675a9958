// The files of what is debugged: where they stand, and which lines a run can stop at.

import CLua
import Glibc
import JSON
import Lua

/// The files, by the names that Lua and editors have for them.
struct DebugFiles {
    private(set) var all: [DebugFile] = []
    private var lines: [[Int]] = []

    init() {}

    init(_ files: [DebugFile]) {
        all = files
        lines = files.map { Self.codeLines(of: $0.source) }
    }

    /// The file that Lua calls `name`.
    func place(named name: String) -> Int? { all.firstIndex { $0.source.name == name } }

    /// The file that an editor means; nil: it is none of these.
    func place(of source: JSONValue?) -> Int? {
        if let reference = source?["sourceReference"]?.integer, reference > 0 {
            return all.indices.contains(Int(reference) - 1) ? Int(reference) - 1 : nil
        }
        guard let path = source?["path"]?.string else {
            return source?["name"]?.string.flatMap { place(named: $0) }
        }
        let wanted = Self.resolved(path)
        return all.firstIndex { $0.path.map(Self.resolved) == wanted }
    }

    /// How an editor reaches the file.
    func source(_ place: Int) -> JSONValue {
        let file = all[place]
        if file.isOnDisk, let path = file.path {
            return ["name": .string(file.source.name), "path": .string(Self.resolved(path))]
        }
        return [
            "name": .string(file.source.name), "sourceReference": .integer(Int64(place + 1)),
            "origin": "the generation that was asked",
        ]
    }

    /// The first line from `line` on that has code.
    func line(_ line: Int, in place: Int) -> Int? { lines[place].first { $0 >= line } }

    /// Those that have code.
    func lines(_ range: ClosedRange<Int>, in place: Int) -> [Int] {
        lines[place].filter(range.contains)
    }

    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    private static func codeLines(of file: SourceFile) -> [Int] {
        let limits = callua_limits(
            memory: 64 << 20, coroutines: 1, coroutines_of_origin: 1, origins_of_account: 1,
            value: 1 << 20, state: 1, source: 1, stride: 1_000)
        let host = callua_host(context: nil, call: { _, _, _, _ in Int32(CALLUA_RAISE) })
        guard let vm = callua_new(limits, host, 0) else { return [] }
        defer { callua_free(vm) }
        var code = callua_bytes()
        let isDone = file.text.withUnsafeBufferPointer {
            callua_compile(
                vm, "@\(file.name)", callua_bytes(start: $0.baseAddress, count: $0.count),
                1_000_000_000, &code)
        }
        guard isDone else { return [] }
        let bytes = Array(UnsafeBufferPointer(start: code.start, count: code.count))
        return (CompiledChunk(bytes)?.codeLines ?? []).filter { $0 > 0 }.sorted()
    }
}
