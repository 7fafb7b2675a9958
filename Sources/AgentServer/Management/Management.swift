// What the management API works with.

import AgentCore
import CallModel
import Decisions
import EventLoop
import JSON
import PolicyHost
import WebProtocols

/// The parts behind the management API. Owner: the loop's thread.
final class Management {
    let desk: ManagementDesk
    let console: ConsoleServer
    let pieces: Pieces
    let polls: LongPolls
    let changes: CallChanges
    let jobs: JobQueue
    /// The journals; nil: not open yet.
    private(set) var keeper: JournalKeeper?
    /// Who is being forgotten; nil: not open yet.
    private(set) var forgetting: Forgetting?
    let numbers = StreamNumbers(startedAt: Clock.wallMilliseconds())
    private let exchange: Exchange
    private let loop: EventLoop
    private let log: Log
    private var audit: AuditLog? { desk.audit }

    init(_ desk: ManagementDesk, _ gateway: Gateway, loop: EventLoop, log: Log) {
        self.desk = desk
        exchange = gateway.exchange
        self.loop = loop
        self.log = log
        console = ConsoleServer(gateway, desk, loop: loop, log: log)
        pieces = Pieces(on: loop)
        polls = LongPolls(on: loop, pieces)
        changes = CallChanges(gateway.exchange, loop: loop)
        jobs = JobQueue(on: loop)
    }

    /// Opens the audit, in `directory` or in memory only.
    func openAudit(in directory: String?, _ thread: FilesThread?) throws(EventLoopError) {
        desk.audit = try AuditLog(directory: directory, thread, log: log, loop: loop)
    }

    /// Opens the journals, in `directory` or in memory only.
    func openJournal(in directory: String?, _ thread: FilesThread?) throws(EventLoopError) {
        let journal = Journal(begun: exchange.now())
        keeper = try JournalKeeper(journal, in: directory, thread, loop: loop, log: log)
        exchange.journal = journal
    }

    /// Opens what forgets people, and goes on with those that it did not finish.
    func openForgetting(
        _ gateway: Gateway, _ decisions: DecisionLog?, _ pushes: PushDelivery,
        _ thread: FilesThread?
    ) throws(EventLoopError) {
        let journals = keeper?.lines.map { lines in
            Forgetting.Records(name: "journals", lines: lines) { gone, line in
                JournalFiles.forgetting(gone, line)
            }
        }
        let records = decisions?.lines.map { lines in
            Forgetting.Records(name: "decisions", lines: lines) { gone, line in
                DecisionRecord.forgetting(gone, in: line)
            }
        }
        let states = (decisions?.states ?? []).map { lines in
            Forgetting.Records(name: "states", lines: lines) { gone, line in
                StateFiles.forgetting(gone, in: line)
            }
        }
        forgetting = try Forgetting(
            gateway, self, [journals, records].compactMap { $0 } + states, thread, decisions,
            pushes,
            loop: loop, log: log)
        forgetting?.resume()
    }

    /// Stops listening, and closes all connections of people.
    func close() { console.close() }

    /// Ends the threads.
    func end() {
        jobs.close()
        forgetting?.close()
        keeper?.close()
        audit?.close()
    }
}

extension Management {
    /// Answers with a job's number, or that too many wait.
    static func begun(_ job: Int?) -> HTTPResponse {
        guard let job else {
            return .refused(.rateLimited, "\(JobQueue.waitingMax) jobs wait already")
        }
        return .json(202, ["job": .integer(Int64(job))])
    }
}
