// Reading files, without Foundation.

import Glibc

/// The file system, as far as configuration and plugins need it.
package enum Files {
    /// The largest file that is read where nothing else is said, in bytes.
    package static let usualLimit = 1 << 20

    /// The contents of a regular file of at most `limit` bytes; nil when it cannot be read.
    package static func read(_ path: String, limit: Int = usualLimit) -> [UInt8]? {
        // Without waiting: a pipe has no other end that would write.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= limit
        else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0, bytes.count + count <= limit else { return nil }
            if count == 0 { return bytes }
            bytes += chunk[0..<count]
        }
    }

    /// `cannot read PATH: why`, after `read` gave nothing.
    package static func complaint(_ path: String, limit: Int = usualLimit) -> String {
        var status = stat()
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        let refusal = file < 0 ? errno : 0
        if file >= 0 { close(file) }
        let why =
            if stat(path, &status) != 0 {
                String(cString: strerror(errno))
            } else if status.st_mode & S_IFMT != S_IFREG {
                status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : "it is no plain file"
            } else if status.st_size > limit {
                "it has \(status.st_size) bytes, and \(limit) are allowed"
            } else if refusal != 0 {
                String(cString: strerror(refusal))
            } else {
                "an input error, or it grew meanwhile"
            }
        return "cannot read \(path): \(why)"
    }

    /// The names in a directory, sorted; nothing when there is none.
    package static func list(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Whether something has this name: also a link that leads nowhere, because nothing may replace
    /// it.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Whether this user may not look for it, so that nobody can say whether it exists.
    package static func isHidden(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && errno == EACCES
    }

    package static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
