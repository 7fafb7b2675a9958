// Folders that come with the executable.

import Glibc

/// Where plugins and documentation are that belong to this executable.
enum InstalledFolder {
    /// The folder that the environment names; or `name`, in a folder above the executable, or
    /// `share/callagent/NAME`, where it is installed.
    ///
    /// - Parameters:
    ///   - file: what it must hold: others have folders of that name too.
    ///   - variable: of the environment.
    static func find(_ name: String, holding file: String, variable: String) -> String? {
        if let named = getenv(variable) { return String(cString: named) }
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        var folder = String(cString: path)
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = String(folder[..<slash])
            for candidate in ["\(folder)/\(name)", "\(folder)/share/callagent/\(name)"]
            where access("\(candidate)/\(file)", R_OK) == 0 {
                return candidate
            }
        }
        return nil
    }
}
