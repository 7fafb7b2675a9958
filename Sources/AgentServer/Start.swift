// Chooses the files with which a process starts (E54).

import CallModel
import Configuration
import EventLoop
import Glibc
import Lua
import PolicyHost
import Storage
import StoreContract

/// What a process starts with: the generation on disk or the one that was last in force, and the
/// server's part on disk if it can be read (G82).
struct Start {
    let deployment: Deployment
    /// What decides for some accounts beside it; nil: nothing.
    private(set) var canary: CanaryInForce?
    let opened: OpenedStore
    let log: Log
    /// The stored part of the server, with what is in force now.
    private(set) var memory: ServerMemory
    /// Problems that the operator should know of, until a reload works.
    private(set) var alarms: [Alarm] = []
    /// Whether the files on disk could be taken; of a cluster what is stored counts.
    private(set) var filesAreGood = true

    /// Reads the files, opens the store, and chooses.
    ///
    /// - Parameter member: the node of a cluster that this process is; nil: it is alone.
    init(
        file: String?, takingFilesOnDisk: Bool, seed: UInt64, member: ClusterMember?,
        log makeLog: (Configuration) -> Log
    ) throws(AgentError) {
        if let file, Files.read(file) == nil { throw .configuration(Files.complaint(file)) }
        let isWarm = member?.isWarm == true && !takingFilesOnDisk
        let found = isWarm ? Self.read(file) : Self.found(file, seed)
        let readable = (try? found.get())?.configuration ?? Self.serverPart(file)
        let place = AgentOptions.place(readable ?? Self.guess(file))
        let isFirst = member == nil && !Self.isThere(place)
        if case .failure(let error) = found, isFirst || takingFilesOnDisk { throw error }
        var options = StoreOptions()
        if let readable { options.limits = AgentOptions.storeLimits(readable) }
        options.faults = try AgentOptions.plannedFaults.get()
        opened = try OpenedStore(at: place, options, member)
        do throws(AgentError) {
            let kept = try opened.memory()
            memory = kept ?? ServerMemory()
            if kept == nil { memory.hadKeys = try opened.hadKeys() }
            var inForce = readable
            if inForce == nil { inForce = try Self.kept(memory, file, place, found) }
            let configuration = inForce ?? Configuration()
            log = makeLog(configuration)
            if let directory = opened.directory, directory.hadEmptyDatabase {
                log.warn(
                    "callagent.db had no byte, so the store begins empty",
                    ("state", directory.path), ("if_wrong", "stop, and restore a backup"))
            }
            if readable == nil { alarms.append(Self.alarm(found, memory)) }
            for alarm in alarms { log.error("started with an alarm", ("alarm", "\(alarm)")) }
            let recorded = try opened.recorded(configuration, memory.grants, seed, member)
            try memory.check(configuration)
            if recorded != nil, !takingFilesOnDisk {
                let (kept, trouble) = try opened.canary(beside: configuration, seed)
                canary = kept
                if let trouble {
                    alarms.append(trouble)
                    log.error("started with an alarm", ("alarm", "\(trouble)"))
                }
            }
            if case .failure = found, !opened.isShared { filesAreGood = false }
            let fresh = Self.mayTake(found, (recorded, canary), opened, takingFilesOnDisk, log)
            if let chosen = fresh ?? recorded?.deployment {
                deployment = chosen
            } else {
                deployment = try found.get().loaded(file, seed)
            }
            if member != nil {
                let when = recorded?.wasWarm == true ? "while it waited" : "now"
                log.info(
                    "begins with the generation in force", ("generation", deployment.name),
                    ("loaded", when))
            }
            if readable != nil { memory.note(configuration) }
            if fresh != nil || memory.grants == nil {
                memory.grants = Grants(deployment.configuration)
            }
        } catch {
            // A start that is refused does not count as a crash: the next one takes the files on
            // disk.
            opened.release()
            throw error
        }
    }

    /// The files on disk, if they are to be put into force (E54).
    private static func mayTake(
        _ found: Result<FilesOnDisk, AgentError>, _ kept: (Recorded?, canary: CanaryInForce?),
        _ opened: OpenedStore, _ takingFilesOnDisk: Bool, _ log: Log
    ) -> Deployment? {
        let (recorded, canary) = kept
        switch (found, recorded) {
        case (.failure, nil): return nil
        case (.success(let fresh), nil): return fresh.deployment
        case (.failure(let error), .some(let kept)):
            log.warn(
                "the files on disk are not good: going on with the generation last in force",
                ("error", "\(error)"), ("generation", kept.deployment.generation.name))
            return nil
        case (.success(let fresh), .some) where canary?.deployment.name == fresh.files.name:
            return nil
        case (.success(let fresh), .some(let kept)):
            let differing = fresh.files.difference(from: kept.deployment.files)
            let mayBeBad = !opened.state.endedCleanly || kept.isRolledBack(fresh)
            let goesOn = mayBeBad || opened.isShared || canary != nil
            guard !takingFilesOnDisk, !differing.isEmpty, goesOn else { return fresh.deployment }
            log.warn(
                "going on with the generation last in force: reload to take the files on disk",
                ("or", "start with --from-disk"),
                ("generation", kept.deployment.generation.name),
                ("differing", differing.joined(separator: " ")))
            return nil
        }
    }

