// A node that waits loads the generation in force, so that it can serve at once when it owns.

import CallModel
import ClusterStorage
import Configuration
import EventLoop
import Lua
import StoreContract

/// What came of loading a generation.
struct WarmState: Sendable, Equatable {
    /// What is loaded; empty: nothing.
    var generation = ""
    /// Why the generation in force is not; empty: it is, or there is none.
    var whyNot = ""
}

/// Loads generations on a thread of its own, because a plugin may take its time, and because the
/// lease must not wait. Any thread may call it.
final class Warmer: Sendable {
    /// One that is loaded, and under what.
    private struct Warm: Sendable {
        let deployment: Deployment
        /// As it is stored.
        let name: String
        let grants: Grants?
    }

    private let address: DatabaseAddress
    private let file: String?
    private let orders = WorkerMailbox<String>()
    private let thread = Locked<WorkerThread?>(nil)
    private let warm = Locked<Warm?>(nil)
    private let ordered = Locked<String?>(nil)

    /// How long after a failure it tries again, in milliseconds: a secret may have been written.
    private static let retryAfter: Int64 = 2_000
    /// The same where the database does not answer.
    private static let reachAfter: Int64 = 200

    /// Nothing happens before `begin`.
    ///
    /// - Parameter file: the operator's file, for what the generation does not have: secrets, and
    ///   the server's part.
    init(from address: DatabaseAddress, file: String?) {
        (self.address, self.file) = (address, file)
    }

    /// Begins to load; `done` hears each result.
    func begin(_ done: @escaping @Sendable (WarmState) -> Void) throws(EventLoopError) {
        let thread = try WorkerThread(name: "warmer", stackSize: 4 << 20, yields: true) { [self] in
            run(done)
        }
        self.thread.withLock { $0 = thread }
    }

    /// This generation is in force; empty: none is.
    func warm(_ name: String) {
        let isNew = ordered.withLock { known in
            defer { known = name }
            return known != name
        }
        if isNew { _ = orders.post(name) }
    }

    /// Whether something is loaded.
    var isWarm: Bool { warm.withLock { $0 != nil } }

    /// What is loaded, once; nil: it is something else, or was loaded under other settings.
    func take(_ name: String, _ configuration: Configuration, _ grants: Grants?) -> Deployment? {
        guard let found = warm.withLock({ $0.take() }) else { return nil }
        let isSame =
            found.name == name && found.grants == grants
            && found.deployment.configuration.server == configuration.server
        return isSame ? found.deployment : nil
    }

    /// Ends the thread.
    func end() {
        orders.close()
        thread.withLock { $0.take() }?.join()
    }

    private func run(_ done: @Sendable (WarmState) -> Void) {
        var (last, told): (String?, WarmState?) = (nil, nil)
        var pause = Self.retryAfter
        while true {
            var batch: [String] = []
            let end = Clock.bootMilliseconds() + pause
            let taken = orders.takeAll(into: &batch, until: last == nil ? nil : end)
            if taken == .closed { return }
            guard let name = batch.last ?? last else { continue }
            (last, pause) = (name, Self.reachAfter)
            // What the database does not say now, nothing is wrong with.
            guard let state = load(name) else { continue }
            (last, pause) = (state.whyNot.isEmpty ? nil : name, Self.retryAfter)
            if state != told { done(state) }
            told = state
        }
    }

    /// Nil: the database does not answer.
    private func load(_ name: String) -> WarmState? {
        warm.withLock { $0 = nil }
        guard !name.isEmpty else { return WarmState() }
        do throws(AgentError) {
            let new = try read(name)
            warm.withLock { $0 = new }
            return WarmState(generation: new.deployment.name)
        } catch {
            if case .store = error { return nil }
            return WarmState(whyNot: "generation \(name) cannot be loaded: \(error)")
        }
    }

    private func read(_ name: String) throws(AgentError) -> Warm {
        let kept: StoredGeneration?
        let grants: Grants?
        do throws(StoreError) {
            let reader = try ClusterStore(at: address).makeReader()
            kept = try reader.generation(named: name)
            grants = try ServerMemory(readBy: reader)?.grants
        } catch {
            throw .store(error)
        }
        guard let kept else { throw .refused("it is not kept") }
        var dice = SystemRandomNumberGenerator()
        let configuration = try Deployment.serverInForce(at: file)
        let deployment = try Deployment(
            kept, under: configuration, grants: grants, seed: dice.next())
        return Warm(deployment: deployment, name: name, grants: grants)
    }
}

extension Deployment {
    /// What the operator's file says, or its server's part where only that can be read: a start
    /// takes it so too.
    fileprivate static func serverInForce(at file: String?) throws(AgentError) -> Configuration {
        if let whole = try? onDisk(of: file) { return whole.configuration }
        do throws(ScriptProblems) {
            return try configuration(at: file, only: .server)
        } catch {
            throw .configuration("\(error)")
        }
    }
}
