// Who changed what by the management API.

import AgentCore
import Configuration
import Decisions
import EventLoop
import JSON
import Outbound
import WebProtocols

/// One line of the audit before it is written. The body is as it came: the files' thread shortens
/// it and takes its secrets out.
struct AuditEntry: Sendable {
    let number: Int
    let at: Int64
    let identity: ManagementIdentity
    let method: HTTPMethod
    let path: String
    let body: [UInt8]
    let status: Int

    /// `n, at, who, role, from, method, path, body, status`.
    func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("n", number)
            $0.field("at", at)
            $0.field("who", identity.name)
            $0.field("role", identity.role.rawValue)
            $0.field("from", identity.from)
            $0.field("method", method.rawValue)
            $0.field("path", String(path.prefix(Self.pathMax)))
            $0.key("body")
            $0.value(AuditBody.kept(of: body))
            $0.field("status", status)
        }
    }

    private static let pathMax = 1_024
}

/// What is kept of the body of a request.
enum AuditBody {
    /// Bytes of a body as JSON that are kept.
    static let bytesMax = 2_048
    /// What is nobody's business beside secrets.
    private static let ofCallers: Set<String> = ["jti", "extended_data"]

    /// The body without secrets, files as their hashes, or the beginning of its text.
    static func kept(of body: [UInt8]) -> JSONValue {
        guard !body.isEmpty else { return .null }
        let limits = JSONLimits(bytes: body.count)
        guard let value = try? JSONValue(parsing: body, limits: limits) else {
            return .string("\(body.count) bytes that are no JSON")
        }
        let shown = shown(value)
        guard shown.bytes.count > bytesMax else { return shown }
        // The rest of a long text shows what it was; no program parses it.
        return .string(
            String(decoding: shown.bytes.prefix(bytesMax - 3), as: UTF8.self).onOneLine + "…")
    }

    private static func shown(_ value: JSONValue) -> JSONValue {
        if let list = value.array { return .array(list.map(shown)) }
        guard let object = value.object else { return value }
        return .object(
            JSONObject(
                object.members.map { member in
                    if SecretName.isOne(member.key) || ofCallers.contains(member.key.lowercased()) {
                        return .init(key: member.key, value: .string("***"))
                    }
                    if member.key == "files", let files = member.value.object {
                        return .init(key: member.key, value: .object(hashes(of: files)))
                    }
                    return .init(key: member.key, value: shown(member.value))
                }))
    }

    private static func hashes(of files: JSONObject) -> JSONObject {
        JSONObject(
            files.members.map { file in
                let bytes = file.value.string.map { Array($0.utf8) } ?? file.value.bytes
                let hash = HashFunction.sha256.hash(bytes).prefix(8).hexDigits
                return .init(key: file.key, value: .string("sha256 \(hash)"))
            })
    }
}

/// The audit: in files that the files' thread writes, or in memory where nothing is kept on disk.
/// Owner: the loop's thread.
final class AuditLog {
    /// Lines kept where there are no files.
    static let keptMax = 1_000
    /// Requests of one identity that are noted in a minute although they were refused.
    static let refusedMax = 10
    /// Identities whose refused requests are counted.
    private static let identitiesMax = 1_000
    /// Files of which the audit is made.
    static let files = 16

    private let files: (thread: FilesThread, lines: LineFiles)?
    private let reads: FileReads<[[UInt8]]>?
    private let log: Log
    private var last: Int
    /// Lines as they are shown: a body may be a thousand times as long.
    private var kept: [(number: Int, line: [UInt8])] = []
    private var refused: [String: (minute: Int64, count: Int)] = [:]
    private var leftOutHere: UInt64 = 0
    /// Lines that the disk did not take whole; the files' thread counts them.
    private let unwritten = Locked<UInt64>(0)

    /// Lines that are in no file.
    var leftOut: UInt64 { leftOutHere + unwritten.withLock { $0 } }

    /// What is missing, for a person, until the process ends; nil: nothing is.
    var loss: String? {
        let count = leftOut
        guard count > 0 else { return nil }
        let lines = count == 1 ? "a line" : "\(count) lines"
        return "\(lines) of the audit could not be written: is the disk full?"
    }

