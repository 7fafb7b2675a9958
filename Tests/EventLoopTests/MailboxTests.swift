// Messages between threads: none lost, each producer's order kept.
import EventLoop
import Glibc
import Testing

private struct Note: Sendable {
    let producer: Int
    let number: Int
}

/// Checks that each producer's numbers come without gap.
private struct Sequence {
    private var next: [Int]
    private(set) var total = 0
    private(set) var disorder = 0

    init(producers: Int) { next = Array(repeating: 0, count: producers) }

    mutating func add(_ note: Note) {
        if note.number != next[note.producer] { disorder += 1 }
        next[note.producer] = note.number + 1
        total += 1
    }
}

private let producers = 4
private let notesEach = 50_000

/// Starts producers that post singly and in batches of changing size.
private func startProducers(
    one: @escaping @Sendable (Note) -> Bool,
    many: @escaping @Sendable (inout [Note]) -> Bool
) throws -> [WorkerThread] {
    try (0..<producers).map { producer in
        try WorkerThread(name: "producer \(producer)") {
            var batch: [Note] = []
            for number in 0..<notesEach {
                let note = Note(producer: producer, number: number)
                if number % 1_000 < 10 {
                    _ = many(&batch)
                    _ = one(note)
                } else {
                    batch.append(note)
                    if batch.count > number % 61 { _ = many(&batch) }
                }
            }
            _ = many(&batch)
        }
    }
}

@Suite struct MailboxTests {
    @Test func aLoopGetsEveryElementInEachProducersOrderInBatches() throws {
        let rig = try Rig()
        defer { rig.close() }
        var sequence = Sequence(producers: producers)
        var batches = 0
        let mailbox = try Mailbox<Note>(on: rig.loop) { notes in
            batches += 1
            for note in notes { sequence.add(note) }
            if sequence.total == producers * notesEach { rig.finish() }
        }
        let threads = try startProducers(one: { mailbox.post($0) }, many: { mailbox.post(&$0) })
        rig.run()
        for thread in threads { thread.join() }
        #expect(sequence.total == producers * notesEach)
        #expect(sequence.disorder == 0)
        // A delivery needs a post, and there is one post for about 27 notes.
        #expect(batches < sequence.total / 20)
        #expect(mailbox.count == 0)
    }

    @Test func aWorkerGetsEveryElementInEachProducersOrder() throws {
        let mailbox = WorkerMailbox<Note>()
        let threads = try startProducers(one: { mailbox.post($0) }, many: { mailbox.post(&$0) })
        var sequence = Sequence(producers: producers)
        var batch: [Note] = []
        let limit = Clock.bootMilliseconds() + 20_000
        while sequence.total < producers * notesEach {
            guard case .elements = mailbox.takeAll(into: &batch, until: limit) else { break }
            for note in batch { sequence.add(note) }
        }
        for thread in threads { thread.join() }
        #expect(sequence.total == producers * notesEach)
        #expect(sequence.disorder == 0)
    }

    @Test func whatGathersBeforeTheLoopRunsIsOneBatch() throws {
        let rig = try Rig()
        defer { rig.close() }
        var batches: [[Int]] = []
        let mailbox = try Mailbox<Int>(on: rig.loop) { numbers in
            batches.append(numbers)
            rig.finish()
        }
        mailbox.post(1)
        var batch = [2, 3]
        mailbox.post(&batch)
        #expect(batch.isEmpty)
        mailbox.post(4)
        #expect(mailbox.count == 4)
        rig.run()
        #expect(batches == [[1, 2, 3, 4]])
    }

    @Test func aClosedMailboxTakesNothing() throws {
        let rig = try Rig()
        defer { rig.close() }
        let mailbox = try Mailbox<Int>(on: rig.loop) { _ in Issue.record("delivered") }
        mailbox.post(1)
        mailbox.close()
        #expect(!mailbox.post(2))
        var batch = [3]
        #expect(!mailbox.post(&batch))
        #expect(batch == [3])
        rig.later { rig.finish() }
        rig.run()
    }

    @Test func producersOutliveTheLoopOfTheirMailbox() throws {
        let rig = try Rig()
        defer { rig.close() }
        let mailbox = try Mailbox<Int>(on: rig.loop) { _ in rig.finish() }
        let threads = try (0..<2).map { index in
            try WorkerThread(name: "late \(index)") {
                while mailbox.post(index) {}
            }
        }
        rig.run()
        rig.close()
        for thread in threads { thread.join() }
        #expect(!mailbox.post(1))
    }

    @Test func aWorkerWakesAtItsDeadlineAndAPassedOneOnlyLooks() {
        let mailbox = WorkerMailbox<Int>()
        var batch = [1]
        let start = Clock.bootMilliseconds()
        guard case .deadline = mailbox.takeAll(into: &batch, until: start + 20) else {
            Issue.record("no deadline")
            return
        }
        #expect(Clock.bootMilliseconds() >= start + 20)
        #expect(batch.isEmpty)
        guard case .deadline = mailbox.takeAll(into: &batch, until: 0) else {
            Issue.record("no deadline")
            return
        }
        mailbox.post(7)
        guard case .elements = mailbox.takeAll(into: &batch, until: 0) else {
            Issue.record("no elements")
            return
        }
        #expect(batch == [7])
    }

    @Test func aClosedWorkerMailboxGivesWhatItHasAndThenEndsTheThread() throws {
        let mailbox = WorkerMailbox<Int>()
        let results = WorkerMailbox<[Int]>()
        let thread = try WorkerThread(name: "consumer") {
            var all: [Int] = []
            var batch: [Int] = []
            while case .elements = mailbox.takeAll(into: &batch) { all += batch }
            results.post(all)
        }
        mailbox.post(1)
        mailbox.post(2)
        mailbox.close()
        #expect(!mailbox.post(3))
        thread.join()
        var batch: [[Int]] = []
        _ = results.takeAll(into: &batch, until: 0)
        #expect(batch == [[1, 2]])
    }

    @Test func aThreadHasItsNameAndItsStack() throws {
        let results = WorkerMailbox<String>()
        let stack = 8 << 20
        let thread = try WorkerThread(name: "a-name-longer-than-15", stackSize: stack) {
            var name = [CChar](repeating: 0, count: 16)
            let file = open("/proc/thread-self/comm", O_RDONLY)
            read(file, &name, 16)
            close(file)
            results.post(String(decoding: name.map { UInt8($0) }.prefix { $0 > 31 }, as: UTF8.self))
            // Deeper than the smallest stack could go.
            results.post(
                withUnsafeTemporaryAllocation(byteCount: stack / 2, alignment: 16) { space in
                    space.initializeMemory(as: UInt8.self, repeating: 1)
                    return "\(space[0])"
                })
        }
        thread.join()
        var batch: [String] = []
        _ = results.takeAll(into: &batch, until: 0)
        #expect(batch == ["a-name-longer-t", "1"])
    }
}
