// Checks an installation, whether it runs or not, and says what to do.

import Configuration
import EventLoop
import Glibc
import Storage

/// Examines an installation from outside: files, keys, disk, store, limits of the machine.
public struct Doctor {
    /// The configuration, once it was read.
    public private(set) var configuration = Configuration()
    /// The generation on disk; nil when it does not load.
    public private(set) var generation: String?
    /// The files of that generation.
    public private(set) var files: LoadedFiles?
    /// The process that has the state directory.
    public internal(set) var process: Int32?
    /// Whether a server may run that was not found: its directory is gone, or another user's.
    public internal(set) var mayRun = false
    /// What was found so far.
    public private(set) var findings: [Finding] = []
    let file: String?

    /// Checks the installation of this operator's file; nil: the defaults.
    public init(file: String?) { self.file = file }

    /// Checks everything that can be seen without asking the process.
    public mutating func examine() {
        guard readFiles() else { return }
        examineKeys()
        examineTLS()
        let place = AgentOptions.place(configuration)
        if place == ":memory:" {
            note(.warning("state_dir is \":memory:\"", "everything is forgotten at a restart"))
        } else {
            examineDirectory(place)
            examineSpace(place)
            if configuration.cluster == nil { examineStore(place) }
        }
        examineCluster()
        examineDescriptors()
        examineBacklog()
        examineProxies()
        examineClock()
        if process == nil { examineAddresses() }
        examineReach()
    }

    /// Adds a result that was found elsewhere.
    public mutating func note(_ finding: Finding) { findings.append(finding) }

    /// Whether calls can work.
    public var isHealthy: Bool { !findings.contains { $0.grade == .trouble } }

    // MARK: Files

    private mutating func readFiles() -> Bool {
        let isReadable = findProcess()
        let name = file ?? "the defaults (no callagent.lua here)"
        let theirs = process.map { Self.environment(of: $0) } ?? [:]
        do throws(AgentError) {
            let deployment = try Deployment(file: file, seed: 0) { name in
                Deployment.ownEnvironment(name) ?? theirs[name]
            }
            configuration = deployment.configuration
            generation = deployment.name
            files = deployment.loaded
            // Addresses and keys are looked at only when they are put together.
            _ = try AgentOptions(deployment)
            note(.good("\(name): generation \(deployment.name)"))
            if let words = deployment.unlistedWords {
                note(.warning(words, "what is not listed does nothing: list it, or take it away"))
            }
            return true
        } catch {
            note(
                .trouble(
                    "\(error)",
                    "fix the file, or set what it asks for as the service does; "
                        + "callagent check tells all there is"))
        }
        // The remaining checks need a file that can be read.
        return isReadable
    }

    /// Finds the process that uses the state directory: secrets that this shell lacks are in its
    /// environment. A file that does not evaluate may still say where the directory is.
    private mutating func findProcess() -> Bool {
        let readable = try? Deployment.configuration(at: file) { name in
            Deployment.ownEnvironment(name) ?? String(repeating: "?", count: 64)
        }
        configuration = readable ?? Start.guess(file)
        let place = AgentOptions.place(configuration)
        if place != ":memory:" { process = try? StoreExamination.holder(of: place) }
        if process == nil, configuration.cluster != nil { process = waitingNode(place) }
        return readable != nil
    }

    /// Where secrets are looked for: in the environment of this shell, else in that of the process
    /// that serves this file.
    public static func environment(file: String?) -> Deployment.Environment {
        var doctor = Doctor(file: file)
        _ = doctor.findProcess()
        let theirs = doctor.process.map { Self.environment(of: $0) } ?? [:]
        return { name in Deployment.ownEnvironment(name) ?? theirs[name] }
    }

    private static func environment(of process: Int32) -> [String: String] {
        let text = Files.read("/proc/\(process)/environ") ?? []
        let pairs = text.split(separator: 0).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1)
            return parts.map { String(decoding: $0, as: UTF8.self) }
        }
        return Dictionary(
            pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { a, _ in a })
    }

    private var isReachable: Bool {
        (try? NetworkAddress(parsing: configuration.listen))?.isLoopback == false
    }

    private mutating func examineKeys() {
        guard configuration.auth.isEmpty else {
            let count = configuration.auth.count
            return note(.good("auth: \(count) key\(count == 1 ? "" : "s")"))
        }
        if isReachable {
            note(
                .trouble(
                    "listen is \(configuration.listen) and there are no keys: a start is refused",
                    "configure auth, or listen on 127.0.0.1"))
        } else {
            note(
                .warning(
                    "no keys: every user of this machine can connect as anybody",
                    "configure auth before others can reach it"))
        }
    }

    /// Judges a certificate by its time.
    ///
    /// - Parameters:
    ///   - name: how it is called.
    ///   - advice: what to do where it ends.
    mutating func examineTime(
        of context: TLSContext, _ name: String, _ advice: String, good: String
    ) {
        let now = Clock.wallMilliseconds() / 1_000
        let left = (context.expiresAt ?? .max) - now
        if let begin = context.validFrom, begin > now {
            note(
                .trouble(
                    "\(name) is not valid for another \((begin - now) / 3_600 + 1) h",
                    "check the clock of this machine, or wait"))
        }
        let (day, hour): (Int64, Int64) = (86_400, 3_600)
        switch left {
        case ..<0: note(.trouble("\(name) has run out", advice))
        case ..<(2 * day): note(.warning("\(name) runs out in \(left / hour) h", advice))
        case ..<(14 * day): note(.warning("\(name) runs out in \(left / day) days", advice))
        default: note(.good(good))
        }
    }

    private mutating func examineTLS() {
        guard let files = AgentOptions.certificate(of: configuration) else {
            guard isReachable else { return }
            return note(
                .warning(
                    "no TLS on \(configuration.listen): tokens cross the network unencrypted",
                    "configure tls, or put a proxy in front and listen on 127.0.0.1"))
        }
        do throws(EventLoopError) {
            examineTime(
                of: try files.load(), "the certificate \(files.certificate)",
                "renew it, then callagent reload", good: "tls: \(files.certificate)")
        } catch {
            note(.trouble("\(error)", "fix the file; nothing starts or reloads without it"))
        }
        var status = stat()
        if stat(files.key, &status) == 0, status.st_mode & 0o077 != 0 {
            note(
                .warning(
                    "other users of this machine can read the key \(files.key)",
                    "chmod 600 \(files.key)"))
        }
    }
}
