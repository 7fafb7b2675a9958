// A place for the files of one test.
import Glibc

/// A folder of its own for each test, removed at the end.
public final class Folder {
    /// Where it is.
    public let path: String

    /// A new folder.
    public init() {
        var template = Array("/tmp/callagent-test-XXXXXX\0".utf8CString)
        mkdtemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    /// Writes a file.
    public func write(_ text: String, to name: String) {
        let file = fopen("\(path)/\(name)", "w")
        fputs(text, file)
        fclose(file)
    }

    deinit {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                unlink("\(path)/\(name)")
            }
            closedir(directory)
        }
        rmdir(path)
    }
}
