// Reads files of lines from their end.

import Glibc

/// A file that only grows by lines, with older ones beside it: `NAME`, `NAME.1`, `NAME.2`, ….
public enum LineFile {
    /// The file and those beside it, the newest first.
    public static func all(_ newest: String) -> [String] {
        var paths = [newest]
        while access("\(newest).\(paths.count)", R_OK) == 0 {
            paths.append("\(newest).\(paths.count)")
        }
        return paths
    }

    /// Visits the lines of a file, the last one first, until `visit` returns false.
    public static func visit(_ path: String, _ visit: (UnsafeRawBufferPointer) -> Bool) {
        withBytes(of: path) { bytes in
            var end = bytes.count
            while end > 0 {
                let all = bytes[..<(end - 1)]
                let begin = all.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
                guard visit(UnsafeRawBufferPointer(rebasing: all[begin...])) else { return }
                end = begin
            }
        }
    }

    private static func withBytes(of path: String, _ body: (UnsafeRawBufferPointer) -> Void) {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
        else { return }
        let size = Int(status.st_size)
        // A file only grows and is renamed as a whole: the mapped bytes stay valid.
        guard let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0),
            memory != UnsafeMutableRawPointer(bitPattern: -1)
        else { return }
        defer { munmap(memory, size) }
        body(UnsafeRawBufferPointer(start: memory, count: size))
    }
}
