// The executable: see `Command.all` for what it can do.

import Glibc

exit(Tool.run(Array(CommandLine.arguments.dropFirst())))
