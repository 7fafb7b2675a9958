// Copies a store while its server goes on.

import CSQLite
import Glibc
import StoreContract

/// A copy of a state directory, as of one moment: all that was durable when the copy was begun.
public enum StoreBackup {
    /// Copies the store in `directory` into the directory `target`, which is made; it must not be
    /// there, or be empty. The server that has the store is not asked and does not wait.
    ///
    /// - Returns: the size of the copy in bytes.
    /// - Throws: also `corrupt`, when what was copied is not sound; nothing is left then.
    public static func make(of directory: String, in target: String) throws(StoreError) -> Int64 {
        // A file that may not grow is an error of its write.
        signal(SIGXFSZ, SIG_IGN)
        let source = try DatabaseConnection(
            path: StateDirectory.database(in: directory), access: .reading, faults: nil)
        // The log belongs to the server.
        source.keepLog()
        _ = try StoreSchema.current.examine(source)
        let isNew = try prepare(target)
        let unfinished = "\(target)/\(Self.unfinished)"
        unlink(unfinished)
        do throws(StoreError) {
            // For its owner only from the first byte: SQLite would leave that to the umask.
            let file = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw failure(unfinished, "making the copy") }
            close(file)
            try source.copy(to: unfinished)
            try check(unfinished)
            return try finish(unfinished, in: target)
        } catch {
            for name in [unfinished, unfinished + "-journal"] { unlink(name) }
            if isNew { rmdir(target) }
            throw error
        }
    }

    /// What a copy is called until it is whole. One that was interrupted is begun anew.
    private static let unfinished = "callagent.db.unfinished"

    /// Makes `target`, for its owner only.
    ///
    /// - Returns: whether it was not there.
    private static func prepare(_ target: String) throws(StoreError) -> Bool {
        if mkdir(target, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw failure(target, "making the directory") }
        guard let listing = opendir(target) else { throw failure(target, "opening the directory") }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard [".", "..", unfinished].contains(name) else {
                throw StoreError(
                    .cannotOpen, path: target, operation: "backing up",
                    detail: "it is not empty: name a directory that is not there")
            }
        }
        return false
    }

    private static func check(_ file: String) throws(StoreError) {
        let copy = try DatabaseConnection(path: file, access: .existing, faults: nil)
        // One file is easier to carry around than one with its log.
        try copy.execute("PRAGMA journal_mode = DELETE", for: "backing up")
        try Opening.quickCheck(copy, "PRAGMA integrity_check(10)")
    }

    private static func finish(
        _ unfinished: String, in target: String
    ) throws(StoreError) -> Int64 {
        let file = open(unfinished, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(unfinished, "opening the copy") }
        defer { close(file) }
        var status = stat()
        let final = StateDirectory.database(in: target)
        guard fsync(file) == 0, fstat(file, &status) == 0, chmod(unfinished, 0o600) == 0,
            rename(unfinished, final) == 0
        else { throw failure(final, "finishing the copy") }
        let folder = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
        return Int64(status.st_size)
    }

    private static func failure(_ path: String, _ operation: String) -> StoreError {
        let number = errno
        return StoreError(
            number == ENOSPC || number == EDQUOT ? .diskFull : .cannotOpen, path: path,
            operation: operation, detail: String(cString: strerror(number)))
    }
}

extension DatabaseConnection {
    /// Copies everything to a file at `target` in one step: as of one moment, while another process
    /// writes.
    fileprivate func copy(to target: String) throws(StoreError) {
        let copy = try DatabaseConnection(path: target, access: .writing, faults: nil)
        try withHandles(copy) { (from, to) throws(StoreError) in
            guard let backup = sqlite3_backup_init(to, "main", from, "main") else {
                throw copy.error("backing up")
            }
            let code = sqlite3_backup_step(backup, -1)
            guard sqlite3_backup_finish(backup) == SQLITE_OK, code == SQLITE_DONE else {
                throw copy.error("backing up")
            }
        }
    }
}
