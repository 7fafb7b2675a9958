// A disk: what is durable, and what is on its way there.

import CallModel
import Storage
import StoreContract

/// What survives the server, and the commit under way.
final class SimulatedDisk {
    private let kept = MemoryStore()
    /// The store as the present life of the server has it.
    private var store: MemoryStore
    private var underWay: (changes: [StoreChange], at: Moment)?

    init() { store = MemoryStore(sharing: kept) }

    /// What a start finds.
    func restore(at now: Moment) -> StoredState {
        underWay = nil
        store = MemoryStore(sharing: kept)
        return surely { () throws(StoreError) in try store.restore(at: now) }
    }

    /// A commit is under way.
    func begin(_ changes: [StoreChange], at now: Moment) { underWay = (changes, now) }

    /// The commit under way is durable.
    ///
    /// - Returns: what it has changed, and what it tells.
    func finish() -> (changes: [StoreChange], result: CommitResult) {
        guard let (changes, now) = underWay.take() else { return ([], CommitResult()) }
        let result = surely { () throws(StoreError) in try store.commit(changes, at: now) }
        return (changes, result)
    }

    /// A store in memory refuses nothing to a server that is alone: whatever fails is planned by
    /// the world.
    private func surely<Value>(_ body: () throws(StoreError) -> Value) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            preconditionFailure("the simulated disk: \(error)")
        }
    }

    /// The commit under way is lost.
    func fail() { underWay = nil }

    /// What is durable.
    func answer(_ query: StoreQuery) -> StoreAnswer { StoreAnswer(query, from: store) }

    /// The call `id` as it is durable.
    func call(_ id: CallID) -> Call? {
        if case .call(let call) = answer(.call(id)) { call } else { nil }
    }

    /// The durable revision of the call `id`; 0: there is no such call.
    func revision(of id: CallID) -> UInt32 {
        if case .version(let version?) = answer(.version(id)) { version.revision } else { 0 }
    }

    /// The live calls in which `user` was or is.
    func liveCalls(of user: UserID) -> [Call] {
        var query = LiveCallQuery(upTo: CallID(high: .max, low: .max), limit: .max)
        query.users = [user]
        guard case .liveCalls(let found, _) = answer(.liveCalls(query)) else { return [] }
        return found.calls
    }
}
