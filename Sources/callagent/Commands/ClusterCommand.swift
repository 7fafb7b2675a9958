// `callagent cluster`: several machines with one database.

import AgentServer
import ClusterCore
import ClusterStorage
import Configuration
import StoreContract

extension Command {
    static let cluster = Command(
        "cluster", "several machines: init, import, hand-over, forget",
        operands: .any("ACTION"),
        options: [Option("--json", nil, "one JSON object")] + Installation.options
    ) { (arguments) throws(CommandError) in
        do throws(AgentError) {
            let act = try act(arguments.operands)
            let tool = try ClusterTool(try Installation.configurationWithSecrets(arguments))
            switch act {
            case .show:
                let state = try tool.state()
                if arguments.has("--json") { Screen.say(state.json) } else { show(state) }
                let isServed = state.hasOwner && state.ownersTrouble == nil
                return isServed ? ExitCode.success : ExitCode.failure
            case .make: say(try tool.prepare())
            case .bringIn(let path):
                for line in try tool.importAll(from: path, { _ in }) { say(line) }
            case .forget(let node): say(try tool.forget(node))
            case .discard: say(try tool.discardImport())
            case .handOver(let target):
                say("\(try tool.handOver(to: target)) owns")
            case .unknown(let text): throw .refused(text)
            }
            return ExitCode.success
        } catch {
            throw .failure("\(error)")
        }
    }

    private enum Act {
        case show
        case make
        case bringIn(String)
        case discard
        case forget(String)
        case handOver(String)
        case unknown(String)
    }

    private static func act(_ words: [String]) throws(AgentError) -> Act {
        switch (words.first, words.count) {
        case (nil, _): .show
        case ("init", 1): .make
        case ("import", 2): .bringIn(words[1])
        case ("discard", 1): .discard
        case ("forget", 2): .forget(words[1])
        case ("hand-over", 1): .handOver("")
        case ("hand-over", 2): .handOver(words[1])
        default:
            .unknown(
                "'\(words.joined(separator: " "))' is none of init, import DIR, discard, "
                    + "hand-over, forget NODE")
        }
    }

    /// Names and troubles come from other nodes, by way of the database.
    private static func say(_ line: String) { Screen.say(Screen.plain(line)) }

    private static func show(_ state: ClusterState) {
        let trouble = state.ownersTrouble.map { " and takes no calls: \($0)" } ?? ""
        say(state.hasOwner ? "\(state.term) owns\(trouble)" : "no living node owns")
        if let path = state.importing {
            say(
                "the import of \(path) is under way or did not end, and no node owns before: "
                    + "import again, or callagent cluster discard")
        }
        for node in state.nodes {
            let life = node.isAlive ? "alive" : node.isLost ? "lost" : "ended"
            let note = node.note
            say(
                "\(note.name): \(state.role(of: node)), \(life), \(note.process), "
                    + "version \(note.program)"
                    + (note.generation.isEmpty ? "" : ", generation \(note.generation)"))
            if node.isAlive, !note.links.isEmpty {
                say("  links: \(note.links.joined(separator: ", "))")
            }
            let seers = state.view.seers(of: note.name)
            if node.isAlive, !note.link.isEmpty, state.nodes.count > 1 {
                say("  seen by: \(seers.isEmpty ? "nobody" : seers.joined(separator: ", "))")
            }
            // Of the owner it stands in the first line.
            if node.note.name != state.term.owner || !state.hasOwner, let why = state.whyNot(node) {
                say("  may not own: \(why)")
            }
            let names = state.differing(node)
            guard node.isAlive, !names.isEmpty else { continue }
            say("  other settings than the owner: \(names.joined(separator: ", "))")
        }
        say(
            state.isSynchronous
                ? "database: a synchronous standby has every commit"
                : "database: no synchronous standby: what was acknowledged may be lost with it")
    }
}
