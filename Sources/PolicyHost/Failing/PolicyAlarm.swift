// Why a generation is taken back, and what somebody has to do. Texts of it are for people only.

/// Why a generation is taken back.
public enum GenerationFault: Sendable, Hashable {
    /// A plugin of it was quarantined for everybody.
    case quarantine
    /// The share of accounts whose decisions failed, and that of before or beside it, in percent.
    case share(Int, before: Int)
    /// Its plugins failed so often, which is what the operator allowed a canary.
    case failures(Int)
}

extension GenerationFault: CustomStringConvertible {
    /// One line for a person.
    public var description: String {
        switch self {
        case .quarantine: "a plugin was quarantined"
        case .share(let now, let before):
            "decisions for \(now) % of the accounts failed, for \(before) % before"
        case .failures(1): "a plugin failed"
        case .failures(let count): "its plugins failed \(count) times"
        }
    }
}

/// Something about the policies that somebody has to see to.
public enum PolicyAlarm: Sendable, Hashable {
    /// A canary fails, and so few accounts met it that it does not go by itself (G72).
    case canaryFails(String, accounts: Int)
    /// The generation in force fails, and what it would return to needs what was taken away (G82).
    case noWayBack(String, GenerationFault, refused: String)
}

extension PolicyAlarm: CustomStringConvertible {
    /// One line for the operator.
    public var description: String {
        switch self {
        case .canaryFails(let generation, let accounts):
            "the canary \(generation) fails, and stays: \(accounts) met it, "
                + "which is too few to take it back by itself"
        case .noWayBack(let generation, let fault, let refused):
            "the generation \(generation) fails: \(fault), and there is no way back: \(refused)"
        }
    }
}
