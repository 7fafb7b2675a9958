// Checks a state directory and its store from outside.

import CallModel
import Configuration
import EventLoop
import Glibc
import Storage
import StoreContract

extension Doctor {
    mutating func examineDirectory(_ place: String) {
        var status = stat()
        guard stat(place, &status) == 0 else { return examineMissing(place) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return note(.trouble("state_dir \(place) is no directory", "give another state_dir"))
        }
        guard access(place, R_OK | W_OK | X_OK) == 0 else {
            // A read-only disk is reported with the disk.
            guard errno != EROFS else { return }
            return note(
                .trouble(
                    "this user may not write into \(place)",
                    "run as user \(status.st_uid), or chown it"))
        }
        if status.st_uid != getuid() {
            note(
                .warning(
                    "\(place) belongs to user \(status.st_uid), this is user \(getuid())",
                    "run callagent doctor as the user that runs the server"))
        }
        if status.st_mode & 0o077 != 0 {
            note(
                .warning("other users of this machine can look into \(place)", "chmod 700 \(place)")
            )
        }
        examineOwners(place, status.st_uid)
    }

    private mutating func examineMissing(_ place: String) {
        let above = place.split(separator: "/").dropLast().joined(separator: "/")
        let folder = place.hasPrefix("/") ? "/" + above : above.isEmpty ? "." : above
        guard access(folder, W_OK | X_OK) != 0 else {
            return note(.good("state_dir \(place) is not there yet; a start makes it"))
        }
        let why = String(cString: strerror(errno))
        note(
            .trouble(
                "state_dir \(place) is not there, and nothing can be made in \(folder): \(why)",
                "make \(place), and chown it to the user that runs the server"))
    }

    /// A server that was once started as another user has left files that this user cannot write.
    private mutating func examineOwners(_ place: String, _ owner: uid_t) {
        for name in ["callagent.db", "callagent.db-wal", "callagent.db-shm", "lock"] {
            var status = stat()
            guard stat("\(place)/\(name)", &status) == 0, status.st_uid != owner else { continue }
            note(
                .trouble(
                    "\(place)/\(name) belongs to user \(status.st_uid), "
                        + "the directory to user \(owner)",
                    "chown it to user \(owner): callagent was started as another user once"))
        }
    }

    mutating func examineSpace(_ place: String) {
        var space = statvfs()
        let folder = access(place, F_OK) == 0 ? place : "."
        guard statvfs(folder, &space) == 0 else { return }
        // One that went read-only after an error does not always say so of itself.
        let lock = open("\(place)/lock", O_WRONLY | O_CLOEXEC)
        let isRefused = lock < 0 && errno == EROFS
        if lock >= 0 { close(lock) }
        if space.f_flag & UInt(ST_RDONLY) != 0 || isRefused {
            return note(.trouble("\(place) is mounted read-only", "mount it for writing"))
        }
        if space.f_files > 0, space.f_favail < 100 {
            note(.trouble("no more files can be made at \(place)", "free some inodes (df -i)"))
        }
        examineFileSystem(folder)
        let free = (Int(space.f_bavail) * Int(space.f_frsize)) >> 20
        switch free {
        case ..<64: note(.trouble("\(free) MB are free at \(place)", "free some space"))
        case ..<1_024: note(.warning("\(free) MB are free at \(place)", "free some space soon"))
        default: note(.good("\(free >> 10) GB are free at \(place)"))
        }
    }

    /// SQLite's log needs memory that its users share: a network file system has none.
    private mutating func examineFileSystem(_ folder: String) {
        guard let path = realpath(folder, nil) else { return }
        defer { free(path) }
        let place = String(cString: path) + "/"
        var kind = ""
        var longest = 0
        for line in (Files.read("/proc/self/mounts") ?? []).split(separator: 0x0A) {
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard words.count > 2, words[1].utf8.count >= longest else { continue }
            let mount: String = words[1] == "/" ? "/" : words[1] + "/"
            guard place.hasPrefix(mount) else { continue }
            (kind, longest) = (String(words[2]), words[1].utf8.count)
        }
        guard ["nfs", "nfs4", "cifs", "smb3", "ceph", "fuse.sshfs"].contains(kind)
        else { return }
        note(
            .warning(
                "\(folder) is on a network file system (\(kind))",
                "keep state_dir on a disk of this machine, else the store may be damaged"))
    }

    mutating func examineStore(_ place: String) {
        do throws(StoreError) {
            process = try StoreExamination.holder(of: place)
            guard let verdict = try StoreExamination.check(place) else {
                guard let process else { return note(.good("no store yet")) }
                return note(
                    .trouble(
                        "process \(process) has \(place), and its store is gone from there",
                        "put callagent.db back: what was acknowledged is in it"))
            }
            if verdict.version < verdict.newest {
                note(
                    .warning(
                        "the store has version \(verdict.version) of \(verdict.newest)",
                        "the next start migrates it; keep a backup if you may want to go back"))
            }
            let ahead = verdict.writtenAt.milliseconds - Clock.wallMilliseconds()
            if ahead > 60_000 {
                note(
                    .trouble(
                        "the clock of this machine is \(ahead / 1_000) s behind what the store "
                            + "has noted last",
                        "set it if it is wrong (timedatectl): tokens and plugins go by it; if it "
                            + "is right, a start found it ahead once, and calls go on"))
            }
            if let damage = verdict.damaged.text {
                note(
                    .trouble(
                        damage,
                        "stop the server, keep a copy of \(place), then restore a backup or delete "
                            + "the rows from live_call"))
            } else {
                note(.good("the store is sound: \(verdict.calls) live calls"))
            }
        } catch {
            if case .cannotOpen = error.kind { mayRun = true }
            note(.trouble("\(error)", "nothing starts with this store"))
        }
        examineLog(place)
    }

    /// SQLite cuts its log to 64 MiB whenever it is copied into the store.
    private mutating func examineLog(_ place: String) {
        var status = stat()
        guard stat("\(place)/callagent.db-wal", &status) == 0, status.st_size > 128 << 20
        else { return }
        note(
            .warning(
                "\(place)/callagent.db-wal has \(status.st_size >> 20) MB",
                "another program that reads the store holds it: end it (lsof), then restart"))
    }
}
