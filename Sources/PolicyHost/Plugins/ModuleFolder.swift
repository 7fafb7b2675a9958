// What lies in the folder of a plugin.

import Configuration

/// The files of a plugin that is a folder, and the folders below it, as `require` finds them. A
/// link may lead anywhere, also back or to the root of all: so there are bounds.
public struct ModuleFolder {
    /// Files and folders of one plugin, and how deep they lie.
    static let entriesMax = 1_000
    static let depthMax = 8
    /// Bytes of all files of one plugin.
    static let bytesMax = 16 << 20

    /// It, and those below it.
    public private(set) var folders: [String] = []
    /// Its files except for `init.lua`, by the name that `require` takes: `a`, `b.c`.
    private(set) var files: [(module: String, path: String)] = []
    /// Why not all of it was looked at; nil: it was.
    private(set) var trouble: String?
    private var entries = 0

    /// Looks into the folder at `path`.
    public init(_ path: String) {
        if Files.isFolder(path) { visit(path, prefix: "", depth: 1) }
    }

    private mutating func visit(_ path: String, prefix: String, depth: Int) {
        guard depth <= Self.depthMax else {
            trouble =
                "cannot read \(path): a plugin's folders lie at most \(Self.depthMax) deep; does a "
                + "link lead back?"
            return
        }
        folders.append(path)
        for name in Files.list(path) where !name.hasPrefix(".") {
            guard trouble == nil else { return }
            entries += 1
            guard entries <= Self.entriesMax else {
                trouble =
                    "cannot read \(path): a plugin has at most \(Self.entriesMax) files and "
                    + "folders; does a link lead elsewhere?"
                return
            }
            let below = "\(path)/\(name)"
            if name.hasSuffix(".lua") {
                guard name != "init.lua" else { continue }
                files.append((prefix + name.dropLast(4), below))
            } else if !name.contains("."), Files.isFolder(below) {
                visit(below, prefix: "\(prefix)\(name).", depth: depth + 1)
            }
        }
    }
}
