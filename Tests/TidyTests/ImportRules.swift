// Which target may see which: the table of the architecture.

import Foundation

/// What each target may name directly. It may also import whatever those may, but for the C shims.
private let table: [String: Set<String>] = [
    "CallModel": [],
    "Collections": [],
    "CallCore": ["CallModel", "Collections"],
    "JSON": [],
    "WebProtocols": [],
    "CallWire": ["CallModel", "JSON"],
    "StoreContract": ["CallModel"],
    "AgentCore": ["CallCore", "StoreContract", "CallWire", "WebProtocols"],
    "EventLoop": ["CUV", "COpenSSL"],
    "Storage": ["StoreContract", "Collections", "JSON", "CSQLite"],
    // Reads scripts as text, so it stands beside what runs them and sees nothing of it.
    "LuaSource": [],
    "ClusterCore": ["StoreContract"],
    "ClusterStorage": ["ClusterCore", "Storage", "CPostgres"],
    "Lua": ["CallModel", "JSON", "CLua"],
    "Configuration": ["Lua", "CLua"],
    "PolicyHost": [
        "Collections", "WebProtocols", "Configuration", "LuaSource", "CLua", "COpenSSL",
    ],
    "Decisions": ["PolicyHost"],
    "PolicyTesting": ["PolicyHost", "CallCore", "LuaSource", "CLua"],
    // Reads plugins and runs nothing: whoever starts it brings what runs a test.
    "LanguageServer": ["PolicyHost", "LuaSource"],
    // Knows scripts and nothing of policies: whoever starts it brings what runs them.
    "Debugger": ["WebProtocols", "Lua", "LuaSource", "CLua"],
    "Outbound": ["JSON", "WebProtocols", "CCurl", "COpenSSL"],
    "AgentServer": [
        "AgentCore", "EventLoop", "Storage", "ClusterStorage", "Decisions", "PolicyTesting",
        "Debugger", "Outbound", "CWebTables",
    ],
    "CallSimulator": ["CallCore", "AgentCore", "CallWire", "JSON", "Decisions", "Storage"],
    "CallClientCore": ["CallWire", "WebProtocols"],
    "CallClient": ["CallClientCore", "EventLoop"],
    "callagent": [
        "AgentServer", "AgentCore", "CallSimulator", "CallClient", "PolicyTesting",
        "LanguageServer", "Debugger",
    ],
]

private let shims: Set<String> = [
    "CLua", "CSQLite", "CUV", "COpenSSL", "CCurl", "CPostgres", "CJemalloc",
    "CWebFiles", "CWebTables",
]

/// Folders of Sources that browsers read and no compiler does.
private let scripts: Set<String> = ["CallClientJS"]

/// The core, wire and server rings, and the client without its socket: no module of the system at
/// all.
let pureTargets: Set<String> = [
    "CallModel", "Collections", "CallCore", "JSON", "WebProtocols", "CallWire", "AgentCore",
    "StoreContract", "ClusterCore", "LuaSource", "CallClientCore",
]

/// What the toolchain offers and the outer rings may use.
private let systemModules: Set<String> = ["Glibc", "Synchronization"]

/// Uses of the toolchain's modules beyond those, by file, each with the reason.
private let granted: [String: [String: String]] = [:]

