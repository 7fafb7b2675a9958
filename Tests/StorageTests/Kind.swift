// The stores behind one suite, which knows them by their contract only.

import CallModel
import EventLoop
import StoreContract
import TestSupport
import Testing

@testable import ClusterStorage
@testable import Storage

/// A store that the suite runs over.
struct Kind: Sendable, CustomTestStringConvertible {
    /// Who hears what a store tells.
    typealias Told = @Sendable (StoreNews) -> Void

    /// Makes a way to a store. Every way that it makes leads to the same one.
    typealias Connect = (@escaping Told) throws -> any StoreLink

    let testDescription: String
    /// An empty store, which keeps its things in `folder` if it needs one.
    let prepare: @Sendable (_ folder: String, StoreLimits) throws -> Connect

    static let disk = Kind(testDescription: "disk") { folder, limits in
        let directory = try StateDirectory(claiming: folder)
        return { told in try StoreInPlace(try embedded(in: directory, limits), told: told) }
    }
    static let memory = Kind(testDescription: "memory") { _, limits in
        let first = MemoryStore(limits: limits)
        return { told in try StoreInPlace(MemoryStore(sharing: first), told: told) }
    }
    static let cluster = Kind(testDescription: "cluster") { _, limits in
        let name = try Cluster.newSpace()
        return { told in try StoreInPlace(try Cluster.store(of: name, limits), told: told) }
    }
    /// A further store is one more of these.
    static let allCases = [disk, memory, cluster]
}

/// Stores in the PostgreSQL of this process, each test in a space of its own.
enum Cluster {
    static let address = Result { () throws in
        let address = try DatabaseAddress(TestDatabase.shared.address)
        try ClusterSchema.current.migrate(PostgresConnection(to: address, patience: 20_000))
        return address
    }

    /// Makes a space that nobody else has.
    static func newSpace() throws -> String {
        let name = "test-\(UInt64.random(in: 0 ... .max))"
        try Space.make(name, by: PostgresConnection(to: address.get(), patience: 20_000))
        return name
    }

    /// A database of its own, because others must not see its tables.
    static func newDatabase() throws -> DatabaseAddress {
        let name = "own\(UInt64.random(in: 0 ... .max))"
        let text = TestDatabase.shared.address
        let link = try PostgresConnection(to: DatabaseAddress(text), patience: 20_000)
        // A database is made outside of a pipeline's transaction, by a statement of its own.
        link.query("CREATE DATABASE \(name)")
        try link.finish()
        return try DatabaseAddress(text.replacing("dbname=postgres", by: "dbname=\(name)"))
    }

    static func store(
        of name: String, _ limits: StoreLimits = StoreLimits(),
        _ change: (inout ClusterStoreOptions) -> Void = { _ in }
    ) throws -> ClusterStore {
        var options = ClusterStoreOptions()
        (options.space, options.limits) = (name, limits)
        // The machine of a test may be busy.
        options.patience = 20_000
        change(&options)
        return try ClusterStore(at: address.get(), options)
    }
}

/// A store on disk. What is tested here does not depend on when the disk has it.
func embedded(in directory: StateDirectory, _ limits: StoreLimits) throws -> Store {
    var options = StoreOptions()
    options.limits = limits
    options.synchronous = .off
    return try Store(in: directory, options: options)
}

/// An open store, with a directory of its own, that is asked one thing after the other.
final class Rig {
    private let link: any StoreLink
    private let news = WorkerMailbox<StoreNews>()
    private var last: UInt64 = 0
    private let folder: TemporaryFolder
    private let connect: Kind.Connect

    convenience init(_ kind: Kind, limits: StoreLimits = StoreLimits()) throws {
        let folder = TemporaryFolder()
        try self.init(folder, try kind.prepare(folder.state, limits))
        try restored(at: start)
    }

    init(_ folder: TemporaryFolder, _ connect: @escaping Kind.Connect) throws {
        let news = news
        (self.folder, self.connect) = (folder, connect)
        link = try connect { news.post($0) }
    }

    /// Another way to the same store, not open yet.
    func another() throws -> Rig { try Rig(folder, connect) }

    deinit { link.close() }

    /// What the store answers to an order, which must be the next that it tells.
    fileprivate func order(_ send: (StoreTicket) -> Void) throws -> StoreAnswer {
        last += 1
        send(StoreTicket(last))
        var told: [StoreNews] = []
        _ = news.takeAll(into: &told, until: Clock.bootMilliseconds() + 20_000)
        guard told.count == 1, case .answered(StoreTicket(last), let answer) = told[0] else {
            if case .lost(let error)? = told.first { throw error }
            throw NoAnswer(told: told)
        }
        return answer
    }

    /// Commits `changes` one millisecond after `start`.
    @discardableResult
    func commit(_ changes: StoreChange..., at now: Moment = start + 1) throws -> CommitResult {
        try commit(changes, at: now)
    }

    @discardableResult
    func commit(_ changes: [StoreChange], at now: Moment) throws -> CommitResult {
        let answer = try order { link.commit(changes, at: now, as: $0) }
        guard case .committed(let result, _) = answer else { throw NoAnswer(told: []) }
        return result
    }

    /// What a start at `now` gets, with the live calls.
    @discardableResult
    func restored(at now: Moment, in term: Term = .alone) throws -> StoredState {
        let answer = try order { link.open(at: now, in: term, as: $0) }
        guard case .opened(var state) = answer else { throw NoAnswer(told: []) }
        state.core.calls = try reader.liveCalls(upTo: state.core.lastCall)
        return state
    }

    /// So many commits come at `now`, a minute or more after the last time, that whatever is too
    /// old by then is gone.
    func sweep(at now: Moment) throws {
        for _ in 0..<64 { try commit(.seen(UserID("nobody"), upTo: now), at: now) }
    }

    func limit(to limits: StoreLimits) { link.limit(to: limits) }

    /// Asks the store.
    var reader: any CallReader { Questions(rig: self) }

    /// A page of a user's calls.
    func page(
        _ user: String, bytes: Int = .max, _ change: (inout ListQuery) -> Void = { _ in }
    ) throws -> CallPage {
        var query = ListQuery()
        change(&query)
        return try reader.page(of: UserID(user), matching: query, bytes: bytes)
    }

    fileprivate final class Questions: CallReader {
        let rig: Rig
        init(rig: Rig) { self.rig = rig }

        func answer(_ query: StoreQuery) throws(StoreError) -> StoreAnswer {
            do {
                return try rig.order { rig.link.find(query, as: $0) }
            } catch {
                throw error as? StoreError
                    ?? StoreError(
                        .notOpen, path: "", operation: "asking", detail: "\(error)")
            }
        }
    }
}

/// A store did not answer its last order, or told something else too.
struct NoAnswer: Error {
    let told: [StoreNews]
}
