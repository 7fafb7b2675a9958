// Looks an installation over, whether it runs or not, and says what to do.

import EventLoop
import Glibc
import PolicyHost
import Storage

/// One thing that was looked at.
public struct Finding: Sendable, Equatable {
    /// How bad it is.
    public enum Grade: String, Sendable {
        /// As it should be.
        case good = "ok  "
        /// It works, and somebody should know.
        case warning = "warn"
        /// Calls fail, or will at the next start.
        case trouble = "FAIL"
    }

    /// See `Grade`.
    public let grade: Grade
    /// What was found.
    public let text: String
    /// What to do about it.
    public let advice: String

    /// All is well.
    public static func good(_ text: String) -> Finding {
        Finding(grade: .good, text: text, advice: "")
    }

    /// It works, but …
    public static func warning(_ text: String, _ advice: String) -> Finding {
        Finding(grade: .warning, text: text, advice: advice)
    }

    /// It does not work.
    public static func trouble(_ text: String, _ advice: String) -> Finding {
        Finding(grade: .trouble, text: text, advice: advice)
    }
}

/// Examines an installation from outside: files, keys, disk, store, limits of the machine.
public struct Doctor {
    /// What the file says, once it was read.
    public private(set) var configuration = Configuration()
    /// The generation on disk; nil when it does not load.
    public private(set) var generation: String?
    /// The process that has the state directory.
    public private(set) var process: Int32?
    /// What was found so far.
    public private(set) var findings: [Finding] = []
    private let file: String?

    /// Looks at the installation of this operator's file; nil: the defaults.
    public init(file: String?) { self.file = file }

