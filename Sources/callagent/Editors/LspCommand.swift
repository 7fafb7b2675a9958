// `callagent lsp`: what editors ask about plugins, on the standard streams.

import AgentServer
import Configuration
import Glibc
import LanguageServer
import Lua
import PolicyHost
import WebProtocols

extension Command {
    static let lsp = Command(
        "lsp", "serve editors: mistakes, completion, lenses",
        options: [
            Option("--max-message", "SIZE", "bytes of the longest message (64MB)"),
            Option("--stdio", nil, "use the standard streams, as it always does"),
        ]
    ) { (arguments) throws(CommandError) in
        let limit = try arguments.size("--max-message") ?? 64 << 20
        do throws(ScriptProblem) {
            let server = try LanguageServer { source, name, path in
                let file = Installation.file(of: path)
                let test = PluginTests.press(name, of: source, file: file)
                return PressedTest(hasPassed: test.hasPassed, text: test.text)
            }
            return EditorLoop(server: server, limit: limit).run()
        } catch {
            throw .failure(error.description)
        }
    }
}

/// Reads messages from standard input until the editor is gone.
private final class EditorLoop {
    private let server: LanguageServer
    private let limit: Int
    private let stream: EditorStream
    /// Edits that never end must not keep the editor from being told anything.
    private static let patience: Int64 = 300
    private var unsettledSince: Int64?

    init(server: LanguageServer, limit: Int) {
        self.server = server
        self.limit = limit
        stream = EditorStream(limit: limit)
    }

    func run() -> Int32 {
        while true {
            // An editor that is gone without a word has ended as well.
            guard let frames = stream.read() else { return ExitCode.success }
            for frame in frames {
                switch frame {
                case .message(let body): send(server.take(body))
                case .tooLarge(let bytes): send(server.leftOut(bytes: bytes, limit: limit))
                case .broken(let why):
                    Screen.complain("callagent lsp: \(why)")
                    return ExitCode.failure
                }
                if let code = server.exitCode { return code }
            }
            settle()
        }
    }

    /// Tells what is wrong once nothing more is there to read, or it has taken too long.
    private func settle() {
        guard server.isUnsettled else { return }
        let now = Self.milliseconds()
        let since = unsettledSince ?? now
        unsettledSince = since
        guard !stream.hasMore || now - since >= Self.patience else { return }
        unsettledSince = nil
        send(server.settle())
    }

    private static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    private func send(_ messages: [[UInt8]]) {
        for message in messages { Screen.write(message) }
    }
}
