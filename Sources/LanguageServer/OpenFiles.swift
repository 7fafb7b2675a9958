// The files that an editor has open, and the plugins that they belong to.

import Configuration
import JSON
import Lua
import LuaSource
import PolicyHost

/// A file as the editor shows it, saved or not.
final class OpenFile {
    let uri: String
    /// Where it lies; for a file that was never saved what the editor calls it.
    let path: String
    private(set) var text: [UInt8]
    var version: JSONValue
    private(set) var lines: LineMap

    init(uri: String, text: [UInt8], version: JSONValue) {
        self.uri = uri
        self.text = text
        self.version = version
        path = FileAddress.path(of: uri) ?? uri
        lines = LineMap(text)
    }

    /// Puts `new` where `range` was; nil: in the place of everything.
    func replace(_ range: Range<Int>?, with new: [UInt8]) {
        if let range { text.replaceSubrange(range, with: new) } else { text = new }
        lines = LineMap(text)
    }
}

/// Addresses of files, as editors write them.
enum FileAddress {
    /// The path of a `file:` address.
    static func path(of uri: String) -> String? {
        guard uri.hasPrefix("file://") else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(uri.utf8.dropFirst(7))[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The address of a path.
    static func uri(of path: String) -> String {
        guard path.hasPrefix("/") else { return path }
        var text = "file://"
        for byte in path.utf8 {
            let isPlain =
                byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
                || byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                || byte >= UInt8(ascii: "-") && byte <= UInt8(ascii: "9")
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.utf8.count == 1 ? "0" + digits : digits)
            }
        }
        return text
    }
}

/// One file of a plugin, read.
final class PluginFile {
    let path: String
    let text: [UInt8]
    let lines: LineMap
    let types: TypeFinder

    init(path: String, text: [UInt8]) {
        self.path = path
        self.text = text
        lines = LineMap(text)
        types = TypeFinder(LuaParser.file(text))
    }
}

/// A plugin whose file is open, with its other files.
struct OpenPlugin {
    let source: PluginSource
    /// In the order of the source.
    let files: [PluginFile]
    let declared: DeclaredNames

    /// The file at `path`.
    func file(at path: String) -> PluginFile? { files.first { $0.path == path } }

    /// Where handlers change locals of one of its files.
    func changes(in file: PluginFile) -> [Mistake] {
        zip(files, ChangeFinder.changes(in: files.map(\.types), of: source))
            .first { $0.0 === file }?.1 ?? []
    }

    /// The file that `require` finds.
    func module(_ name: String) -> PluginFile? {
        guard let module = source.modules[name] else { return nil }
        return files.first { $0.path.hasSuffix("/" + module.name) }
    }
}

/// All open files.
final class OpenFiles {
    private(set) var all: [String: OpenFile] = [:]
    /// What was read of files, as long as they stay as they are.
    private var read: [String: PluginFile] = [:]
    private static let readMax = 200
    private static let levelsMax = 8

    /// The largest file that a server loads.
    var limit: Int { PluginLibrary(folders: []).fileMax }

    subscript(uri: String) -> OpenFile? {
        get { all[uri] }
        set { all[uri] = newValue }
    }

    /// The folder of the plugin that a file belongs to; nil: it is a plugin by itself.
    func folder(of path: String) -> String? {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        for _ in 0..<Self.levelsMax where parts.count > 1 {
            let folder = parts.joined(separator: "/")
            if Files.exists("\(folder)/init.lua") || isOpen("\(folder)/init.lua") { return folder }
            parts.removeLast()
        }
        return nil
    }

    private func isOpen(_ path: String) -> Bool { all.values.contains { $0.path == path } }

    /// The plugin that an open file belongs to.
    func plugin(of file: OpenFile) -> OpenPlugin {
        let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
        let own = name.hasSuffix(".lua") ? String(name.dropLast(4)) : name
        guard let folder = folder(of: file.path), let source = source(in: folder) else {
            let main = SourceFile(name: name, text: file.text)
            return plugin(PluginSource(name: own, main: main), [file.path])
        }
        let above = folder.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let paths = source.files.map { above.joined(separator: "/") + "/" + $0.name }
        return plugin(source, paths)
    }

    private func plugin(_ source: PluginSource, _ paths: [String]) -> OpenPlugin {
        let files = zip(source.files, paths).map { reading($0.text, at: $1) }
        return OpenPlugin(
            source: source, files: files, declared: DeclaredNames(files.map(\.types), of: source))
    }

    /// The files in a folder, those that are open as the editor shows them.
    private func source(in folder: String) -> PluginSource? {
        let parts = folder.split(separator: "/", omittingEmptySubsequences: false)
        let above = parts.dropLast().joined(separator: "/")
        let library = PluginLibrary(folders: [above])
        guard let name = parts.last, let found = library.find(String(name)),
            found.main.name == "\(name)/init.lua"
        else { return nil }
        func shown(_ file: SourceFile) -> SourceFile {
            let open = all.values.first { $0.path == "\(above)/\(file.name)" }
            return open.map { SourceFile(name: file.name, text: $0.text) } ?? file
        }
        var modules = found.modules.mapValues(shown)
        // Those that were never saved belong to it as well.
        for open in all.values where open.path.hasPrefix(folder + "/") {
            let rest = String(open.path.dropFirst(folder.count + 1))
            guard rest.hasSuffix(".lua"), rest != "init.lua" else { continue }
            let module = rest.dropLast(4).split(separator: "/").joined(separator: ".")
            modules[module] = SourceFile(name: "\(name)/\(rest)", text: open.text)
        }
        return PluginSource(name: found.name, main: shown(found.main), modules: modules)
    }

    private func reading(_ text: [UInt8], at path: String) -> PluginFile {
        if let known = read[path], known.text == text { return known }
        let file = PluginFile(path: path, text: text)
        if read.count >= Self.readMax { read = [:] }
        read[path] = file
        return file
    }
}
