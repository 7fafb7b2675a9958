// A place for the files of one test.
import Glibc

/// A folder of its own for each test, removed with everything in it at the end.
public final class TemporaryFolder: Sendable {
    /// Where it is.
    public let path: String

    /// A new folder in `parent`. `/var/tmp` is a disk where `/tmp` may be memory.
    public init(in parent: String = "/tmp") {
        var template = Array("\(parent)/callagent-test-XXXXXX\0".utf8CString)
        mkdtemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    /// Writes a file.
    public func write(_ text: String, to name: String) {
        let file = fopen("\(path)/\(name)", "w")
        fputs(text, file)
        fclose(file)
    }

    /// The names of what is in it, sorted.
    public var names: [String] { Self.names(in: path) }

    deinit { Self.remove(path) }

    /// The names of what is in any folder, sorted.
    public static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func remove(_ path: String) {
        for name in names(in: path) {
            let inside = "\(path)/\(name)"
            if unlink(inside) != 0 { remove(inside) }
        }
        rmdir(path)
    }
}
