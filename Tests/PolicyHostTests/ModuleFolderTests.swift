// The files of a plugin that is a folder, where links lead back or elsewhere.

import Configuration
import Glibc
import TestSupport
import Testing

@testable import PolicyHost

/// What a plugin's folder may lead to: links go anywhere, also back.
@Suite struct ModuleFolderTests {
    private let folder = TemporaryFolder()

    init() {
        mkdir("\(folder.path)/bot", 0o755)
        folder.write("on.invite(function(call) end)", to: "bot/init.lua")
    }

    private func link(_ target: String, _ name: String) {
        #expect(symlink(target, "\(folder.path)/\(name)") == 0)
    }

    private func trouble(_ name: String = "bot") -> String {
        var configuration = Configuration()
        configuration.plugins = [.init(name: name)]
        do {
            _ = try PluginLibrary(folders: [folder.path]).plan(for: configuration)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func modulesAreFoundByTheirFolders() {
        mkdir("\(folder.path)/bot/a", 0o755)
        folder.write("return 1", to: "bot/a/b.lua")
        folder.write("return 2", to: "bot/c.lua")
        #expect(trouble() == "")
        let found = ModuleFolder("\(folder.path)/bot")
        #expect(found.files.map(\.module) == ["a.b", "c"])
        #expect(found.folders == ["\(folder.path)/bot", "\(folder.path)/bot/a"])
        let source = PluginLibrary(folders: [folder.path]).find("bot")
        #expect(source?.modules.keys.sorted() == ["a.b", "c"])
    }

    @Test func linksThatLeadBackAreNamed() {
        // Of two of them there are more paths than anybody can visit.
        link(".", "bot/a")
        link("..", "bot/b")
        #expect(trouble().contains("bot/a/a/a/a/a/a/a/a: a plugin's folders lie at most 8 deep"))
    }

    @Test func aFolderWithoutEndIsNotReadToItsEnd() {
        for number in 0...ModuleFolder.entriesMax { folder.write("", to: "bot/m\(number).lua") }
        #expect(trouble().contains("a plugin has at most 1000 files and folders"))
    }

    @Test func allFilesTogetherHaveASize() {
        let long = String(repeating: " ", count: 1 << 20)
        for number in 0...16 { folder.write(long, to: "bot/m\(number).lua") }
        #expect(trouble().contains("bot has more than 16777216 bytes of files"))
    }

    @Test func aLinkThatLeadsNowhereIsNamed() {
        link("nowhere", "lost.lua")
        #expect(trouble("lost").contains("lost.lua: No such file or directory"))
        link("again.lua", "again.lua")
        #expect(trouble("again").contains("again.lua: Too many levels of symbolic links"))
    }
}
