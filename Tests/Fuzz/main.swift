// The command line of the fuzzers.

import Glibc

private let usage = """
    usage: fuzz smoke [--seconds N] [--seed S]        all fuzzers, N seconds in all (default 10)
           fuzz full [--seconds N] [--seed S]         the same for longer (default 600)
           fuzz run NAME [--seconds N] [--seed S]     one fuzzer
           fuzz run NAME --seed S --iteration I       one iteration of it again
           fuzz list                                  their names and properties
    """

/// The arguments, or what is wrong with them.
private struct FuzzArguments {
    var words: [String] = []
    var seconds: Int?
    var iteration: Int?
    var seed = UInt64.random(in: .min ... .max)

    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                words.append(argument)
                continue
            }
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
            switch argument {
            case "--seed": seed = value
            case "--seconds": seconds = Int(clamping: min(value, 86_400))
            case "--iteration": iteration = Int(clamping: value)
            default: return nil
            }
        }
    }
}

/// Prints the seed at once: it must be known even if the process dies.
private func announce(_ seed: UInt64) {
    print("seed \(seed)")
    fflush(nil)
}

private func refuse() -> Never {
    print(usage)
    exit(2)
}

guard let arguments = FuzzArguments(CommandLine.arguments.dropFirst()) else { refuse() }
let run = FuzzRun(seed: arguments.seed)
switch arguments.words {
case ["list"]:
    for fuzzer in Fuzzer.all { print("\(fuzzer.name): \(fuzzer.property)") }
case ["smoke"]:
    announce(arguments.seed)
    exit(run.smoke(time: .seconds(arguments.seconds ?? 10)) ? 0 : 1)
case ["full"]:
    announce(arguments.seed)
    exit(run.smoke(time: .seconds(arguments.seconds ?? 600)) ? 0 : 1)
case let words where words.count == 2 && words[0] == "run":
    guard let fuzzer = Fuzzer.all.first(where: { $0.name == words[1] }) else { refuse() }
    announce(arguments.seed)
    let outcome =
        arguments.iteration.map { run.replay(fuzzer, iteration: $0) }
        ?? run.run(fuzzer, for: .seconds(arguments.seconds ?? 10))
    exit(run.report(fuzzer, outcome) ? 0 : 1)
default: refuse()
}
