// The files of one plugin.

import Configuration
import Lua

/// What a plugin is made of.
public struct PluginSource: Sendable, Equatable {
    /// As the operator lists it.
    public let name: String
    /// The file that is run.
    public let main: SourceFile
    /// What `require` finds, by module name.
    public let modules: [String: SourceFile]

    /// Every file, the main one first.
    package var files: [SourceFile] { [main] + modules.sorted { $0.key < $1.key }.map(\.value) }

    /// The plugin `name` in the file `main`.
    public init(name: String, main: SourceFile, modules: [String: SourceFile] = [:]) {
        self.name = name
        self.main = main
        self.modules = modules
    }
}

extension PluginSource {
    /// The capabilities that the plugin says it needs.
    public var needs: [String] {
        var setting = PluginSetting()
        setting.standsIn = true
        let state = try? PluginState(source: self, setting: setting, services: Services(seed: 0))
        return state?.manifest.needs ?? []
    }
}
