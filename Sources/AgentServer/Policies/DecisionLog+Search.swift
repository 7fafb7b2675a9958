// Everything that is known about the decisions about one call.

import CallModel
import Decisions
import EventLoop
import JSON

/// The decisions about a call, from memory and from files.
struct KnownDecisions: Sendable {
    /// Oldest first, without what they were asked about.
    let decisions: [JSONValue]
    /// What of the log was never written since the call was made.
    var gaps: [DecisionGap] = []
    /// Older decisions than from then are not kept; nil: all are.
    var keptSince: Moment?
}

extension DecisionLog {
    /// Finds what is known about `call` and hands it to `done`; nil: too many searches are under
    /// way.
    func find(_ call: CallID, _ done: @escaping (KnownDecisions?) -> Void) {
        let entries = entries(about: call).map(\.json)
        guard let search, !isWhole(call) else {
            return done(KnownDecisions(decisions: entries, keptSince: keptSince))
        }
        flush()
        let (files, most, gap) = (search.files, filesMax, gap)
        let isUnderWay = search.reads.begin(
            {
                let found = files.search(call)
                let lines = found.lines.suffix(Self.kept).compactMap(Self.withoutInput)
                let gaps = found.gaps + [gap].compactMap { $0 }
                return KnownDecisions(
                    decisions: DecisionFiles.joined(lines, entries),
                    gaps: gaps.filter { $0.until >= call.createdAt },
                    keptSince: files.keptSince(filesAtMost: most))
            }, done)
        if !isUnderWay { done(nil) }
    }

    private static func withoutInput(_ line: [UInt8]) -> JSONValue? {
        var decision = try? JSONValue(parsing: line, limits: .init(bytes: line.count)).object
        decision?["input"] = nil
        return decision.map { .object($0) }
    }
}

extension DecisionEntry {
    /// The entry as JSON.
    fileprivate var json: JSONValue {
        var writer = JSONWriter()
        write(into: &writer)
        return (try? JSONValue(parsing: writer.bytes)) ?? .null
    }
}
