// The executable: see `Command.all` for what it can do.

import Glibc

StandardStreams.open()
exit(Tool.run(Array(CommandLine.arguments.dropFirst())))
