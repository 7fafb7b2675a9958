// The output of the tool: whole lines, written at once.

import AgentServer
import Glibc
import JSON

enum Screen {
    /// A line of output.
    static func say(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// JSON as a line of output. Texts of users in it cannot control a terminal.
    static func say(_ value: JSONValue) {
        write(value.bytes.escapingUnshown + [UInt8(ascii: "\n")])
    }

    /// A line of error output.
    static func complain(_ line: String) { write(line, to: STDERR_FILENO) }

    /// Output of several lines.
    static func show(_ text: String) {
        write(text.hasSuffix("\n") ? String(text.dropLast()) : text, to: STDOUT_FILENO)
    }

    /// Output that is no text for people.
    static func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0, to: STDOUT_FILENO) }
    }

    private static func write(_ line: String, to descriptor: Int32) {
        var text = line + "\n"
        text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            guard let most = room(for: rest.count, in: descriptor) else { return }
            let count = Glibc.write(descriptor, rest.baseAddress, most)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return failed(descriptor) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// How much may be written at once. Error output waits a second for a reader: the process must
    /// end even if nobody reads.
    private static func room(for count: Int, in descriptor: Int32) -> Int? {
        guard descriptor == STDERR_FILENO else { return count }
        var one = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let ready = poll(&one, 1, 1_000)
        // A pipe that is ready takes so much without waiting.
        return ready == 0 ? nil : min(count, Int(PIPE_BUF))
    }

    /// The output cannot be written: to go on would say that it was. A reader that has closed, as
    /// `head` does, wanted no more.
    private static func failed(_ descriptor: Int32) {
        let isOver = errno == EPIPE
        guard descriptor == STDOUT_FILENO else { return }
        if !isOver { complain("callagent: cannot write: \(String(cString: strerror(errno)))") }
        exit(isOver ? ExitCode.success : ExitCode.failure)
    }

    /// `text` on one line: text from others must not break the line or control the terminal.
    static func plain(_ text: String) -> String { text.onOneLine }

    /// The same of a text of several lines, such as what is wrong in a file that others wrote.
    static func plainLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).onOneLine }.joined(separator: "\n")
    }
}
