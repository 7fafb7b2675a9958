// What every bundled plugin has: a header, its own tests, and few lines.

private let shortPlugins: Set<String> = ["busy", "auto-accept", "desk-hours"]
private let shortLimit = 59
/// Of what is no test.
private let pluginLimit = 79

private let plugin = "-- plugins/busy.lua: refuses a second call\n"
private let ownTest = "test(\"a second call is refused\", function(t) end)\n"

let pluginRules: [Rule] = [
    Rule(
        "a plugin says what it does and tests itself",
        planted: [
            SourceFile("plugins/a.lua", plugin),
            SourceFile("plugins/a.lua", ownTest),
            SourceFile("plugins/a/init.lua", plugin + "-- " + ownTest),
        ],
        clean: [
            SourceFile("plugins/a.lua", plugin + ownTest),
            SourceFile("plugins/a/init.lua", plugin + "\n" + ownTest),
            SourceFile("plugins/a/tables.lua", "-- Only a part of the plugin.\n"),
            SourceFile("plugins/.luarc.json", "{}"),
        ]
    ) { file in
        guard pluginName(file) != nil else { return [] }
        let hasHeader = file.lines.first?.hasPrefix("--") == true
        let hasTest = file.lines.contains { $0.hasPrefix("test(") || $0.hasPrefix("test \"") }
        return (hasHeader ? [] : [Finding(file, 1, "no header comment")])
            + (hasTest ? [] : [Finding(file, nil, "no test(…) of its own")])
    },
    Rule(
        "busy, auto-accept and desk-hours stay under 60 lines",
        planted: [SourceFile("plugins/busy.lua", String(repeating: "--\n", count: 60))],
        clean: [
            SourceFile("plugins/busy.lua", String(repeating: "--\n", count: 59)),
            SourceFile("plugins/other.lua", String(repeating: "--\n", count: 60)),
        ]
    ) { file in
        guard let name = pluginName(file), shortPlugins.contains(name),
            file.lines.count > shortLimit
        else { return [] }
        return [Finding(file, nil, "\(file.lines.count) lines: a first plugin has under 60")]
    },
    Rule(
        "a plugin has under 80 lines before its tests",
        planted: [SourceFile("plugins/a.lua", String(repeating: "--\n", count: 80) + ownTest)],
        clean: [
            SourceFile(
                "plugins/a.lua",
                String(repeating: "--\n", count: 79) + String(repeating: ownTest, count: 50)),
            SourceFile("plugins/a/tables.lua", String(repeating: "--\n", count: 80)),
        ]
    ) { file in
        guard pluginName(file) != nil,
            let count = file.lines.firstIndex(where: { $0.hasPrefix("test(") }),
            count > pluginLimit
        else { return [] }
        return [Finding(file, nil, "\(count) lines before the tests: under 80 can be read at once")]
    },
]

/// `NAME` of `plugins/NAME.lua` and `plugins/NAME/init.lua`, here and in the examples.
private func pluginName(_ file: SourceFile) -> String? {
    guard file.language == .lua, let folder = file.parts.firstIndex(of: "plugins") else {
        return nil
    }
    let inside = file.parts[(folder + 1)...]
    if inside.count == 1 { return inside.first.map { String($0.dropLast(4)) } }
    return inside.count == 2 && inside.last == "init.lua" ? inside.first.map(String.init) : nil
}
