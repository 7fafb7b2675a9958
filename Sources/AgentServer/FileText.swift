// Reads a whole file.

import Glibc

/// The text of a file.
public enum FileText {
    /// The bytes of the regular file at `path`, at most `limit`; nil when it cannot be read.
    public static func read(_ path: String, limit: Int = 1 << 20) -> [UInt8]? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0, count <= limit else { return nil }
        return Array(bytes[..<count])
    }
}
