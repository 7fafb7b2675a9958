// Timers, turns and signals.
import EventLoop
import Glibc
import Testing

@Suite struct TimerTests {
    @Test func timersFireInTheOrderOfTheirMomentsNeverEarly() throws {
        let rig = try Rig()
        defer { rig.close() }
        let start = rig.loop.now
        var fired: [Int64] = []
        for delay in [30, 0, 20, 10] as [Int64] {
            let timer = Timer(on: rig.loop) {
                #expect(rig.loop.now >= start + delay)
                fired.append(delay)
                if fired.count == 4 { rig.finish() }
            }
            timer.arm(at: start + delay)
            rig.kept.append(timer)
        }
        rig.run()
        #expect(fired == [0, 10, 20, 30])
    }

    /// Whoever cannot go on throws, and does not think of the loop.
    @Test func aLoopThatIsDroppedClosesItself() throws {
        weak var dropped: EventLoop?
        do {
            let loop = try EventLoop()
            dropped = loop
            let timer = Timer(on: loop) {}
            timer.arm(after: 1_000)
        }
        #expect(dropped == nil)
    }

    @Test func aTimerFiresOncePerArmingAndCanArmItselfAgain() throws {
        let rig = try Rig()
        defer { rig.close() }
        var count = 0
        var again: () -> Void = {}
        let timer = Timer(on: rig.loop) { again() }
        again = {
            #expect(!timer.isArmed)
            count += 1
            if count == 3 { rig.finish() } else { timer.arm(after: 1) }
        }
        timer.arm(after: 1)
        timer.arm(after: 2)
        #expect(timer.isArmed)
        rig.run()
        #expect(count == 3)
        again = {}
    }

    @Test func aTimerThatArmsItselfForWhatHasPassedLetsTheLoopTurn() throws {
        let rig = try Rig()
        defer { rig.close() }
        var (count, turns) = (0, 0)
        var again: () -> Void = {}
        let timer = Timer(on: rig.loop) { again() }
        rig.loop.atEndOfTurn { turns += 1 }
        again = {
            count += 1
            if count == 20 { rig.finish() } else { timer.arm(at: rig.loop.now - 5) }
        }
        timer.arm(after: 0)
        rig.run()
        #expect(count == 20 && turns >= 20)
        again = {}
    }

    @Test func aTimerThatEveryTurnArmsForWhatHasPassedFires() throws {
        let rig = try Rig()
        defer { rig.close() }
        var count = 0
        let timer = Timer(on: rig.loop) {
            count += 1
            if count == 3 { rig.finish() }
        }
        rig.loop.atEndOfTurn { if count < 3 { timer.arm(at: rig.loop.now - 500) } }
        rig.run()
        #expect(count == 3)
    }

    @Test func afterAStandstillWhatCameInIsReadBeforeTimersFire() throws {
        let rig = try Rig()
        defer { rig.close() }
        var log: [String] = []
        func note(_ what: String) {
            log.append(what)
            if log.count == 3 { rig.finish() }
        }
        let (server, client) = (Peer(), Peer())
        server.onBytes = { _, _ in note("received") }
        let first = Timer(on: rig.loop) { note("late") }
        let second = Timer(on: rig.loop) { note("later") }
        // In the turn that sends it both are due, and only a wait for the sockets can bring it.
        client.onBytes = { connection, _ in
            first.arm(at: rig.loop.now - 500)
            second.arm(at: rig.loop.now - 1)
            connection.send("x")
        }
        let listener = try rig.listen {
            $0.handler = server
            $0.send("go")
        }
        rig.connect(to: listener.endpoint) { $0.handler = client }
        rig.run()
        #expect(log == ["received", "late", "later"])
    }

    @Test func aCancelledOrReleasedTimerDoesNotFire() throws {
        let rig = try Rig()
        defer { rig.close() }
        let cancelled = Timer(on: rig.loop) { Issue.record("fired") }
        cancelled.arm(after: 0)
        cancelled.cancel()
        #expect(!cancelled.isArmed)
        Timer(on: rig.loop) { Issue.record("fired") }.arm(after: 0)
        let last = Timer(on: rig.loop) { rig.finish() }
        last.arm(after: 5)
        rig.run()
    }

    @Test func theEndOfATurnComesOnceAfterTheCallbacksOfTheTurn() throws {
        let rig = try Rig()
        defer { rig.close() }
        var log: [String] = []
        rig.loop.atEndOfTurn {
            if log.last == "received" {
                log.append("end of turn")
                rig.finish()
            }
        }
        let server = Peer()
        server.onBytes = { _, _ in log.append("received") }
        let listener = try rig.listen { $0.handler = server }
        var waiting: [Connection] = []
        for _ in 0..<3 {
            rig.connect(to: listener.endpoint) { connection in
                waiting.append(connection)
                if waiting.count == 3 { for each in waiting { each.send("x") } }
            }
        }
        rig.run()
        #expect(log.suffix(2) == ["received", "end of turn"])
    }

    @Test func aStopOutsideARunSpoilsNeitherTheNextRunNorTheClose() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.loop.stop()
        var hasRun = false
        rig.later {
            hasRun = true
            rig.finish()
        }
        rig.run()
        #expect(hasRun)
        rig.loop.stop()
    }

    @Test func theClocksRun() {
        let boot = Clock.bootMilliseconds()
        #expect(boot > 0)
        #expect(Clock.bootMilliseconds() >= boot)
        #expect(Clock.wallMilliseconds() > 1_700_000_000_000)
    }
}

@Suite(.serialized) struct SignalTests {
    @Test func aSignalIsACallbackOnTheLoop() async {
        // In a process of its own: servers and tools in other tests would hear it too.
        await #expect(processExitsWith: .success) {
            for signal in SignalWatcher.Signal.allCases { try receive(signal) }
        }
    }

    @Test func aSignalBetweenTwoWatchersIsToldToTheSecond() async {
        await #expect(processExitsWith: .success) {
            for signal in SignalWatcher.Signal.allCases {
                try receive(signal)
                pthread_kill(pthread_self(), signal.rawValue)
                try receive(signal, sends: false)
            }
        }
    }

    @Test func aLoopIgnoresSIGPIPE() throws {
        let rig = try Rig()
        defer { rig.close() }
        kill(getpid(), SIGPIPE)
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        #expect(unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1)
    }
}

/// Watches one signal on a loop until it was told of. The signal goes to this thread, because a
/// process of tests has others that do not hold it back.
private func receive(_ signal: SignalWatcher.Signal, sends: Bool = true) throws {
    let rig = try Rig()
    defer { rig.close() }
    var count = 0
    try SignalWatcher(for: signal, on: rig.loop) {
        count += 1
        rig.finish()
    }
    if sends { rig.later { pthread_kill(pthread_self(), signal.rawValue) } }
    rig.run()
    #expect(count == 1)
}
