// The log of a process, as the management API shows it.

import AgentCore
import CallModel
import JSON
import WebProtocols

/// Pages of the newest lines of the log, and what follows them.
struct LogPages {
    private let lines: LogRing
    private let numbers: StreamNumbers
    private let pieces: Pieces
    private let polls: LongPolls

    init(_ log: Log, _ numbers: StreamNumbers, _ pieces: Pieces, _ polls: LongPolls) {
        (lines, self.numbers, self.pieces, self.polls) = (log.newest, numbers, pieces, polls)
    }

    func answer(_ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void) {
        request.integer("after") == nil ? listLog(request, respond) : followLog(request, respond)
    }

    /// Which lines are wanted.
    private struct LogChoice {
        let level: LogLevel
        let plugin: String?
        let call: String?

        init(_ request: ManagementRequest) {
            level = request.text("level").flatMap { LogLevel(rawValue: $0) } ?? .debug
            plugin = request.text("plugin")
            call = request.callID.map { "\($0)" }
        }

        func admits(_ line: LogLine) -> Bool {
            guard line.level >= level else { return false }
            if let plugin, line.field("plugin") != plugin { return false }
            return call.map { line.field("call") == $0 } ?? true
        }
    }

    /// Lines that one piece of work looks at.
    private static let linesStep = 500

    private func listLog(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (choice, lines, base) = (LogChoice(request), self.lines, numbers.base)
        let last = lines.last
        var before = request.text("cursor").flatMap { Int($0) }.map { $0 - base } ?? last + 1
        var found: [LogLine] = []
        let limit = request.limit
        pieces.run {
            let next = lines.lines(before: before, Self.linesStep)
            for line in next where found.count < limit {
                if choice.admits(line) { found.append(line) }
                before = line.number
            }
            guard next.isEmpty || found.count >= limit else { return true }
            var page = ManagementPage(limit: limit)
            for line in found where !page.isFull { page.add { line.write(into: &$0) } }
            if let first = found.dropFirst(page.count).first { before = first.number + 1 }
            let isEnd = next.isEmpty && page.count == found.count
            respond(page.end(cursor: isEnd ? nil : "\(base + before)", after: base + last))
            return false
        }
    }

    private func followLog(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (choice, lines, base) = (LogChoice(request), self.lines, numbers.base)
        let after = request.integer("after") ?? 0
        let number = numbers.number(of: after, last: lines.last)
        var place = number ?? 0
        polls.wait(
            number == nil ? 0 : request.integer("wait_ms") ?? 0, by: request.identity.name,
            for: { isLast in
                let (next, areMissing) = lines.lines(after: place, Self.linesStep)
                let wanted = number == nil ? [] : next.filter { choice.admits($0) }
                let isReset = number == nil || areMissing && after != 0
                guard isLast || isReset || !wanted.isEmpty else {
                    place = next.last?.number ?? place
                    return nil
                }
                var page = ManagementPage(limit: .max)
                for line in wanted where !page.isFull { page.add { line.write(into: &$0) } }
                let cut = wanted.dropFirst(page.count).first.map { $0.number - 1 }
                let end = number == nil ? lines.last : cut ?? next.last?.number ?? place
                return page.end(after: base + end, isReset: isReset)
            }, respond)
    }
}