    private static func found(_ file: String?, _ seed: UInt64) -> Result<FilesOnDisk, AgentError> {
        do throws(AgentError) {
            return .success(FilesOnDisk(try Deployment(file: file, seed: seed)))
        } catch {
            return .failure(error)
        }
    }

    /// The same where another generation is loaded already: nobody waits for these plugins.
    private static func read(_ file: String?) -> Result<FilesOnDisk, AgentError> {
        do throws(AgentError) {
            return .success(try FilesOnDisk(reading: file))
        } catch {
            return .failure(error)
        }
    }

    // MARK: The server's part

    /// The server's part on disk when only another part of the file, or a plugin, is broken; nil:
    /// the server's part itself is broken.
    private static func serverPart(_ file: String?) -> Configuration? {
        try? Deployment.configuration(at: file, only: .server)
    }

    /// A guess at the state directory of a file that does not evaluate: what it sets before it
    /// fails, or a line that sets it, else the default.
    static func guess(_ file: String?) -> Configuration {
        var configuration = Configuration()
        configuration.file = file
        let text = file.flatMap { Files.read($0) } ?? []
        let source = SourceFile(name: "callagent.lua", text: text)
        if let path = Configuration.text(of: "state_dir", in: source) ?? stateDirectory(in: text),
            !path.isEmpty
        {
            configuration.stateDirectory = path
        }
        return configuration
    }

    /// The text in the last line that begins with `state_dir =`.
    private static func stateDirectory(in text: [UInt8]) -> String? {
        for line in text.split(separator: 0x0A).reversed() {
            let words = String(decoding: line, as: UTF8.self)
            let parts = words.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ $0 != " " && $0 != "\t" }) == "state_dir"
            else { continue }
            let value = parts[1].drop { $0 == " " || $0 == "\t" }
            guard let quote = value.first, quote == "\"" || quote == "'" else { continue }
            let inside = value.dropFirst()
            guard let end = inside.firstIndex(of: quote), !inside[..<end].contains("\\")
            else { continue }
            return String(inside[..<end])
        }
        return nil
    }

    /// The server's part that was last in force.
    ///
    /// - Throws: what is wrong with the file, when none was kept or it cannot be used.
    private static func kept(
        _ memory: ServerMemory, _ file: String?, _ place: String,
        _ found: Result<FilesOnDisk, AgentError>
    ) throws(AgentError) -> Configuration {
        guard let values = memory.values else {
            _ = try found.get()
            throw .refused("no files of an earlier start are kept")
        }
        do throws(ScriptProblems) {
            let configuration = try Deployment.configuration(
                Array(values.utf8), file, only: .server)
            if AgentOptions.place(configuration) == place { return configuration }
        } catch {
            guard case .failure(let trouble) = found else { throw .configuration("\(error)") }
            throw .configuration("\(trouble)\nwhat was last in force cannot be used: \(error)")
        }
        _ = try found.get()
        throw .refused("no files of an earlier start are kept")
    }

    private static func alarm(
        _ found: Result<FilesOnDisk, AgentError>, _ memory: ServerMemory
    ) -> Alarm {
        var problem: String?
        if case .failure(let error) = found { problem = "\(error)" }
        return .file(problem, missingKeys: memory.textKeys)
    }

    /// Whether `path` exists: a start that fails must not create a folder.
    private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

/// What stands on the disk of a node.
struct FilesOnDisk {
    let configuration: Configuration
    let files: StoredGeneration
    /// The plugins, loaded; nil: they were only read.
    let deployment: Deployment?

    init(_ deployment: Deployment) {
        (configuration, files) = (deployment.configuration, deployment.files)
        self.deployment = deployment
    }

    /// Reads them, and loads nothing.
    init(reading file: String?) throws(AgentError) {
        (configuration, files) = try Deployment.onDisk(of: file)
        deployment = nil
    }

    func loaded(_ file: String?, _ seed: UInt64) throws(AgentError) -> Deployment {
        if let deployment { return deployment }
        return try Deployment(file: file, seed: seed)
    }
}

/// The generation last in force, as the store kept it.
struct Recorded {
    let deployment: Deployment
    /// Whether it was loaded before this node owned.
    let wasWarm: Bool
    /// Names of generations that were rolled back.
    let rolledBack: Set<String>

    /// Whether these files were in force and then rolled back.
    func isRolledBack(_ fresh: FilesOnDisk) -> Bool { rolledBack.contains(fresh.files.name) }
}

