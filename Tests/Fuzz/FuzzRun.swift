// Runs fuzzers for a bounded time and reports what they found.

/// How a run of one fuzzer ended.
enum FuzzOutcome {
    case passed(iterations: Int)
    case failed(iteration: Int, FuzzFailure)
}

/// One run: a seed and a bound.
struct FuzzRun {
    let seed: UInt64

    /// Runs every fuzzer for an equal share of `time`; true when all did what they must.
    func smoke(time: Duration) -> Bool {
        let share = time / Fuzzer.all.count
        let results = Fuzzer.all.map { fuzzer in
            report(fuzzer, run(fuzzer, for: share))
        }
        return results.allSatisfy { $0 }
    }

    /// Repeats `fuzzer` until it fails or `time` is over.
    func run(_ fuzzer: Fuzzer, for time: Duration) -> FuzzOutcome {
        let end = ContinuousClock.now + time
        var iteration = 0
        CrashReport.begin(fuzzer, seed: seed)
        repeat {
            CrashReport.iteration = iteration
            do throws(FuzzFailure) {
                try fuzzer.iterate(seed: seed, number: iteration)
            } catch {
                return .failed(iteration: iteration, error)
            }
            iteration += 1
        } while ContinuousClock.now < end
        return .passed(iterations: iteration)
    }

    /// Runs one iteration of `fuzzer` alone.
    func replay(_ fuzzer: Fuzzer, iteration: Int) -> FuzzOutcome {
        CrashReport.begin(fuzzer, seed: seed)
        CrashReport.iteration = iteration
        do throws(FuzzFailure) {
            try fuzzer.iterate(seed: seed, number: iteration)
            return .passed(iterations: 1)
        } catch {
            return .failed(iteration: iteration, error)
        }
    }

    /// Prints one outcome; true when it is what the fuzzer must do.
    func report(_ fuzzer: Fuzzer, _ outcome: FuzzOutcome) -> Bool {
        switch outcome {
        case .passed(let iterations) where fuzzer.mustFail:
            print("FAIL \(fuzzer.name): the planted bug was not found in \(iterations) iterations")
            return false
        case .passed(let iterations):
            print("ok   \(fuzzer.name): \(iterations) iterations, \(fuzzer.property)")
            return true
        case .failed(let iteration, _) where fuzzer.mustFail:
            print("ok   \(fuzzer.name): found the planted bug in iteration \(iteration)")
            return true
        case .failed(let iteration, let failure):
            print("FAIL \(fuzzer.name): \(failure)")
            print("  replay: \(CrashReport.replay(fuzzer, seed)) \(iteration)")
            return false
        }
    }
}
