// The timer wheel against a naive model.

import CallModel
import Testing

@testable import Collections

extension TimerWheel {
    /// The next key, whatever that costs.
    fileprivate mutating func next(upTo now: Int64) -> UInt64? {
        var spent = 0
        return next(upTo: now, &spent, of: .max)
    }
}

@Suite struct TimerWheelTests {
    /// What a wheel does, done slowly.
    private struct Model {
        var timers: [(key: UInt64, at: Int64, order: Int)] = []
        private var scheduled = 0

        mutating func schedule(_ key: UInt64, at: Int64) {
            timers.append((key, at, scheduled))
            scheduled += 1
        }

        mutating func fire(upTo now: Int64) -> [UInt64] {
            let due = timers.filter { $0.at <= now }
            timers.removeAll { $0.at <= now }
            return due.map(\.key)
        }
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func aWheelFiresWhatTheModelFires(_ seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var now: Int64 = seed % 3 == 0 ? 0 : 1_800_000_000_000 + Int64(seed)
        var wheel = TimerWheel(at: now)
        var model = Model()
        var handles: [UInt64: TimerHandle] = [:]
        let spans: [Int64] = [0, 1, 255, 256, 257, 65_535, 65_536, 90_000, 16_777_216, 1 << 33]
        for key in 0..<2_000 as Range<UInt64> {
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<6:
                let span = spans.randomElement(using: &dice) ?? 0
                let at = now + Int64.random(in: -1...span, using: &dice)
                handles[key] = wheel.schedule(key, at: at)
                model.schedule(key, at: at)
            case 6..<8:
                guard let key = handles.keys.sorted().randomElement(using: &dice),
                    let handle = handles.removeValue(forKey: key)
                else { continue }
                wheel.cancel(handle)
                model.timers.removeAll { $0.key == key }
            default:
                let span = spans.randomElement(using: &dice) ?? 0
                let before = now
                now += Int64.random(in: 0...span, using: &dice)
                var fired: [UInt64] = []
                var moments: [Int64] = []
                let due = model.timers
                for (key, handle) in handles {
                    let at = model.timers.first { $0.key == key }?.at ?? .max
                    #expect(wheel.isDue(handle, at: now) == (at <= now))
                }
                while let key = wheel.next(upTo: now) {
                    fired.append(key)
                    moments.append(due.first { $0.key == key }?.at ?? -1)
                    handles[key] = nil
                }
                #expect(fired.sorted() == model.fire(upTo: now).sorted())
                #expect(moments == moments.sorted() || moments.contains { $0 <= before })
            }
            #expect(wheel.count == model.timers.count)
            let first = model.timers.map(\.at).min()
            #expect((wheel.nextDeadline == nil) == (first == nil))
            if let first, let next = wheel.nextDeadline {
                #expect(next <= max(first, now))
            }
        }
    }

    @Test func timersComeOutInOrderOfTheirMoments() {
        var wheel = TimerWheel(at: 1_000)
        let moments: [Int64] = [70_000, 1_300, 1_001, 1_255, 1_256, 66_000, 1_301, 200_000]
        for moment in moments { _ = wheel.schedule(UInt64(moment), at: moment) }
        var fired: [UInt64] = []
        while let key = wheel.next(upTo: 1 << 40) { fired.append(key) }
        #expect(fired == moments.sorted().map(UInt64.init))
    }

    @Test func aTimerFiresAtItsMomentAndNotBefore() {
        for span in [1, 255, 256, 257, 65_536, 90_000, 3_600_000, 86_400_000] as [Int64] {
            var wheel = TimerWheel(at: 1_800_000_000_123)
            let at: Int64 = 1_800_000_000_123 + span
            _ = wheel.schedule(7, at: at)
            #expect(wheel.next(upTo: at - 1) == nil)
            #expect(wheel.next(upTo: at) == 7)
            #expect(wheel.next(upTo: at) == nil)
            #expect(wheel.nextDeadline == nil)
        }
    }

    @Test func nextDeadlineIsReachedInFewSteps() {
        var wheel = TimerWheel(at: 1_800_000_000_000)
        let at: Int64 = 1_800_086_400_000
        _ = wheel.schedule(7, at: at)
        var steps = 0
        while let next = wheel.nextDeadline {
            steps += 1
            if wheel.next(upTo: next) != nil { break }
        }
        #expect(steps <= 6)
    }

    @Test func ofASlotWithVeryManyTimersEachCallMovesSome() {
        var wheel = TimerWheel(at: 0)
        let start: Int64 = 65_536
        for key in 0..<50_000 as Range<UInt64> {
            _ = wheel.schedule(key, at: start + 1 + Int64(key))
        }
        var (calls, first) = (0, UInt64?.none)
        while first == nil, calls < 100 {
            #expect(wheel.nextDeadline.map { $0 <= start } == true)
            var spent = 0
            first = wheel.next(upTo: start + 1, &spent, of: 256)
            #expect(spent <= 256)
            calls += 1
        }
        #expect(first == 0 && calls == 4)
        #expect(wheel.nextDeadline == start + 2)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func whatChangesWhileTimersAreMovedComesOutInOrderToo(_ seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var (wheel, model) = (TimerWheel(at: 0), [UInt64: Int64]())
        var handles: [UInt64: TimerHandle] = [:]
        var (now, key, fired): (Int64, UInt64, [Int64]) = (0, 0, [])
        for step in 0..<400 {
            for _ in 0..<(step < 200 ? 50 : 0) {
                key += 1
                let at = now + Int64.random(in: 0...200_000, using: &dice)
                handles[key] = wheel.schedule(key, at: at)
                model[key] = at
            }
            if let one = model.keys.min(), let handle = handles[one], step.isMultiple(of: 2) {
                let at = now + Int64.random(in: 0...70_000, using: &dice)
                wheel.move(handle, to: at)
                model[one] = at
            }
            if let one = model.keys.max(), let handle = handles[one], step.isMultiple(of: 3) {
                wheel.cancel(handle)
                model[one] = nil
            }
            now += Int64.random(in: 0...3_000, using: &dice)
            if step >= 200 { now += 70_000 }
            var spent = 0
            let least = model.values.min() ?? .max
            #expect(wheel.nextDeadline.map { $0 <= max(least, now) } ?? (least == .max))
            while let out = wheel.next(upTo: now, &spent, of: step < 200 ? 4 : 400) {
                guard let at = model.removeValue(forKey: out) else {
                    Issue.record("\(out) comes out twice")
                    continue
                }
                #expect(at <= now && at <= (model.values.min() ?? .max))
                fired.append(at)
            }
        }
        #expect(model.isEmpty && wheel.count == 0 && fired.count > 9_000)
    }
}