extension StoredGeneration {
    /// The paths of files that only one of the two has, or that differ.
    func difference(from other: StoredGeneration) -> [String] {
        let mine = Dictionary(files.map { ($0.path, $0.source) }, uniquingKeysWith: { a, _ in a })
        let theirs = Dictionary(
            other.files.map { ($0.path, $0.source) }, uniquingKeysWith: { a, _ in a })
        return Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }.sorted()
    }
}

/// An open store, with what it kept.
struct OpenedStore {
    let store: any CallStore
    /// Its reading side: one for all of a start, because a connection to a database takes longer
    /// than what is asked there.
    let reader: any CallReader
    let state: StoredState
    let directory: StateDirectory?
    /// Whether other nodes have the same: then what is stored is in force, not what is on the disk
    /// of one of them.
    let isShared: Bool

    /// Closes it again, because the process does not start.
    func release() { try? store.close() }

    init(_ options: AgentOptions) throws(AgentError) {
        try self.init(at: options.stateDirectory, options.store, nil)
    }

    init(
        at path: String, _ options: StoreOptions, _ member: ClusterMember?
    ) throws(AgentError) {
        isShared = member != nil
        do throws(StoreError) {
            if let member {
                // For what belongs to this machine: decisions, the tools' socket.
                directory = path == ":memory:" ? nil : try StateDirectory(claiming: path)
                store = try member.openStore(options.limits)
            } else if path == ":memory:" {
                directory = nil
                store = MemoryStore(limits: options.limits)
            } else {
                let claimed = try StateDirectory(claiming: path)
                directory = claimed
                store = try Store(in: claimed, options: options)
            }
            state = try store.restore(at: Moment(Clock.wallMilliseconds()))
            reader = try store.makeReader()
        } catch {
            throw .store(error)
        }
    }

    /// The stored part of the server; nil: the store is old or new.
    fileprivate func memory() throws(AgentError) -> ServerMemory? {
        do throws(StoreError) {
            return try ServerMemory(readBy: reader)
        } catch {
            throw .store(error)
        }
    }

    /// Whether an operator's file that had keys was kept with a generation, as old servers did. The
    /// generations are not loaded for this: their plugins may need an older server.
    fileprivate func hadKeys() throws(AgentError) -> Bool {
        do throws(StoreError) {
            for mark in try reader.generations() {
                guard let kept = try reader.generation(mark) else { continue }
                if Deployment.hadKeys(kept) { return true }
            }
            return false
        } catch {
            throw .store(error)
        }
    }

    /// The canary that was in force; nil: there was none, or it cannot be loaded any more, which
    /// is said.
    fileprivate func canary(
        beside configuration: Configuration, _ seed: UInt64
    ) throws(AgentError) -> (CanaryInForce?, trouble: Alarm?) {
        let found: (name: String, order: CanaryOrder, files: StoredGeneration?)
        do throws(StoreError) {
            guard let (name, order) = try CanaryInForce.kept(reader) else { return (nil, nil) }
            found = (name, order, try reader.generation(named: name))
        } catch {
            throw .store(error)
        }
        do throws(AgentError) {
            guard let files = found.files else { throw .refused("it is not kept") }
            let deployment = try Deployment(files, under: configuration, seed: seed)
            return (CanaryInForce(deployment: deployment, order: found.order), nil)
        } catch {
            return (nil, .lostCanary(found.name, "\(error)"))
        }
    }

    /// The generation last in force; nil when none is kept or it cannot be loaded any more.
    fileprivate func recorded(
        _ configuration: Configuration, _ grants: Grants?, _ seed: UInt64,
        _ member: ClusterMember?
    ) throws(AgentError) -> Recorded? {
        do throws(StoreError) {
            let marks = try reader.generations()
            guard let active = marks.first(where: \.isActive),
                let kept = try reader.generation(active)
            else { return nil }
            let warm = member?.takeWarm(active.name, configuration, grants)
            guard
                let loaded = warm
                    ?? (try? Deployment(kept, under: configuration, grants: grants, seed: seed))
            else { return nil }
            var rolledBack: Set<String> = []
            for mark in marks where mark.rolledBackAt != nil {
                rolledBack.insert(mark.name)
                guard let files = try reader.generation(mark) else { continue }
                rolledBack.insert(Deployment.name(of: files, of: configuration.file))
            }
            return Recorded(
                deployment: loaded, wasWarm: warm != nil, rolledBack: rolledBack)
        } catch {
            throw .store(error)
        }
    }
}

extension CallReader {
    func generations() throws(StoreError) -> [GenerationMark] {
        guard case .generations(let marks) = try answer(.generations) else { return [] }
        return marks
    }

    fileprivate func generation(_ mark: GenerationMark) throws(StoreError) -> StoredGeneration? {
        try generation(named: mark.name)
    }

    func generation(named name: String) throws(StoreError) -> StoredGeneration? {
        guard case .generation(let kept) = try answer(.generation(named: name)) else {
            return nil
        }
        return kept
    }
}
