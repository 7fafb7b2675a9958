// The decision log: what is kept in memory and in files, read back, and followed.

import AgentCore
import CallModel
import Configuration
import EventLoop
import Glibc
import JSON
import TestSupport
import Testing

@testable import AgentServer
@testable import Decisions
@testable import PolicyHost

/// A directory of one test, and a loop for the timers.
private final class Place {
    let loop: EventLoop
    private let folder = TemporaryFolder()

    init() throws { loop = try EventLoop() }

    deinit { loop.close() }

    var path: String { folder.path }
    var names: [String] { folder.names }

    func log(
        _ system: DecisionWriter.System = .init(),
        _ change: (inout Configuration.DecisionLog) -> Void = { _ in }
    ) -> DecisionLog {
        let trouble = Log(level: .error)
        let writer = DecisionWriter(
            path: DecisionFiles.path(in: path), log: trouble, system: system)
        let log = DecisionLog(directory: path, log: trouble, loop: loop, writer: writer)
        var limits = Configuration.DecisionLog()
        change(&limits)
        log.configure(limits)
        return log
    }

    func write(_ text: String, to name: String) {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        _ = text.withCString { Glibc.write(file, $0, strlen($0)) }
        close(file)
    }
}

@Suite struct DecisionLogTests {
    private func record(
        _ number: UInt64, user: String = "bob", plugin: String = "p"
    ) -> DecisionRecord {
        DecisionRecord(
            hook: .invite, call: CallID(high: 0x0199, low: number), user: UserID(user),
            at: Moment(1_790_000_000_000 + Int64(number)), took: 1, generation: "g",
            asked: [
                .init(plugin: plugin, processor: 5_000, wall: 0, verdict: .noOpinion, message: nil)
            ], outcome: .answer(.none), input: nil)
    }

    @Test func theNewestAreInMemoryAndAllInTheFile() throws {
        let place = try Place()
        let log = place.log()
        for number in 1...2_500 { log.note(.decision(record(UInt64(number)))) }
        log.flush()
        #expect(log.newest(5_000).map(\.call.low) == (1_501...2_500).map { UInt64($0) })
        #expect(log.entries(about: CallID(high: 0x0199, low: 1_500)).isEmpty)
        #expect(log.entries(about: CallID(high: 0x0199, low: 1_501)).count == 1)
        #expect(log.newest(2).map(\.call.low) == [2_499, 2_500])
        let files = DecisionFiles(directory: place.path)
        #expect(files.newest(10_000).map(\.call.low) == (1...2_500).map { UInt64($0) })
        #expect(files.newest(3).map(\.call.low) == [2_498, 2_499, 2_500])
        let lines = files.lines(about: CallID(high: 0x0199, low: 7))
        #expect(lines.count == 1 && lines.first.flatMap { DecisionRecord(line: $0) } == record(7))
        #expect(files.lines(about: CallID(high: 1, low: 1)).isEmpty)
    }

    @Test func inMemoryTheNewestCanBeAskedAgain() throws {
        let place = try Place()
        let log = DecisionLog(directory: nil, log: Log(level: .error), loop: place.loop)
        for number in 1...1_300 {
            var record = record(UInt64(number))
            record.input = input(number)
            log.note(.decision(record))
            let kept = log.newest(1_000)
            #expect(kept.count == min(number, 1_000))
            #expect(kept.suffix(250).allSatisfy(hasInput))
            #expect(!kept.dropLast(250).contains(where: hasInput))
        }
        #expect(log.records.map(\.input) == (1_051...1_300).map { input($0) })
    }

    @Test func onDiskTheFilesHaveWhatIsNeededToAskAgain() throws {
        let place = try Place()
        let log = place.log()
        func note(_ number: Int) {
            var record = record(UInt64(number))
            record.input = input(number)
            log.note(.decision(record))
        }
        note(1)
        var followed: [DecisionEntry] = []
        log.trace(after: nil, DecisionFilter()) { followed = $0.entries }
        note(2)
        log.flush()
        note(3)
        log.flush()
        #expect(log.newest(10).map(hasInput) == [false, true, false])
        #expect(followed.map(\.call.low) == [2] && followed.allSatisfy(hasInput))
        let kept = DecisionFiles(directory: place.path).newest(10)
        #expect(kept.map { $0.input != nil } == [true, true, true])
    }

    private func hasInput(_ entry: DecisionEntry) -> Bool {
        if case .decision(let record) = entry { record.input != nil } else { false }
    }