let importRules: [Rule] = [
    Rule(
        "a target imports only what its row allows",
        planted: [
            SourceFile("Sources/CallCore/a.swift", "import Foundation"),
            SourceFile("Sources/CallCore/a.swift", "import CallWire"),
            SourceFile("Sources/JSON/a.swift", "public import struct Glibc.timespec"),
            SourceFile("Sources/Storage/a.swift", "@preconcurrency import Dispatch"),
            SourceFile("Sources/AgentServer/a.swift", "import CSQLite"),
            SourceFile("Sources/PolicyHost/a.swift", "internal import Storage"),
        ],
        clean: [
            SourceFile("Sources/CallCore/a.swift", "// import Foundation\nlet a = \"import B\""),
            SourceFile("Sources/CallClient/a.swift", "import CallModel\nimport Glibc"),
            SourceFile("Sources/callagent/a.swift", "import CallModel\nimport Synchronization"),
            SourceFile("Tests/JSONTests/a.swift", "import Foundation\n@testable import JSON"),
        ]
    ) { file in
        guard let target = file.target, file.language == .swift, table[target] != nil
        else { return [] }
        let allowed = reachable(from: target)
        return imports(of: file.code).compactMap { module, line in
            let isGranted = granted[file.path]?[module] != nil
            guard !isGranted, !allowed.contains(module) else { return nil }
            return Finding(file, line, "\(target) may not import \(module)")
        }
    },
    Rule(
        "every target of Sources has a row",
        planted: [SourceFile("Sources/Sundries/a.swift", "")],
        clean: [
            SourceFile("Sources/Storage/a.swift", ""), SourceFile("Sources/CUV/a.c", ""),
            SourceFile("Sources/CallClientJS/a.js", ""),
        ]
    ) { file in
        guard let target = file.target, table[target] == nil, !shims.contains(target),
            !scripts.contains(target)
        else { return [] }
        return [Finding(file, nil, "\(target) is not in the architecture's table")]
    },
    Rule(
        "the page Architecture names every target and thread",
        planted: [
            Checkout([
                SourceFile(architecturePage, "`CallCore`"), SourceFile("Sources/Lua/a.swift", ""),
            ]),
            Checkout([
                SourceFile(architecturePage, "`Storage`\n\n| store | writes |"),
                SourceFile("Sources/Storage/a.swift", "try WorkerThread(name: \"own files\") {}"),
            ]),
        ],
        clean: [
            Checkout([
                SourceFile(architecturePage, "CUV `Storage`\n\n| log, own files | writes |"),
                SourceFile("Sources/Storage/a.swift", "try WorkerThread(name: \"own files\") {}"),
                SourceFile("Sources/CUV/a.c", ""),
            ])
        ],
        checkout: { checkout in
            guard let page = checkout.files.first(where: { $0.path == architecturePage }) else {
                return []
            }
            let words = Set(page.text.split { !$0.isLetter && !$0.isNumber })
            let targets = Set(checkout.files(in: .swift, .c).compactMap(\.target))
            let missing = targets.filter { !words.contains($0[...]) }
            let threads = namesOfThreads(in: page)
            let unknown = checkout.files(in: .swift).filter { $0.target != nil }.flatMap {
                $0.text.matches(of: /WorkerThread\(name: "([^"]+)"/).map { String($0.1) }
            }.filter { !threads.contains($0) }
            return (missing.sorted() + unknown).map { Finding(page, nil, "nothing of '\($0)'") }
        }),
]

private let architecturePage = "Sources/AgentServer/AgentServer.docc/Architecture.md"

/// The first cells of a page's tables, which may name several each.
private func namesOfThreads(in page: SourceFile) -> Set<String> {
    let cells = page.lines.filter { $0.hasPrefix("| ") }.compactMap {
        $0.split(separator: "|").first
    }
    let names = cells.flatMap { $0.split(separator: ",") }
    return Set(names.map { $0.trimmingCharacters(in: .whitespaces) })
}

private func reachable(from target: String) -> Set<String> {
    let direct = table[target] ?? []
    var all = direct
    for name in direct where !shims.contains(name) {
        all.formUnion(reachable(from: name).subtracting(shims).subtracting(systemModules))
    }
    if !pureTargets.contains(target) { all.formUnion(systemModules) }
    return all
}

/// The modules that a file imports, with their lines: `import M`, `import struct M.T`.
private func imports(of code: CodeText) -> [(module: String, line: Int)] {
    let kinds: Set<Substring> = [
        "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
    ]
    return code.tokens.indices.compactMap { index in
        guard code.tokens[index].text == "import", index + 1 < code.tokens.count else { return nil }
        var name = index + 1
        if kinds.contains(code.tokens[name].text), name + 1 < code.tokens.count { name += 1 }
        return (String(code.tokens[name].text), code.tokens[index].line)
    }
}
