// The command `run`: the server itself.

import AgentServer
import EventLoop
import Glibc

extension Command {
    static let run = Command(
        "run", "serve calls until SIGTERM; SIGHUP reloads", operands: .optional("FILE"),
        options: [
            Option("--from-disk", nil, "take the files on disk, also after a crash or a rollback")
        ]
    ) { (arguments) throws(CommandError) in
        // Also writes the lines of a start that fails.
        defer { Log.flush() }
        do throws(AgentError) {
            // Also while it starts: its lines may go to a pipe whose reader is gone.
            signal(SIGPIPE, SIG_IGN)
            DescriptorLimit.raise()
            try holdSignals()
            let file = Installation.file(arguments.operands.first)
            let takesFiles = arguments.has("--from-disk")
            let member: ClusterMember?
            let standing = try ClusterMember.standBy(
                file: file, takingFilesOnDisk: takesFiles, log: { Log($0) })
            switch standing {
            case .alone: member = nil
            case .owns(let one): member = one
            case .stopped: return ExitCode.success
            }
            switch try serve(file, takesFiles, member) {
            case .ends: return ExitCode.success
            case .replaced(let why): throw AgentError.refused(why)
            case .standsBy: return beginAnew(arguments)
            }
        } catch {
            throw .failure("\(error)")
        }
    }

    /// An order to end waits if it comes before the server watches, or while a node changes
    /// its part.
    private static func holdSignals() throws(AgentError) {
        do throws(EventLoopError) {
            try SignalWatcher.holdBack()
        } catch {
            throw .system(error)
        }
    }

    private static func serve(
        _ file: String?, _ takesFiles: Bool, _ member: ClusterMember?
    ) throws(AgentError) -> Aftermath {
        do throws(AgentError) {
            let agent = try Agent(
                file: file, takingFilesOnDisk: takesFiles, as: member, log: { Log($0) })
            try agent.run()
            return agent.aftermath
        } catch {
            // A node that cannot serve holds no other one up.
            member?.leave(to: "")
            guard member != nil, error.isForWaitingNodes else { throw error }
            Screen.complain("callagent: run: \(error); stands by again")
            return .standsBy
        }
    }

    /// Starts the program once more in this process, as a node that stands by: nothing of its
    /// earlier state is left. The files on disk were taken once, if they were to be.
    private static func beginAnew(_ arguments: CommandArguments) -> Int32 {
        Log.flush()
        let words = [CommandLine.arguments[0], "run"] + arguments.operands
        var pointers = words.map { strdup($0) }
        pointers.append(nil)
        execv("/proc/self/exe", pointers)
        Screen.complain("callagent: run: cannot begin anew")
        return ExitCode.failure
    }
}
