// Reads journals from disk: of a process that runs or of one that has ended.

import AgentCore
import CallModel
import Decisions
import Glibc
import JSON
import WebProtocols

/// The files of journals in a state directory: lines of JSON, each a part of one call's journal.
public enum JournalFiles {
    /// Bytes of one call's journal that are read.
    private static let bytesMax = 65_536

    static func path(in directory: String) -> String { "\(directory)/journal.jsonl" }

    /// The entries of a call, as far as they were written; nil: there are none.
    public static func entries(of call: CallID, in directory: String) -> [JSONValue]? {
        read(call, path(in: directory))?.entries
    }

    /// Whether a file was written to since the call was made, or an hour before: clocks are set.
    private static func mayHave(_ id: CallID, _ file: String) -> Bool {
        var status = stat()
        guard stat(file, &status) == 0 else { return true }
        // In seconds: the time of a file may be any number, and a product of it too much.
        return status.st_mtim.tv_sec > Int(id.createdAt.milliseconds / 1_000) - 3_600
    }

    /// A line without somebody; nil: it cannot be read, and may name them.
    static func forgetting(_ gone: Forgotten, _ line: UnsafeRawBufferPointer) -> [UInt8]? {
        let bytes = Array(line)
        guard let json = try? JSONValue(parsing: bytes), var object = json.object,
            let packed = json["entries"]?.string.flatMap({ Base64.decode($0) })
        else { return gone.isNamed(in: String(decoding: bytes, as: UTF8.self)) ? nil : bytes }
        let new = JournalText.forgetting(gone, in: packed)
        guard new != packed else { return bytes }
        object["entries"] = .string(Base64.encode(new))
        return JSONValue.object(object).bytes
    }

    static func read(_ id: CallID, _ path: String) -> Journal.Found? {
        let head = Array("{\"call\":\"\(id)\"".utf8)
        var parts: [JSONValue] = []
        var bytes = 0
        for file in LineFile.all(path) where bytes < bytesMax && mayHave(id, file) {
            LineFile.visit(file) { line in
                guard line.starts(with: head), let value = try? JSONValue(parsing: Array(line))
                else { return true }
                parts.append(value)
                bytes += line.count
                return bytes < bytesMax
            }
        }
        guard let first = parts.last, let since = first["since"]?.integer else { return nil }
        let entries = parts.reversed().flatMap { part in
            part["entries"]?.string.flatMap { Base64.decode($0) } ?? []
        }
        return Journal.Found(
            bytes: entries, since: Moment(since), leftOut: 0, signals: 0,
            isWhole: bytes < bytesMax)
    }
}
