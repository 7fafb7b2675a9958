// With which state of the operator's files a process starts (E54).

import CallModel
import EventLoop
import Glibc
import PolicyHost
import Storage

/// What a process starts with: the files on disk, or the generation that was last in force.
struct Start {
    let deployment: Deployment
    let opened: OpenedStore
    let log: Log

    /// Reads the files, opens the store, and chooses.
    init(
        file: String?, takingFilesOnDisk: Bool, seed: UInt64, log makeLog: (Configuration) -> Log
    ) throws(AgentError) {
        if let file, Files.read(file) == nil { throw .configuration(Files.complaint(file)) }
        let found = Self.found(file, seed)
        let configuration = (try? found.get())?.configuration ?? Self.readable(file)
        log = makeLog(configuration)
        let isFirst = !Self.isThere(AgentOptions.place(configuration))
        if case .failure(let error) = found, isFirst || takingFilesOnDisk { throw error }
        var options = StoreOptions()
        if case .success(let deployment) = found {
            options = try AgentOptions(deployment).store
        }
        opened = try OpenedStore(at: AgentOptions.place(configuration), options)
        let recorded = try opened.recorded(file, seed)
        switch (found, recorded) {
        case (.failure(let error), nil): throw error
        case (.success(let fresh), nil): deployment = fresh
        case (.failure(let error), .some(let kept)):
            log.warn(
                "the files on disk are not good: going on with the generation last in force",
                ("error", "\(error)"), ("generation", kept.deployment.generation.name))
            deployment = kept.deployment
        case (.success(let fresh), .some(let kept)):
            let differing = fresh.files.difference(from: kept.deployment.files)
            let mayBeBad = !opened.state.endedCleanly || kept.isRolledBack(fresh)
            guard !takingFilesOnDisk, !differing.isEmpty, mayBeBad else {
                deployment = fresh
                return
            }
            log.warn(
                "going on with the generation last in force: reload to take the files on disk",
                ("or", "start with --from-disk"),
                ("generation", kept.deployment.generation.name),
                ("differing", differing.joined(separator: " ")))
            deployment = kept.deployment
        }
    }

    private static func found(_ file: String?, _ seed: UInt64) -> Result<Deployment, AgentError> {
        do throws(AgentError) {
            return .success(try Deployment(file: file, seed: seed))
        } catch {
            return .failure(error)
        }
    }

    /// What the operator's file says when only a plugin is broken; the defaults, to know where
    /// the state may be, when it is the file itself.
    private static func readable(_ file: String?) -> Configuration {
        if let configuration = try? Deployment.configuration(at: file) { return configuration }
        var configuration = Configuration()
        configuration.file = file
        return configuration
    }

    /// Whether anything can have been kept at `path`: a start that fails leaves no folder behind.
    private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

/// The generation last in force, as the store kept it.
struct Recorded {
    let deployment: Deployment
    /// Names of generations that were rolled back.
    let rolledBack: Set<String>

    /// Whether these files were in force and taken back.
    func isRolledBack(_ fresh: Deployment) -> Bool {
        rolledBack.contains(fresh.generation.name)
    }
}

extension StoredGeneration {
    /// The paths of files that one has and the other has not, or has otherwise.
    func difference(from other: StoredGeneration) -> [String] {
        let mine = Dictionary(files.map { ($0.path, $0.source) }, uniquingKeysWith: { a, _ in a })
        let theirs = Dictionary(
            other.files.map { ($0.path, $0.source) }, uniquingKeysWith: { a, _ in a })
        return Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }.sorted()
    }
}

/// A store that is open, with what it kept.
struct OpenedStore {
    let store: any CallStore
    let state: StoredState
    let directory: StateDirectory?

    /// Closes it again, because the process does not start.
    func release() { try? store.close() }

    init(_ options: AgentOptions) throws(AgentError) {
        try self.init(at: options.stateDirectory, options.store)
    }

    init(at path: String, _ options: StoreOptions) throws(AgentError) {
        do throws(StoreError) {
            if path == ":memory:" {
                directory = nil
                store = MemoryStore(limits: options.limits)
            } else {
                let claimed = try StateDirectory(claiming: path)
                directory = claimed
                store = try Store(in: claimed, options: options)
            }
            state = try store.restore(at: Moment(Clock.wallMilliseconds()))
        } catch {
            throw .store(error)
        }
    }

    /// The generation last in force; nil when none is kept or it cannot be loaded any more.
    fileprivate func recorded(_ file: String?, _ seed: UInt64) throws(AgentError) -> Recorded? {
        do throws(StoreError) {
            let reader = try store.makeReader()
            let marks = try reader.generations()
            guard let active = marks.first(where: \.isActive),
                let kept = try reader.generation(named: active.name),
                let deployment = try? Deployment(kept, file: file, seed: seed)
            else { return nil }
            return Recorded(
                deployment: deployment,
                rolledBack: Set(marks.filter { $0.rolledBackAt != nil }.map(\.name)))
        } catch {
            throw .store(error)
        }
    }
}
