// What a canary and the generation beside it have decided.

import CallModel

/// What one of the two generations has decided since a canary is there.
public struct CanaryFigures: Sendable, Equatable {
    /// What came of a question.
    public enum Action: Int, Sendable, CaseIterable {
        case accept, reject, ring, forward, allow, refuse, data, views, tooLarge, token, push, drop
        /// No plugin answered.
        case standard

        /// As records of decisions say it.
        public var word: String {
            switch self {
            case .tooLarge: "too_large"
            case .standard: "default"
            default: "\(self)"
            }
        }
    }

    /// Questions answered.
    public private(set) var asked = 0
    /// Those in which some plugin gave no usable answer.
    public private(set) var failed = 0
    /// Processor time of one question, in seconds.
    public private(set) var processor = HookTally().processor
    /// From the question to the answer, waits included, in seconds.
    public private(set) var wall = HookTally().wall
    private var actions = [Int](repeating: 0, count: Action.allCases.count)

    /// How often each thing was decided; what never was is left out.
    public var decided: [(action: Action, count: Int)] {
        Action.allCases.map { ($0, actions[$0.rawValue]) }.filter { $0.1 > 0 }
    }

    mutating func note(_ chain: Chain, _ verdict: Verdict, at now: Moment) {
        asked += 1
        if chain.hasFailed { failed += 1 }
        actions[Action(verdict).rawValue] += 1
        processor.note(Double(chain.spent) / 1e9)
        wall.note(Double(now - chain.view.now) / 1e3)
    }
}

extension CanaryFigures.Action {
    fileprivate init(_ verdict: Verdict) {
        switch verdict {
        case .push(nil): self = .drop
        case .push: self = .push
        case .answer(let answer): self.init(answer)
        }
    }

    private init(_ answer: Answer) {
        switch answer {
        case .invite(.accept, _, _): self = .accept
        case .invite(.reject, _, _): self = .reject
        case .invite(.ring, _, _): self = .ring
        case .invite(.forward, _, _): self = .forward
        case .allow: self = .allow
        case .refuse: self = .refuse
        case .data: self = .data
        case .tooLarge: self = .tooLarge
        case .views: self = .views
        case .token(let token): self = token == nil ? .standard : .token
        case .none: self = .standard
        }
    }
}

/// How a canary does, and the generation in force beside it.
public struct CanaryStatus: Sendable {
    /// Its generation.
    public let generation: String
    /// For whom it decides, and since when.
    public let order: CanaryOrder
    /// The accounts that met it, and those of them that met a failure of its own (G71).
    public let accounts: Int
    /// Those of them that met a failure of its own.
    public let failing: Int
    /// Failures of its plugins, but for answers that the generation beside it fails to give too.
    public let failures: Int
    /// What each of the two decided since it began.
    public let own: CanaryFigures
    /// The same of the generation in force.
    public let beside: CanaryFigures
    /// Its plugins, in order.
    public let plugins: [PluginStatus]
}
