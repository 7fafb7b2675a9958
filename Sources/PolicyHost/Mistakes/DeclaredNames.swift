// What the files of a plugin declare for all of them: timers, hosts, modules.

import Configuration
import Lua
import LuaSource

/// What one file of a plugin may name because another one declares it.
package struct DeclaredNames {
    /// Timers; nil: some names are computed.
    let timers: Set<String>?
    /// Hosts that the plugin says it needs, or was granted; nil: they are computed.
    let hosts: Set<String>?
    /// What `require` finds.
    let modules: Set<String>

    /// `granted`: what the operator grants; nil: that is not known.
    package init(_ files: [TypeFinder], of source: PluginSource, granted: Set<String>? = nil) {
        timers = TimerNames.declared(in: files)
        let needed = Self.hosts(in: files)
        // One that says of no host that it needs it may be granted some nevertheless.
        let isTold = granted != nil || needed?.isEmpty == false
        hosts = isTold ? needed?.union((granted ?? []).compactMap(Self.host)) : nil
        modules = Set(source.modules.keys)
    }

    /// The host of `http:HOST`; nil: it is another capability.
    static func host(_ need: String) -> String? {
        need.hasPrefix("http:") ? String(need.dropFirst(5)) : nil
    }

    private static func hosts(in files: [TypeFinder]) -> Set<String>? {
        guard files.allSatisfy({ $0.file.isWhole && $0.file.troubles.isEmpty }) else { return nil }
        var hosts: Set<String> = []
        for expression in files.flatMap(\.nodes.expressions) {
            guard case .call(let called, let arguments) = expression.kind,
                case .global("plugin") = called.kind
            else { continue }
            guard let needs = needs(in: arguments.first) else { return nil }
            hosts.formUnion(needs.compactMap(host))
        }
        return hosts
    }

    /// What the table of `plugin` says that it needs; nil: that is computed.
    private static func needs(in manifest: LuaExpression?) -> [String]? {
        guard case .table(let fields)? = manifest?.kind,
            fields.allSatisfy({ if case .name = $0.key { true } else { false } })
        else { return nil }
        guard let needs = manifest?.field("needs") else { return [] }
        guard case .table(let list) = needs.kind else { return nil }
        let texts = list.compactMap {
            if case .text(let text?) = $0.value.kind { text } else { nil }
        }
        return texts.count == list.count ? texts : nil
    }
}
