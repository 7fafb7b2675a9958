// Copies of `state` that records of decisions name: JSON lines of their own, one for each change.

import CallModel
import JSON
import PolicyHost

/// The files with copies of `state`, beside those of the decisions.
package enum StateFiles {
    /// The newest ones: of all plugins, and of those that change more than their share.
    package static func paths(in directory: String) -> [String] {
        ["\(directory)/states.jsonl", "\(directory)/states.busy.jsonl"]
    }

    /// Writes one line, without its end.
    package static func write(
        _ copy: StateCopy, of plugin: String, at moment: Moment, into writer: inout JSONWriter
    ) {
        writer.object {
            $0.field("at", moment.milliseconds)
            $0.field("state", String(copy.id, radix: 16))
            $0.field("plugin", plugin)
            $0.field("version", copy.version)
            $0.field("data", copy.text)
        }
    }

    /// A line without somebody; nil: the copy names them, or cannot be read.
    package static func forgetting(
        _ gone: Forgotten, in line: some Collection<UInt8>
    ) -> [UInt8]? {
        let bytes = Array(line)
        guard let copy = read(bytes), !copy.names(gone) else { return nil }
        return bytes
    }

    /// The copies with these ids, as far as they are there.
    static func copies(_ wanted: Set<UInt64>, in directory: String) -> [UInt64: StateCopy] {
        var found: [UInt64: StateCopy] = [:]
        let names = wanted.map { Array("\"state\":\"\(String($0, radix: 16))\"".utf8) }
        for path in paths(in: directory).flatMap(LineFile.all) {
            LineFile.visit(path) { line in
                // The id stands behind the time, which has 13 digits for some centuries.
                let head = line.prefix(60)
                if names.contains(where: { head.contains($0) }), let copy = read(Array(line)) {
                    found[copy.id] = copy
                }
                return found.count < wanted.count
            }
            if found.count == wanted.count { break }
        }
        return found
    }

    private static func read(_ line: [UInt8]) -> StateCopy? {
        let limits = JSONLimits(bytes: max(1, line.count))
        guard let json = try? JSONValue(parsing: line, limits: limits),
            let id = json["state"]?.string.flatMap({ UInt64($0, radix: 16) }),
            let version = json["version"]?.integer, let text = json["data"]?.string
        else { return nil }
        return StateCopy(id: id, version: version, text: text)
    }
}
