// The decision log: what is kept in memory and in files, read back, and followed.

import AgentCore
import CallModel
import Configuration
import EventLoop
import Glibc
import JSON
import Lua
import TestSupport
import Testing
import WebProtocols

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
        let log = DecisionLog(directory: path, log: trouble, writer: writer)
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

    @Test func whoAsksAboutACallIsToldWhatTheMemoryHasNoMore() throws {
        let place = try Place()
        let log = place.log()
        try log.openSearch(in: place.path, loop: place.loop)
        for number in 1...1_100 as ClosedRange<UInt64> { log.note(.decision(record(number))) }
        var known: KnownDecisions?
        var refused = 0
        // One more than may wait: the loop takes the answers later.
        for number in 0...FilesThread.readsMax {
            log.find(CallID(high: 0x0199, low: 7)) { found in
                if number == 0 { known = found }
                if found == nil { refused += 1 }
            }
        }
        #expect(refused == 1 && known == nil)
        place.loop.atEndOfTurn { if known != nil { place.loop.stop() } }
        place.loop.run()
        let found = try #require(known)
        #expect(log.entries(about: CallID(high: 0x0199, low: 7)).isEmpty)
        #expect(found.decisions.map { $0["at"]?.integer } == [1_790_000_000_007])
        #expect(found.keptSince == nil && found.gaps.isEmpty)
        log.close()
    }

    @Test func linesFromBeforeACallAreNotLookedAt() throws {
        let place = try Place()
        let call = CallID(high: 1_790_000_000_000 << 16 | 0x7000, low: 7)
        let begin = call.createdAt.milliseconds
        for at in [begin - 900_000, begin - DecisionFiles.earlierMost, begin, begin + 5] {
            place.write("{\"at\":\(at),\"call\":\"\(call)\"}\n", to: "decisions.jsonl")
        }
        let found = DecisionFiles(directory: place.path).lines(about: call)
        #expect(
            found.map { String(decoding: $0.prefix(19), as: UTF8.self) } == [
                "{\"at\":\(begin - DecisionFiles.earlierMost)", "{\"at\":\(begin)",
                "{\"at\":\(begin + 5)",
            ])
    }

    @Test func inMemoryTheNewestCanBeAskedAgain() throws {
        let log = DecisionLog(directory: nil, log: Log(level: .error))
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
        log.follow()
        note(2)
        log.flush()
        note(3)
        log.flush()
        #expect(log.newest(10).map(hasInput) == [false, true, true])
        let followed = log.page(after: 1, DecisionFilter()).entries
        #expect(followed.map(\.call.low) == [2, 3] && followed.allSatisfy(hasInput))
        let kept = DecisionFiles(directory: place.path).newest(10)
        #expect(kept.map { $0.input != nil } == [true, true, true])
    }

    @Test func whoIsForgottenIsNamedInNoEntryAndNoFile() throws {
        let place = try Place()
        let log = place.log { $0.size = 1_024 }
        for number in 1...40 as ClosedRange<UInt64> {
            log.note(.decision(record(number, user: number % 2 == 0 ? "bob" : "ann")))
            log.flush()
        }
        let gone = Forgotten(UserID("ann"), as: UserID("deleted:0123456789012345"))
        var memory = 0
        while log.forget(gone, at: memory) { memory += 1 }
        #expect(memory == 40)
        #expect(Set(log.newest(40).map(\.user.text)) == [gone.substitute.text, "bob"])
        let lines = try #require(log.lines)
        var (number, changed) = (0, 0)
        while let more = try lines.rewriteWhole(
            number,
            {
                DecisionRecord.forgetting(gone, in: $0)
            })
        {
            (number, changed) = (number + 1, changed + more)
        }
        let kept = DecisionFiles(directory: place.path).newest(100)
        #expect(number > 1 && changed == kept.count { $0.user == gone.substitute })
        #expect(!kept.isEmpty && !kept.contains { $0.user == UserID("ann") })
        // It goes on behind what was written again, and nothing else is left there.
        log.note(.decision(record(41)))
        log.flush()
        #expect(DecisionFiles(directory: place.path).newest(1).first?.call.low == 41)
        #expect(!place.names.contains { $0.hasSuffix(".new") })
    }

    @Test func aFileThatCannotBeWrittenAgainStaysAsItWas() throws {
        let place = try Place()
        var isFull = false
        var system = DecisionWriter.System()
        system.write = { isFull ? -1 : Glibc.write($0, $1.baseAddress, $1.count) }
        let log = place.log(system)
        log.note(.decision(record(1, user: "ann")))
        log.flush()
        isFull = true
        let gone = Forgotten(UserID("ann"), as: UserID("deleted:0123456789012345"))
        let lines = try #require(log.lines)
        #expect(throws: LineFilesError.self) {
            try lines.rewriteWhole(0) { DecisionRecord.forgetting(gone, in: $0) }
        }
        let kept = DecisionFiles(directory: place.path).newest(9)
        #expect(kept.map(\.user.text) == ["ann"] && place.names.count == 1)
    }

    private func hasInput(_ entry: DecisionEntry) -> Bool {
        if case .decision(let record) = entry { record.input != nil } else { false }
    }

    private func input(
        _ number: Int, vars: [DecisionInput.Vars] = [], seen: [DecisionInput.Seen] = []
    ) -> DecisionInput {
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
            decideIn: 2_000, wallOffset: 0, dice: UInt64(number), vars: vars, seen: seen)
    }

    @Test func whatPluginsWereToldCountsAsMemoryOfWhatWaits() throws {
        let place = try Place()
        let log = place.log()
        log.configure(Configuration.DecisionLog(), backlog: 100_000)
        let large = [UInt8](repeating: 0x78, count: 100_000)
        func isTaken(_ input: DecisionInput) -> Bool {
            let before = log.leftOut
            var record = record(1)
            record.input = input
            log.note(.decision(record))
            log.flush()
            return log.leftOut == before
        }
        func seen(_ reply: WaitReply) -> DecisionInput.Seen {
            DecisionInput.Seen(plugin: "p", request: "http", after: 1, reply: reply)
        }
        let text = String(decoding: large, as: UTF8.self)
        #expect(isTaken(input(1)))
        let fetched = FetchReply(status: 200, headers: [], body: large)
        #expect(!isTaken(input(1, seen: [seen(.fetched(fetched))])))
        #expect(!isTaken(input(1, seen: [seen(.value(["a": [.string(text)]]))])))
        #expect(!isTaken(input(1, vars: [DecisionInput.Vars(plugin: "p", bytes: large)])))
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
        let log = DecisionLog(directory: nil, log: Log(level: .error))
        log.configure(Configuration.DecisionLog(), backlog: 100_000)
        for number in 1...10 {
            var record = record(UInt64(number))
            let bytes = [UInt8](repeating: 1, count: 30_000)
            record.input = input(number, vars: [DecisionInput.Vars(plugin: "p", bytes: bytes)])
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

    private func record(
        _ number: UInt64, naming copies: [(String, StateCopy)]
    ) -> DecisionRecord {
        var record = record(number)
        let plain = input(Int(number))
        record.input = DecisionInput(
            subject: plain.subject, facts: [], decideIn: 2_000, wallOffset: 0, dice: number,
            vars: [], states: copies.map { .init(plugin: $0, id: $1.id, copy: $1) }, seen: [])
        return record
    }

    private func copy(_ id: UInt64, _ byte: UInt8 = 0x78, count: Int = 100) -> StateCopy {
        StateCopy(id: id, version: 2, bytes: [UInt8](repeating: byte, count: count))
    }

    private func lines(_ place: Place, _ name: String) -> Int {
        let bytes = Files.read("\(place.path)/\(name)", limit: 1 << 30) ?? []
        return bytes.count { $0 == 0x0A }
    }

    @Test func aCopyOfStateIsWrittenOnce() throws {
        let place = try Place()
        let log = place.log()
        let (first, second, other) = (copy(0xa1), copy(0xa2, 0x79), copy(0xb1))
        let named = [[first], [first, other], [second, other], [first]]
        for (number, copies) in named.enumerated() {
            let pairs = copies.map { ($0.id == 0xb1 ? "q" : "p", $0) }
            log.note(.decision(record(UInt64(number), naming: pairs)))
            log.flush()
        }
        #expect(lines(place, "states.jsonl") == 3)
        let files = DecisionFiles(directory: place.path)
        let newest = files.newest(10)
        #expect(newest[2].input?.states?.map(\.id) == [0xa2, 0xb1])
        #expect(newest[2].copies.values.allSatisfy { $0 === StateCopy.empty })
        let whole = files.withStates(newest[2])
        #expect(whole.copies["p"] == second && whole.copies["q"] == other)
        // In memory nobody needs them.
        for case .decision(let record) in log.newest(10) {
            #expect(record.input?.states?.allSatisfy { $0.copy == nil } ?? true)
        }
        // Without the files it is not known, and that is no empty table.
        let gone = DecisionFiles(directory: "/nonexistent").withStates(newest[2])
        #expect(gone.copies["p"] == nil && gone.copies["q"] == nil)
    }

    @Test func copiesTakeABoundedPlaceAndThoseInUseStay() throws {
        let place = try Place()
        let log = place.log { $0.size = 65_536 }
        let kept = copy(1, count: 1_000)
        for number in 2...200 as ClosedRange<UInt64> {
            log.note(
                .decision(
                    record(
                        number, naming: [("p", copy(number, count: 3_000)), ("kept", kept)])))
            log.flush()
        }
        let names = place.names.filter { $0.hasPrefix("states") }
        #expect(names == ["states.busy.jsonl", "states.busy.jsonl.1", "states.jsonl"])
        let files = DecisionFiles(directory: place.path)
        let newest = files.newest(2)
        let last = files.withStates(try #require(newest.last))
        #expect(last.copies["kept"] == kept && last.copies["p"]?.id == 200)
        let missing = copy(60, count: 3_000)
        #expect(files.withStates(record(60, naming: [("p", missing)])).copies["p"] == nil)
    }

    /// A plugin that changes much at every question takes nothing away from the others.
    @Test func onePluginCannotFillTheFilesOfAll() throws {
        let place = try Place()
        let log = place.log { $0.size = 65_536 }
        let quiet = record(1, naming: [("quiet", copy(1, count: 1_000))])
        log.note(.decision(quiet))
        for number in 2...500 as ClosedRange<UInt64> {
            log.note(.decision(record(number, naming: [("busy", copy(number, count: 3_000))])))
            log.flush()
        }
        let files = DecisionFiles(directory: place.path)
        #expect(files.withStates(quiet).copies["quiet"]?.id == 1)
        let last = files.withStates(try #require(files.newest(1).last))
        #expect(last.copies["busy"]?.id == 500)
        let sizes = place.names.filter { $0.hasPrefix("states") }.map {
            Files.read("\(place.path)/\($0)", limit: 1 << 30)?.count ?? 0
        }
        #expect(sizes.reduce(0, +) < 4 * (65_536 + 4_500))
    }

    /// Else it would use up its own share by that, and then share the file of the busy one.
    @Test func aBusyPluginHasNoCopyOfAnotherOneWrittenAgain() throws {
        let place = try Place()
        let log = place.log { $0.size = 65_536 }
        let kept = copy(1, count: 1_000)
        for number in 2...500 as ClosedRange<UInt64> {
            let states = [("quiet", kept), ("busy", copy(number, count: 3_000))]
            log.note(.decision(record(number, naming: states)))
            log.flush()
        }
        func copies(in name: String) -> Int {
            let bytes = Files.read("\(place.path)/\(name)", limit: 1 << 30) ?? []
            return bytes.split(separator: 0x0A).filter {
                String(decoding: $0, as: UTF8.self).contains("\"quiet\"")
            }.count
        }
        #expect(copies(in: "states.jsonl") == 1)
        #expect(copies(in: "states.busy.jsonl") == 0 && copies(in: "states.busy.jsonl.1") == 0)
    }

    @Test func aCopyThatNamesWhoIsForgottenGoes() throws {
        let place = try Place()
        let log = place.log()
        func bytes(_ text: String) -> [UInt8] {
            let writer = PlainWriter()
            writer.json(["seen": [.string(text)]])
            return writer.copy
        }
        let (hers, theirs) = (
            StateCopy(id: 1, version: 1, bytes: bytes("ann")),
            StateCopy(id: 2, version: 1, bytes: bytes("anna"))
        )
        log.note(.decision(record(1, naming: [("p", hers), ("q", theirs)])))
        log.flush()
        let gone = Forgotten(UserID("ann"), as: UserID("deleted:0000000000000001"))
        let changed = try log.states[0].rewriteWhole(0) { StateFiles.forgetting(gone, in: $0) }
        #expect(changed == 1)
        let named = record(1, naming: [("p", hers)]).line
        let line = try #require(DecisionRecord.forgetting(gone, in: named))
        #expect(DecisionRecord(line: line)?.input?.states?.first?.id == 1)
        let files = DecisionFiles(directory: place.path)
        let found = files.withStates(try #require(files.newest(1).first))
        #expect(found.copies["p"] == nil && found.copies["q"] == theirs)
    }

    @Test func onlyTheFirstWhoNamesACopyCountsItAsMemory() throws {
        let large = copy(7, count: 50_000)
        func bytes(isFirst: Bool) -> Int {
            let plain = input(1)
            var record = record(1)
            record.input = DecisionInput(
                subject: plain.subject, facts: [], decideIn: 1, wallOffset: 0, dice: 1, vars: [],
                states: [.init(plugin: "p", id: 7, copy: large, isFirst: isFirst)], seen: [])
            return record.bytesBesideCall
        }
        #expect(bytes(isFirst: true) >= 150_000 && bytes(isFirst: false) < 1_000)
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
        now += LineFiles.reopenEvery - 1
        note(4)
        #expect(kept.newest(10).map(\.call.low) == [1, 2])
        now += 1
        note(5)
        note(6)
        // Each line is a file here. One says that two are missing, and the oldest had to go.
        #expect(kept.newest(10).map(\.call.low) == [2, 5, 6])
        #expect(log.newest(10).map(\.call.low) == [1, 2, 3, 4, 5, 6])
    }

    @Test func whoFollowsIsToldWhatComes() throws {
        let place = try Place()
        let log = place.log()
        log.note(.decision(record(1)))
        let all = DecisionFilter()
        let begin = log.newestNumber
        #expect(log.page(after: begin, all).entries.isEmpty, "what was before is not told")
        log.note(.decision(record(2)))
        log.note(.decision(record(3)))
        let first = log.page(after: begin, all)
        #expect(first.entries.map(\.call.low) == [2, 3] && first.missed == 0)
        #expect(log.page(after: first.next, all).entries.isEmpty)
        log.note(.decision(record(4)))
        #expect(log.page(after: first.next, all).entries.map(\.call.low) == [4])
        // Who comes back late is told what was missed.
        for number in 5...2_100 { log.note(.decision(record(UInt64(number)))) }
        let late = log.page(after: 4, all)
        #expect(late.missed > 0 && late.missed + late.entries.count == 2_096)
        let odd = log.page(after: .min, all)
        #expect(odd.missed == 0 && odd.entries.isEmpty == false)
    }

    @Test func onlyWhatIsWantedIsTold() throws {
        let place = try Place()
        let log = place.log()
        func told(_ filter: DecisionFilter) -> [UInt64] {
            log.page(after: 0, filter).entries.map(\.call.low)
        }
        log.note(.decision(record(1, user: "ann")))
        log.note(.decision(record(2, plugin: "busy")))
        log.note(
            .shadow(
                ReplayReport.Change(
                    hook: .invite, call: CallID(high: 0x0199, low: 2), user: UserID("bob"),
                    at: Moment(1), generation: "g", before: "default", after: "ring, by x",
                    problem: nil),
                generation: "s"))
        #expect(told(DecisionFilter()) == [1, 2, 2])
        #expect(told(DecisionFilter(user: UserID("ann"))) == [1])
        #expect(told(DecisionFilter(call: CallID(high: 0x0199, low: 2))) == [2, 2])
        #expect(told(DecisionFilter(plugin: "busy")) == [2])
    }
}
