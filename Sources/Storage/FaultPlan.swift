// Makes chosen file operations of the store fail, for tests.

import CSQLite
import Glibc

/// A file layer for one store in which chosen operations fail on demand, from any thread.
///
/// It is a parameter of the store that production never sets.
public final class FaultPlan: @unchecked Sendable {
    /// Operations of the file layer.
    public struct Operations: OptionSet, Sendable {
        /// One bit for each operation.
        public let rawValue: Int32
        /// The operations of these bits.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// Writing; half of the bytes arrive.
        public static let write = Operations(rawValue: Int32(csqlite_fault_write))
        /// Making what was written durable.
        public static let sync = Operations(rawValue: Int32(csqlite_fault_sync))
        /// Reading.
        public static let read = Operations(rawValue: Int32(csqlite_fault_read))
        /// Cutting a file.
        public static let truncate = Operations(rawValue: Int32(csqlite_fault_truncate))
        /// Opening a file.
        public static let open = Operations(rawValue: Int32(csqlite_fault_open))

        /// The operation of this name, as in the text of `FaultPlan.init(_:)`.
        init?(name: some StringProtocol) {
            switch name {
            case "write": self = .write
            case "sync": self = .sync
            case "read": self = .read
            case "truncate": self = .truncate
            case "open": self = .open
            default: return nil
            }
        }
    }

    /// How an operation fails.
    public enum Failure: String, Sendable, CaseIterable {
        /// No space is left.
        case full
        /// The disk reports an error.
        case eio
        /// The file system is read-only.
        case readonly
    }

    private let faults: OpaquePointer
    /// The name under which SQLite knows the layer.
    let layer: String

    /// A layer in which nothing fails yet. Nil: no memory.
    public init?() {
        var random = [UInt8](repeating: 0, count: 8)
        sqlite3_randomness(8, &random)
        let name = "faulty-" + random.map { String($0, radix: 16) }.joined(separator: "-")
        guard let faults = csqlite_faults_create(name) else { return nil }
        self.faults = faults
        layer = name
    }

    /// A layer armed by a text such as `write:120:3:full`: after 120 more writes, the next 3 fail
    /// for lack of space. With `:again` at its end that repeats without end. Nil: the text is not
    /// of that form.
    public convenience init?(_ text: String) {
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let isRepeated = parts.count == 5 && parts.last == "again"
        if isRepeated { parts.removeLast() }
        guard parts.count == 4, let operations = Operations(name: parts[0]),
            let after = Int(parts[1]), after >= 0, let times = Int(parts[2]), times > 0,
            let failure = Failure(rawValue: String(parts[3]))
        else { return nil }
        self.init()
        arm(operations, after: after, times: times, again: isRepeated, failure: failure)
    }

    deinit { csqlite_faults_destroy(faults) }

    /// After `after` more `operations`, the next `times` of them fail; `again`: and so on for ever.
    public func arm(
        _ operations: Operations, after: Int = 0, times: Int = .max, again: Bool = false,
        failure: Failure = .eio
    ) {
        let code =
            switch failure {
            case .full: SQLITE_FULL
            case .readonly: SQLITE_READONLY
            // The extended codes of SQLITE_IOERR are macros with an operator: (4 << 8) and so on.
            case .eio where operations == .sync: SQLITE_IOERR | 4 << 8
            case .eio where operations == .read: SQLITE_IOERR | 1 << 8
            case .eio: SQLITE_IOERR | 3 << 8
            }
        csqlite_faults_arm(
            faults, operations.rawValue, Int64(after), Int64(times), again ? 1 : 0, code)
    }

    /// From now on nothing fails.
    public func disarm() { csqlite_faults_arm(faults, 0, 0, 0, 0, SQLITE_OK) }

    /// How many operations failed so far.
    public var hits: Int { Int(csqlite_faults_hit(faults)) }
}
