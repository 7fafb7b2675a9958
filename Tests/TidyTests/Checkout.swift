// The files of a checkout as plain values, read from the disk or made up by a test.

import Foundation

/// One text file, with its path relative to the top of the checkout.
struct SourceFile: Sendable {
    enum Language: Sendable {
        case swift, c, python, shell, lua, markdown, other
    }

    let path: String
    let text: String
    let lines: [Substring]
    let language: Language
    /// The tokens and comments of Swift and C; empty for every other language.
    let code: CodeText

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
        language = Self.language(of: path)
        switch language {
        case .swift: code = CodeText(text, characterLiterals: false)
        case .c: code = CodeText(text, characterLiterals: true)
        case .python, .shell, .lua, .markdown, .other: code = CodeText("", characterLiterals: false)
        }
    }

    /// The folders and the name, from the top.
    var parts: [Substring] { path.split(separator: "/") }

    /// `NAME` of `Sources/NAME/…`; nil for a file elsewhere.
    var target: String? { parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil }

    /// `NAME` of `Tests/NAME/…`; nil for a file elsewhere.
    var testFolder: String? { parts.count > 2 && parts[0] == "Tests" ? String(parts[1]) : nil }

    /// Whether the file says what a package is made of.
    var isManifest: Bool { parts.last == "Package.swift" }

    /// Whether the file belongs to a program: the tool, an example, or a folder of Tests that holds
    /// no suite.
    var isExecutable: Bool {
        if let testFolder { return !testFolder.hasSuffix("Tests") }
        return target == "callagent" || parts.first == "examples" || isManifest
    }

    private static func language(of path: String) -> Language {
        switch path.split(separator: ".").last {
        case "swift": .swift
        case "c", "h": .c
        case "py": .python
        case "sh": .shell
        case "lua": .lua
        case "md": .markdown
        default: path == ".ci/run" ? .shell : .other
        }
    }
}

/// All files of a checkout, in path order.
struct Checkout: Sendable {
    let files: [SourceFile]

    /// A made-up checkout, for planting a violation.
    init(_ files: [SourceFile]) {
        self.files = files.sorted { $0.path < $1.path }
    }

    /// The checkout that this very file belongs to.
    static let real: Checkout = {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return Checkout(readFiles(below: root))
    }()

    /// Names at the top: files and folders.
    var topLevel: [String] {
        var seen: Set<String> = []
        return files.map { String($0.parts[0]) }.filter { seen.insert($0).inserted }
    }

    /// Whether a path names a file, or a folder that holds one.
    func holds(_ path: String) -> Bool {
        files.contains { $0.path == path || $0.path.hasPrefix(path + "/") }
    }

    func files(in language: SourceFile.Language...) -> [SourceFile] {
        files.filter { language.contains($0.language) }
    }

    /// What a build or a run leaves behind is no part of the checkout.
    private static func isLeftBehind(_ name: String) -> Bool {
        [".build", ".git", "__pycache__", ".pytest_cache"].contains(name)
            || name.hasSuffix(".state") || name.hasSuffix(".o")
    }

    private static func readFiles(below root: URL) -> [SourceFile] {
        let base = root.path(percentEncoded: false)
        let prefix = base.hasSuffix("/") ? base : base + "/"
        var found: [SourceFile] = []
        var folders = [root]
        while let folder = folders.popLast() {
            let entries = try? FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: [.isDirectoryKey])
            for entry in entries ?? [] where !isLeftBehind(entry.lastPathComponent) {
                if (try? entry.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true {
                    folders.append(entry)
                } else {
                    let path = String(entry.path(percentEncoded: false).dropFirst(prefix.count))
                    let text = try? String(contentsOf: entry, encoding: .utf8)
                    found.append(SourceFile(path, text ?? ""))
                }
            }
        }
        return found
    }
}
