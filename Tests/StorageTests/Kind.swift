// The two stores behind one suite.

import CallModel
import TestSupport

@testable import Storage

/// Where a store keeps its things.
enum Kind: String, CaseIterable, Sendable {
    case disk, memory
}

/// A store of either kind, with its reader, in a directory of its own.
final class Rig {
    let store: any CallStore
    let reader: any CallReader
    private let folder = TemporaryFolder()

    init(_ kind: Kind, limits: StoreLimits = StoreLimits()) throws {
        switch kind {
        case .memory: store = MemoryStore(limits: limits)
        case .disk:
            var options = StoreOptions()
            options.limits = limits
            // What is tested here does not depend on when the disk has it.
            options.synchronous = .off
            store = try Store(
                in: try StateDirectory(claiming: folder.state), options: options)
        }
        _ = try store.restore(at: start)
        reader = try store.makeReader()
    }

    /// Commits `records` one millisecond after `start`.
    @discardableResult
    func commit(_ records: StoreChange..., at now: Moment = start + 1) throws -> CommitResult {
        try store.commit(records, at: now)
    }

    /// A page of a user's calls.
    func page(
        _ user: String, bytes: Int = .max, _ change: (inout ListQuery) -> Void = { _ in }
    ) throws -> CallPage {
        var query = ListQuery()
        change(&query)
        return try reader.page(of: UserID(user), matching: query, bytes: bytes)
    }
}
