// Why the store could not do something, in words that an operator can act on.

/// A failure of the store. After one from `commit` or `sweep` the store must be opened again.
public struct StoreError: Error, Sendable, Equatable {
    /// What is wrong, as far as a caller may act differently.
    public enum Kind: Sendable, Equatable {
        /// No space is left, or a quota is reached.
        case diskFull
        /// The file or the file system does not allow writing.
        case readOnly
        /// The directory or file cannot be opened or made.
        case cannotOpen
        /// Reading, writing or syncing failed in the system.
        case inputOutput
        /// Another process holds the directory; nil when it could not be told which.
        case inUse(process: Int32?)
        /// Another connection has locked the file for too long.
        case busy
        /// The file is not a sound SQLite database.
        case corrupt
        /// The file is a database of something else.
        case foreign
        /// The store was written by a newer version.
        case newer(found: Int, known: Int)
        /// The store was written by an older version, and is to be brought up to date first.
        case older(found: Int, known: Int)
        /// One stored record cannot be read; `detail` names it and its field.
        case damagedRecord
        /// Another server has taken the store over, and this is its term. Nothing of the refused
        /// commit is stored.
        case notOwner(since: Term)
        /// A file of the store is not the one that was opened: removed, or another has its name.
        case replaced
        /// A database elsewhere does not answer, or cannot write now. What was under way may be
        /// stored or not.
        case unreachable
        /// A database elsewhere does not let this program in, or not do this.
        case notAllowed
        /// A database elsewhere has no tables of this program.
        case noSchema
        /// An earlier operation failed or the store was closed: open it again.
        case notOpen
        /// Anything else: a fault of this program or no memory.
        case other
    }

    /// See `Kind`.
    public let kind: Kind
    /// The file or directory concerned.
    public let path: String
    /// What was being done, such as `committing`.
    public let operation: String
    /// What the system or the record said.
    public let detail: String

    /// A failure while doing `operation` on `path`.
    public init(_ kind: Kind, path: String, operation: String, detail: String = "") {
        self.kind = kind
        self.path = path
        self.operation = operation
        self.detail = detail
    }
}

extension StoreError: CustomStringConvertible {
    /// One line: path, what failed, why, what to do.
    public var description: String {
        switch kind {
        case .inUse(let process?): "\(path): in use by process \(process)"
        case .inUse(nil): "\(path): in use by another process"
        case .newer(let found, let known):
            "\(path): written by a newer version (store version \(found), this program knows "
                + "\(known)); "
                + (detail.isEmpty ? "start that version or give another state_dir" : detail)
        case .older(let found, let known):
            "\(path): written by an older version (store version \(found), this program needs "
                + "\(known)); \(detail)"
        case .notOwner(let term):
            "\(path): belongs to \(term), and takes nothing from \(detail) while \(operation)"
        case .diskFull, .readOnly, .cannotOpen, .inputOutput, .busy, .corrupt, .foreign,
            .damagedRecord, .replaced, .unreachable, .notAllowed, .noSchema, .notOpen, .other:
            "\(path): \(summary) while \(operation)\(detail.isEmpty ? "" : " (\(detail))")\(advice)"
        }
    }

    private var summary: String {
        switch kind {
        case .diskFull: "no space is left"
        case .readOnly: "writing is not allowed"
        case .cannotOpen: "cannot be opened"
        case .inputOutput: "the disk failed"
        case .inUse: "in use"
        case .busy: "locked by another connection"
        case .corrupt: "damaged"
        case .foreign: "not a store of callagent, or damaged"
        case .newer: "too new"
        case .older: "too old"
        case .damagedRecord: "a record is damaged"
        case .notOwner: "belongs to another"
        case .replaced: "not the file that was opened"
        case .unreachable: "the database does not answer"
        case .notAllowed: "not allowed"
        case .noSchema: "no tables of callagent are there"
        case .notOpen: "not open"
        case .other: "failed"
        }
    }

    private var advice: String {
        switch kind {
        case .corrupt, .damagedRecord:
            "; stop, keep a copy of the directory, then restore a backup or give another state_dir"
        case .foreign: "; give another state_dir"
        case .diskFull: "; free some space"
        case .readOnly, .cannotOpen: "; check owner, mode and mount of the directory"
        case .inputOutput:
            "; look for the disk in the system's log (dmesg), repair or replace it, then try again"
        case .replaced:
            "; put it back, if need be from /proc/PID/fd before the process ends: a restart goes "
                + "on with what is there, be it nothing"
        case .noSchema: "; make them with callagent cluster init"
        case .notAllowed: "; check the user, the password and the rights"
        case .inUse, .busy, .newer, .older, .notOwner, .unreachable, .notOpen, .other: ""
        }
    }
}
