// The executable: see `Command.all` for what it can do.

import Glibc

StandardStreams.open()
let code = Tool.run(Array(CommandLine.arguments.dropFirst()))
fflush(nil)
// Not `exit`: a thread may still prepare pages or write a line, and libraries would take away at an
// exit what it uses.
_exit(code)
