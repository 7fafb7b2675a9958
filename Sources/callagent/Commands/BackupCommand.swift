// `callagent backup`: a copy of the store that a server can start with.

import AgentServer
import Storage
import StoreContract

extension Command {
    static let backup = Command(
        "backup", "copy the store into a new directory, also while it runs",
        operands: .one("DIR"), options: Installation.options
    ) { (arguments) throws(CommandError) in
        let target = arguments.operands.first ?? ""
        let place = AgentOptions.place(try Installation.configuration(arguments))
        guard place != ":memory:" else {
            throw .failure("state_dir is \":memory:\": nothing is kept, so there is no copy")
        }
        do throws(StoreError) {
            let bytes = try StoreBackup.make(of: place, in: target)
            Screen.say(
                Screen.plain(
                    "\(target): \(bytes) bytes; to restore, start with it as state_dir (a copy "
                        + "of it, so that it stays)"))
            return ExitCode.success
        } catch {
            throw .failure("\(error)")
        }
    }
}
