// Reads the decision log from disk: of a process that runs or of one that has ended.

import CallModel
import Glibc
import PolicyHost

/// The files of a decision log.
public struct DecisionFiles: Sendable {
    private let directory: String

    /// The log in a state directory.
    public init(directory: String) { self.directory = directory }

    package static func path(in directory: String) -> String { "\(directory)/decisions.jsonl" }

    /// The newest decisions whose line can be read, at most `count`, oldest first.
    ///
    /// - Parameter since: none that was made before.
    public func newest(_ count: Int, since: Moment = Moment(.min)) -> [DecisionRecord] {
        var found: [DecisionRecord] = []
        var goesOn = true
        for path in paths where goesOn {
            LineFile.visit(path) { line in
                goesOn = found.count < count
                guard goesOn, let record = DecisionRecord(line: line) else { return goesOn }
                goesOn = record.at >= since
                if goesOn { found.append(record) }
                return goesOn
            }
        }
        return found.reversed()
    }

    /// The lines about a call, oldest first, each one JSON object.
    public func lines(about call: CallID) -> [[UInt8]] { search(call).lines }

    /// How much earlier than a call, in milliseconds, a line about it may be dated: the node that
    /// made the call may have another clock.
    public static let earlierMost: Int64 = 60_000

    /// The lines about a call, oldest first, each one JSON object, and what of the log was never
    /// written since then, whatever it was about. Lines from before the call are not looked at.
    public func search(_ call: CallID) -> (lines: [[UInt8]], gaps: [DecisionGap]) {
        let name = Array("\"call\":\"\(call)\"".utf8)
        let begin = call.createdAt.milliseconds - Self.earlierMost
        var found: [[UInt8]] = []
        var gaps: [DecisionGap] = []
        var goesOn = true
        for path in paths where goesOn {
            LineFile.visit(path) { line in
                goesOn = (Self.moment(of: line)?.milliseconds ?? begin) >= begin
                guard goesOn else { return false }
                // The call's id stands near the beginning, behind the time, which has 13 digits for
                // some centuries.
                let head = line.prefix(name.count + 30)
                if head.contains(name) {
                    found.append(Array(line))
                } else if let gap = DecisionGap(line: line) {
                    gaps.append(gap)
                }
                return true
            }
        }
        return (found.reversed(), gaps.reversed())
    }

    /// When the oldest decision in the files was made, if older ones may have been deleted; nil:
    /// there are fewer files than `most`, or they cannot be read.
    public func keptSince(filesAtMost most: Int) -> Moment? {
        let paths = paths
        guard paths.count >= most, let oldest = paths.last else { return nil }
        let file = open(oldest, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        return bytes.withUnsafeBytes { bytes in
            Self.moment(of: UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, count))))
        }
    }

    private static let beginning = Array(#"{"at":"#.utf8)

    /// The moment with which a line begins.
    private static func moment(of line: UnsafeRawBufferPointer) -> Moment? {
        guard line.starts(with: beginning) else { return nil }
        var moment: Int64?
        for byte in line.dropFirst(beginning.count).prefix(16) {
            guard (0x30...0x39).contains(byte) else { break }
            moment = (moment ?? 0) * 10 + Int64(byte - 0x30)
        }
        return moment.map { Moment($0) }
    }

    /// The record with the copies of `state` that it names, as far as they are kept.
    public func withStates(_ record: DecisionRecord) -> DecisionRecord {
        let wanted = Set((record.input?.states ?? []).compactMap(\.id))
        guard !wanted.isEmpty, let input = record.input else { return record }
        let found = StateFiles.copies(wanted, in: directory)
        var record = record
        record.input = input.finding { found[$0] }
        return record
    }

    private var paths: [String] { LineFile.all(Self.path(in: directory)) }
}