    private func input(_ number: Int) -> DecisionInput {
        let created = Moment(1_790_000_000_000)
        var call = Call(
            id: CallID(high: 0x0199, low: UInt64(number)), mode: .common, kind: "audio",
            ringTime: 30_000, deliveryCheck: nil, createdAt: created)
        call.participants = [
            Participant(user: UserID("ann"), role: .caller, state: .joined, at: created),
            Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: created),
        ]
        return DecisionInput(
            subject: .question(.invite(call, callee: UserID("bob"), from: 0)), facts: [],
            decideIn: 2_000, wallOffset: 0, dice: UInt64(number), vars: [], seen: [])
    }

    @Test func whatPluginsWereToldCountsAsMemoryOfWhatWaits() throws {
        let place = try Place()
        let log = place.log()
        log.configure(Configuration.DecisionLog(), backlog: 100_000)
        let large = [UInt8](repeating: 0x78, count: 100_000)
        func isTaken(_ change: (inout DecisionInput) -> Void) -> Bool {
            let before = log.leftOut
            var (record, input) = (record(1), input(1))
            change(&input)
            record.input = input
            log.note(.decision(record))
            log.flush()
            return log.leftOut == before
        }
        func seen(_ reply: WaitReply) -> DecisionInput.Seen {
            DecisionInput.Seen(plugin: "p", request: "http", after: 1, reply: reply)
        }
        let text = String(decoding: large, as: UTF8.self)
        #expect(isTaken { _ in })
        let fetched = FetchReply(status: 200, headers: [], body: large)
        #expect(!isTaken { $0.seen = [seen(.fetched(fetched))] })
        #expect(!isTaken { $0.seen = [seen(.value(["a": [.string(text)]]))] })
        #expect(!isTaken { $0.vars = [DecisionInput.Vars(plugin: "p", bytes: large)] })
    }

    @Test func decisionsThatNoFileTakesCanBeAskedAgain() throws {
        let place = try Place()
        var isFull = false
        var system = DecisionWriter.System()
        system.write = { isFull ? -1 : Glibc.write($0, $1.baseAddress, $1.count) }
        let log = place.log(system)
        func note(_ number: UInt64) {
            var record = record(number)
            record.input = input(Int(number))
            log.note(.decision(record))
            log.flush()
        }
        note(1)
        isFull = true
        for number in 2...300 as ClosedRange<UInt64> { note(number) }
        isFull = false
        note(301)
        note(302)
        // The first one to fail, and the last one before it goes on, are not known to.
        let own = log.records.filter { $0.input != nil }.map(\.call.low)
        #expect(own == Array(53...301))
        let records = Reloader.Records(own: log.records, directory: place.path, settle: nil)
        let newest = records.newest(1_000)
        #expect(newest.map(\.call.low) == [1] + Array(53...302))
        #expect(newest.allSatisfy { $0.input != nil })
    }

    @Test func whatIsKeptToBeAskedAgainIsBoundedInBytes() throws {
        let place = try Place()
        let log = DecisionLog(directory: nil, log: Log(level: .error), loop: place.loop)
        log.configure(Configuration.DecisionLog(), backlog: 100_000)
        for number in 1...10 {
            var (record, input) = (record(UInt64(number)), input(number))
            let bytes = [UInt8](repeating: 1, count: 30_000)
            input.vars = [DecisionInput.Vars(plugin: "p", bytes: bytes)]
            record.input = input
            log.note(.decision(record))
        }
        #expect(log.newest(10).lastIndex { !hasInput($0) } == 6)
        #expect(log.newest(3).allSatisfy(hasInput))
    }

    @Test func ofABatchThatWasWrittenInPartOnlyTheRestIsLeftOut() throws {
        let place = try Place()
        var (room, written) = (Int.max, 0)
        var system = DecisionWriter.System()
        system.write = { file, bytes in
            let taken = min(room, bytes.count)
            written = Glibc.write(file, bytes.baseAddress, taken)
            return written
        }
        let log = place.log(system)
        log.note(.decision(record(1)))
        log.flush()
        room = written + written / 2
        for number in 2...4 as ClosedRange<UInt64> { log.note(.decision(record(number))) }
        log.flush()
        #expect(log.leftOut == 2)
        #expect(DecisionFiles(directory: place.path).newest(10).map(\.call.low) == [1, 2])
    }

    @Test func filesAreMovedAsideWhenFullAndTheOldestGoes() throws {
        let place = try Place()
        let log = place.log {
            $0.size = 65_536
            $0.files = 3
        }
        for number in 1...4_000 {
            log.note(.decision(record(UInt64(number))))
            log.flush()
        }
        #expect(
            place.names == ["decisions.jsonl", "decisions.jsonl.1", "decisions.jsonl.2"])
        let kept = DecisionFiles(directory: place.path).newest(4_000).map(\.call.low)
        #expect(kept.last == 4_000 && kept.count > 400 && kept.count < 1_200)
        #expect(kept == Array(4_001 - UInt64(kept.count)...4_000), "none is missing in between")
        // Fewer files from now on.
        log.configure(.init())
        var limits = Configuration.DecisionLog()
        (limits.size, limits.files) = (65_536, 1)
        log.configure(limits)
        for number in 1...400 {
            log.note(.decision(record(UInt64(number))))
            log.flush()
        }
        #expect(place.names == ["decisions.jsonl"])
    }

    @Test func aLineThatWasCutOffIsSkipped() throws {
        let place = try Place()
        place.write("{\"at\":1790000000", to: "decisions.jsonl")
        #expect(DecisionFiles(directory: place.path).newest(10).isEmpty)
        place.write("\nnonsense\n\n", to: "decisions.jsonl")
        let log = place.log()
        log.note(.decision(record(1)))
        log.flush()
        place.write("{\"at\":17900", to: "decisions.jsonl")
        #expect(DecisionFiles(directory: place.path).newest(10).map(\.call.low) == [1])
        #expect(DecisionFiles(directory: "/nonexistent").newest(10).isEmpty)
    }

    @Test func aLineThatTheDiskHadNoRoomForTakesNoOtherAlong() throws {
        let place = try Place()
        var room = 70
        var system = DecisionWriter.System()
        system.write = { file, bytes in
            let taken = min(room, bytes.count)
            room -= taken
            return taken == 0 ? -1 : Glibc.write(file, bytes.baseAddress, taken)
        }
        let log = place.log(system)
        func note(_ number: UInt64) {
            log.note(.decision(record(number)))
            log.flush()
        }
        note(1)
        note(2)
        room = .max
        note(3)
        #expect(DecisionFiles(directory: place.path).newest(10).map(\.call.low) == [3])
        // So it is with what a process did not come to write before it ended.
        place.write("{\"at\":17900", to: "decisions.jsonl")
        let next = place.log()
        next.note(.decision(record(4)))
        next.flush()
        #expect(DecisionFiles(directory: place.path).newest(10).map(\.call.low) == [3, 4])
    }

    @Test func aFileThatCannotBeOpenedIsTriedAgainOnceInAWhile() throws {
        let place = try Place()
        var now: Int64 = 1_000_000
        var system = DecisionWriter.System()
        system.now = { now }
        let log = place.log(system) { $0.size = 1 }
        func note(_ number: UInt64) {
            log.note(.decision(record(number)))
            log.flush()
        }
        note(1)
        rename(place.path, place.path + ".away")
        defer { rename(place.path + ".away", place.path) }
        note(2)
        note(3)
        rename(place.path + ".away", place.path)
        let kept = DecisionFiles(directory: place.path)
        now += DecisionWriter.reopenEvery - 1
        note(4)
        #expect(kept.newest(10).map(\.call.low) == [1, 2])
        now += 1
        note(5)
        note(6)
        #expect(kept.newest(10).map(\.call.low) == [1, 2, 5, 6])
        #expect(log.newest(10).map(\.call.low) == [1, 2, 3, 4, 5, 6])
    }

    @Test func whoFollowsIsToldWhatComes() throws {
        let place = try Place()
        let log = place.log()
        log.note(.decision(record(1)))
        var pages: [DecisionPage] = []
        log.trace(after: nil, DecisionFilter()) { pages.append($0) }
        log.flush()
        #expect(pages.isEmpty, "what was before is not told")
        log.note(.decision(record(2)))
        log.note(.decision(record(3)))
        log.flush()
        #expect(pages.count == 1 && pages[0].entries.map(\.call.low) == [2, 3])
        log.trace(after: pages[0].next, DecisionFilter()) { pages.append($0) }
        #expect(pages.count == 1)
        log.note(.decision(record(4)))
        log.flush()
        #expect(pages.last?.entries.map(\.call.low) == [4] && pages.last?.missed == 0)
        // Who comes back late is told what was missed.
        for number in 5...2_100 { log.note(.decision(record(UInt64(number)))) }
        log.trace(after: 4, DecisionFilter()) { pages.append($0) }
        let late = try #require(pages.last)
        #expect(late.missed > 0 && late.missed + late.entries.count == 2_096)
        log.trace(after: .min, DecisionFilter()) { pages.append($0) }
        #expect(pages.last?.missed == 0 && pages.last?.entries.isEmpty == false)
    }

    @Test func onlyWhatIsWantedIsTold() throws {
        let place = try Place()
        let log = place.log()
        func told(_ filter: DecisionFilter) -> [UInt64] {
            var page: DecisionPage?
            log.trace(after: 0, filter) { page = $0 }
            return page?.entries.map(\.call.low) ?? []
        }
        log.note(.decision(record(1, user: "ann")))
        log.note(.decision(record(2, plugin: "busy")))
        log.note(
            .shadow(
                ReplayReport.Change(
                    hook: .invite, call: CallID(high: 0x0199, low: 2), user: UserID("bob"),
                    at: Moment(1), before: "default", after: "ring, by x", problem: nil),
                generation: "s"))
        #expect(told(DecisionFilter()) == [1, 2, 2])
        #expect(told(DecisionFilter(user: UserID("ann"))) == [1])
        #expect(told(DecisionFilter(call: CallID(high: 0x0199, low: 2))) == [2, 2])
        #expect(told(DecisionFilter(plugin: "busy")) == [2])
    }
}