    /// An audit in `directory`; nil: in memory only.
    init(directory: String?, _ thread: FilesThread?, log: Log, loop: EventLoop)
        throws(EventLoopError)
    {
        self.log = log
        guard let directory, let thread else {
            (files, reads, last) = (nil, nil, 0)
            return
        }
        let lines = LineFiles(
            path: "\(directory)/audit.jsonl", log: log,
            words: LineFiles.Words(
                cannotWrite: "cannot write the audit", cannotOpen: "cannot open the audit"))
        last = Self.lastNumber(lines.path)
        files = (thread, lines)
        reads = try FileReads(thread, loop: loop)
    }

    /// Puts other sizes into force: bytes in all, and how long lines are kept.
    func configure(bytes: Int, retention: Int64) {
        guard let files else { return }
        let lines = files.lines
        _ = files.thread.run(bytes: 0) {
            lines.limits = (max(bytes / Self.files, 65_536), Self.files)
            lines.retention = retention
            lines.removeOld()
        }
    }

    /// Notes a request, as soon as it is answered.
    func note(_ request: HTTPRequest, _ identity: ManagementIdentity, status: Int) {
        guard status < 400 || mayNoteRefused(identity) else { return }
        last += 1
        let entry = AuditEntry(
            number: last, at: Clock.wallMilliseconds(), identity: identity,
            method: request.method, path: request.target.rawPath, body: request.body,
            status: status)
        guard let files else {
            kept.append((last, Self.line(entry)))
            if kept.count > Self.keptMax { kept.removeFirst(kept.count - Self.keptMax) }
            return
        }
        let (lines, unwritten) = (files.lines, unwritten)
        let hasRoom = files.thread.run(bytes: request.body.count + 1_024) {
            var writer = JSONWriter()
            entry.write(into: &writer)
            writer.append(UInt8(ascii: "\n"))
            let written = lines.append(writer.written)
            if written < writer.written.count { unwritten.withLock { $0 += 1 } }
        }
        guard !hasRoom else { return }
        leftOutHere += 1
        log.warn("a line of the audit was left out", ("path", entry.path))
    }

    private func mayNoteRefused(_ identity: ManagementIdentity) -> Bool {
        let minute = Clock.bootMilliseconds() / 60_000
        var one = refused[identity.name] ?? (minute, 0)
        if one.minute != minute { one = (minute, 0) }
        one.count += 1
        if refused[identity.name] == nil, refused.count >= Self.identitiesMax {
            refused.removeAll(keepingCapacity: true)
        }
        refused[identity.name] = one
        return one.count <= Self.refusedMax
    }

    /// The newest lines before number `before`, as JSON objects, at most `limit`, newest first;
    /// nil: too many pages are being read.
    func page(before: Int?, limit: Int, _ done: @escaping ([[UInt8]]?) -> Void) {
        guard let files, let reads else {
            let found = kept.reversed().filter { $0.number < before ?? .max }.prefix(limit)
            return done(found.map(\.line))
        }
        let path = files.lines.path
        let read = { @Sendable in Self.read(path, before: before, limit: limit) }
        if !reads.begin(read, done) { done(nil) }
    }

    private static func line(_ entry: AuditEntry) -> [UInt8] {
        var writer = JSONWriter()
        entry.write(into: &writer)
        return writer.bytes
    }

    private static func read(_ path: String, before: Int?, limit: Int) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for file in LineFile.all(path) where found.count < limit {
            LineFile.visit(file) { line in
                if let before, number(of: line) ?? 0 >= before { return true }
                found.append(Array(line))
                return found.count < limit
            }
        }
        return found
    }

    /// The number in `{"n":17,…`.
    static func number(of line: UnsafeRawBufferPointer) -> Int? {
        guard line.count > 5, line.starts(with: #"{"n":"#.utf8) else { return nil }
        let digits = line.dropFirst(5).prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private static func lastNumber(_ path: String) -> Int {
        for file in LineFile.all(path) {
            var last: Int?
            LineFile.visit(file) { line in
                last = number(of: line)
                return last == nil
            }
            if let last { return last }
        }
        return 0
    }

    /// Ends reading.
    func close() { reads?.close() }
}
