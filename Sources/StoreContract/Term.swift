// Who writes to a store, and since which takeover.

import CallModel

/// The time in which a store has one owner. Whoever opens it in a later term takes it over: from
/// then on nothing is written in the earlier one, not even what is under way.
///
/// A server that is alone stays in one term for ever.
public struct Term: Hashable, Sendable {
    /// The node that writes; empty: a server that is alone.
    public let owner: String
    /// Grows with every takeover; 0: there was none.
    public let epoch: UInt32

    /// The term of `owner` since takeover `epoch`.
    public init(owner: String, epoch: UInt32) {
        self.owner = owner
        self.epoch = epoch
    }

    /// That of a server that is alone.
    public static let alone = Term(owner: "", epoch: 0)

    /// Whether a store that is in the term `held` may be opened in this one.
    package func mayFollow(_ held: Term) -> Bool { self == held || epoch > held.epoch }

    /// Why nothing is written to the store at `path`, which is in the term `held`.
    package func refusal(
        by held: Term, at path: String, _ operation: String
    ) -> StoreError {
        StoreError(.notOwner(since: held), path: path, operation: operation, detail: "\(self)")
    }
}

extension Term: CustomStringConvertible {
    /// One line for a person.
    public var description: String {
        "\(owner.isEmpty ? "a single server" : owner), epoch \(epoch)"
    }
}

extension JobID {
    /// The takeover after which it may have been given: that of its term, or a later one if a term
    /// gave more ids than 32 bits hold.
    public var epoch: UInt32 { UInt32(truncatingIfNeeded: value >> 32) }

    /// The last id before those of `epoch`; nil: they begin with the first of all.
    package static func last(before epoch: UInt32) -> JobID? {
        epoch == 0 ? nil : JobID(Int64(epoch) << 32)
    }
}

/// Which version of a call is stored.
public struct StoredVersion: Sendable, Equatable {
    /// The term in which it was stored.
    public let term: Term
    /// See `Call.revision`.
    public let revision: UInt32

    /// Revision `revision`, stored in `term`.
    public init(term: Term, revision: UInt32) {
        self.term = term
        self.revision = revision
    }
}