    /// Looks at everything that can be seen without the process.
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
            examineStore(place)
        }
        examineDescriptors()
        if process == nil { examineAddress() }
    }

    /// Adds what others found.
    public mutating func note(_ finding: Finding) { findings.append(finding) }

    /// Whether nothing keeps calls from working.
    public var isHealthy: Bool { !findings.contains { $0.grade == .trouble } }

    // MARK: Files

    private mutating func readFiles() -> Bool {
        let name = file ?? "the defaults (no callagent.lua here)"
        do throws(AgentError) {
            let deployment = try Deployment(file: file, seed: 0)
            configuration = deployment.configuration
            generation = deployment.name
            note(.good("\(name): generation \(deployment.name)"))
            for plugin in deployment.unlistedPlugins {
                note(
                    .warning(
                        "plugins/\(plugin) is not listed in plugins", "list it, or take it away"))
            }
            return true
        } catch {
            note(.trouble("\(error)", "mend the file; callagent check tells all there is"))
        }
        // What else is wrong can be told only as far as the file can be read.
        guard let readable = try? Deployment.configuration(at: file) else { return false }
        configuration = readable
        return true
    }

    private var isReachable: Bool {
        (try? Endpoint(parsing: configuration.listen))?.isLoopback == false
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
                    "no keys: everybody on this machine may be anybody",
                    "configure auth before others can reach it"))
        }
    }

    private mutating func examineTLS() {
        guard let files = AgentOptions.certificate(of: configuration) else {
            guard isReachable else { return }
            return note(
                .warning(
                    "no TLS on \(configuration.listen): tokens cross the network in clear",
                    "configure tls, or put a proxy in front and listen on 127.0.0.1"))
        }
        do throws(EventLoopError) {
            let context = try files.load()
            let left = (context.expiresAt ?? .max) - Clock.wallMilliseconds() / 1_000
            switch left {
            case ..<0:
                note(
                    .trouble(
                        "the certificate \(files.certificate) has run out",
                        "renew it, then callagent reload"))
            case ..<(14 * 86_400):
                note(
                    .warning(
                        "the certificate \(files.certificate) runs out in \(left / 86_400) days",
                        "renew it, then callagent reload"))
            default: note(.good("tls: \(files.certificate)"))
            }
        } catch {
            note(.trouble("\(error)", "mend the file; nothing starts or reloads without it"))
        }
        var status = stat()
        if stat(files.key, &status) == 0, status.st_mode & 0o077 != 0 {
            note(
                .warning(
                    "others on this machine may read the key \(files.key)",
                    "chmod 600 \(files.key)"))
        }
    }

    // MARK: State

    private mutating func examineDirectory(_ place: String) {
        var status = stat()
        guard stat(place, &status) == 0 else {
            return note(.good("state_dir \(place) is not there yet; a start makes it"))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return note(.trouble("state_dir \(place) is no directory", "give another state_dir"))
        }
        guard access(place, R_OK | W_OK | X_OK) == 0 else {
            return note(
                .trouble(
                    "this user may not write into \(place)",
                    "run as user \(status.st_uid), or chown it"))
        }
        if status.st_uid != getuid() {
            note(
                .warning(
                    "\(place) belongs to user \(status.st_uid), this is user \(getuid())",
                    "look as the user that runs the server"))
        }
        if status.st_mode & 0o077 != 0 {
            note(.warning("others on this machine may look into \(place)", "chmod 700 \(place)"))
        }
    }

    private mutating func examineSpace(_ place: String) {
        var space = statvfs()
        let folder = access(place, F_OK) == 0 ? place : "."
        guard statvfs(folder, &space) == 0 else { return }
        if space.f_flag & UInt(ST_RDONLY) != 0 {
            return note(.trouble("\(place) is mounted read-only", "mount it for writing"))
        }
        let free = (Int(space.f_bavail) * Int(space.f_frsize)) >> 20
        switch free {
        case ..<64: note(.trouble("\(free) MB are free at \(place)", "free some space"))
        case ..<1_024: note(.warning("\(free) MB are free at \(place)", "free some space soon"))
        default: note(.good("\(free >> 10) GB are free at \(place)"))
        }
    }

    private mutating func examineStore(_ place: String) {
        do throws(StoreError) {
            process = try StoreExamination.holder(of: place)
            guard let verdict = try StoreExamination.check(place) else {
                return note(.good("no store yet"))
            }
            if verdict.version < verdict.newest {
                note(
                    .warning(
                        "the store has version \(verdict.version) of \(verdict.newest)",
                        "the next start migrates it; keep a backup if you may want to go back"))
            }
            note(.good("the store is sound: \(verdict.calls) live calls"))
        } catch {
            note(.trouble("\(error)", "nothing starts with this store"))
        }
    }

    // MARK: Machine

    private mutating func examineDescriptors() {
        var limit = rlimit()
        let files = process.flatMap { Self.descriptors(of: $0) }
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let allowed = files ?? Int(clamping: limit.rlim_max)
        let wanted = configuration.limits.connections + 64
        if allowed < wanted {
            note(
                .warning(
                    "\(allowed) files may be open, limits.connections is "
                        + "\(configuration.limits.connections)",
                    "raise LimitNOFILE to \(wanted), or lower limits.connections"))
        } else {
            note(.good("\(allowed) files may be open"))
        }
    }

    /// `Max open files` of another process.
    private static func descriptors(of process: Int32) -> Int? {
        guard let text = FileText.read("/proc/\(process)/limits") else { return nil }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let words = lines.first { $0.hasPrefix("Max open files") }?.split(separator: " ")
        return words.flatMap { $0.count > 4 ? Int($0[4]) : nil }
    }

    private mutating func examineAddress() {
        do throws(EventLoopError) {
            let endpoint = try Endpoint(parsing: configuration.listen)
            let loop = try EventLoop()
            defer { loop.close() }
            let listener = try Listener(
                at: endpoint, on: loop, failed: { _ in }, accepted: { $0.abort() })
            listener.close()
            note(.good("\(endpoint) is free to listen at"))
        } catch {
            note(.trouble("\(error)", "stop what has it, or change listen"))
        }
    }
}
