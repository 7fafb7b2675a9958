// The directory of one server's durable state, held by one process at a time.

import Glibc
import StoreContract
import Synchronization

/// A claimed state directory. The claim ends with the object, or with the process however it ends.
public final class StateDirectory: Sendable {
    /// The directory as it was given.
    public let path: String
    private let lock: Int32
    /// The directory itself, locked too where its file system can do that; below 0: it could not
    /// be opened.
    private let folder: Int32
    /// The directory in which the database really is, locked too, where that is another one.
    private let home: Int32
    /// Whether the database was there without a byte, as after a copy that failed. SQLite begins
    /// such a file as a new database.
    public let hadEmptyDatabase: Bool
    /// The files that were opened in it.
    let opened = Mutex(OpenedFiles())
    /// Connections of this process to the database.
    let users = Atomic<Int>(0)

    /// The database.
    var database: String { Self.database(in: path) }

    static func database(in path: String) -> String { path + "/callagent.db" }

    /// Makes the directory when it is not there (mode 0700) and claims it. Ignores SIGXFSZ for the
    /// whole process: a file that may not grow is an error of its write.
    ///
    /// - Throws: `inUse` naming the process that holds it, `cannotOpen`, `readOnly`, `diskFull`.
    public init(claiming path: String) throws(StoreError) {
        signal(SIGXFSZ, SIG_IGN)
        try Self.make(at: path)
        let folder = try Self.claimFolder(path)
        let file = path + "/lock"
        // Not through a link, which whoever gave the directory may have laid to a file of others:
        // what is there would be overwritten.
        let lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else {
            let failure =
                errno == ELOOP && Self.isLink(file)
                ? StoreError(
                    .cannotOpen, path: file, operation: "opening the lock",
                    detail: "it is a symbolic link: delete it")
                : Self.failure(file, "opening the lock")
            close(folder)
            throw failure
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            let holder = Self.process(namedIn: lock)
            close(lock)
            close(folder)
            guard number == EWOULDBLOCK else {
                errno = number
                throw Self.failure(file, "locking")
            }
            throw StoreError(.inUse(process: holder), path: path, operation: "locking")
        }
        let home: Int32
        do throws(StoreError) {
            home = try Self.claimHome(of: Self.database(in: path))
        } catch {
            close(lock)
            close(folder)
            throw error
        }
        Self.write(getpid(), to: lock)
        self.path = path
        self.lock = lock
        self.folder = folder
        self.home = home
        var status = stat()
        hadEmptyDatabase = stat(Self.database(in: path), &status) == 0 && status.st_size == 0
    }

    /// Locks the directory: its file `lock` may be deleted under a process that runs, by somebody
    /// who takes it for left over, and then the next one would find it free.
    private static func claimFolder(_ path: String) throws(StoreError) -> Int32 {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0, flock(folder, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else {
            return folder
        }
        close(folder)
        let lock = open(path + "/lock", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        let holder = lock >= 0 ? process(namedIn: lock) : nil
        if lock >= 0 { close(lock) }
        throw StoreError(.inUse(process: holder), path: path, operation: "locking")
    }

    /// Where the database is a link to that of another directory, as after a move to a larger disk,
    /// locks that directory: two servers would otherwise own the same calls. Below 0: it is none.
    ///
    /// A hard link tells no directory that could be locked, and whoever opens the file by its other
    /// name, be it only to read a copy that is none, has another log and damages the store.
    private static func claimHome(of database: String) throws(StoreError) -> Int32 {
        var status = stat()
        if stat(database, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 {
            throw StoreError(
                .other, path: database, operation: "claiming the store",
                detail: "it has a second name, a hard link: find -samefile shows it; keep one")
        }
        guard isLink(database), let real = realpath(database, nil) else { return -1 }
        defer { free(real) }
        let target = String(cString: real)
        guard target.hasSuffix("/callagent.db") else { return -1 }
        return try claimFolder(String(target.dropLast("/callagent.db".count)))
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        let number = errno
        defer { errno = number }
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Makes an empty database for its owner only (mode 0600), unless there is one. SQLite gives
    /// its own files beside it the same mode. Once a store was opened, no new one is made: the
    /// server must never begin with an empty store unnoticed.
    ///
    /// An existing file must not even be opened here: closing it would end the locks that SQLite's
    /// connections in this process hold on it (POSIX, fcntl).
    func prepareDatabase() throws(StoreError) {
        guard !opened.withLock({ $0.hasDatabase }) else { return try prepareAgain() }
        let file = open(database, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file < 0 else {
            close(file)
            return
        }
        guard errno == EEXIST else { throw Self.failure(database, "making the database") }
    }

    private func prepareAgain() throws(StoreError) {
        let path = database
        let isLogForeign = try opened.withLock { files throws(StoreError) in
            try files.requireDatabase(at: path)
            return files.isLogForeign
        }
        guard isLogForeign else { return }
        // Connections of one process share the index of the log: the old one must be gone.
        guard users.load(ordering: .acquiring) == 0 else {
            throw StoreError(.busy, path: path, operation: "opening")
        }
        for name in OpenedFiles.logNames(of: path) { unlink(name) }
    }

    deinit {
        // Unlocked by name: a process that is being started may still share the descriptor.
        for descriptor in [lock, folder, home] where descriptor >= 0 {
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
    }

    /// A new directory is durable only when its parent is written.
    /// Makes the directory when it is not there (mode 0700), so that it is there also after a crash
    /// of the machine.
    public static func make(at path: String) throws(StoreError) {
        if mkdir(path, 0o700) == 0 {
            syncParent(of: path)
        } else if errno != EEXIST {
            throw failure(path, "making the directory")
        }
    }

    private static func syncParent(of path: String) {
        let parent = open(path + "/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }
        fsync(parent)
        close(parent)
    }

    /// The process id only helps people, so a full disk here must not prevent the start.
    private static func write(_ process: Int32, to lock: Int32) {
        let text = Array("\(process)\n".utf8)
        guard ftruncate(lock, 0) == 0 else { return }
        _ = pwrite(lock, text, text.count, 0)
    }

    private static func process(namedIn lock: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(lock, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self))
    }

    private static func failure(_ path: String, _ operation: String) -> StoreError {
        let number = errno
        let kind: StoreError.Kind =
            switch number {
            case ENOSPC, EDQUOT: .diskFull
            case EROFS: .readOnly
            case EIO: .inputOutput
            default: .cannotOpen
            }
        return StoreError(
            kind, path: path, operation: operation, detail: String(cString: strerror(number)))
    }
}
