// The servers that the tests talk to: a Python program with all push services, and nghttpd.

import Foundation
import JSON
import TestSupport
import Testing

@testable import Outbound

/// Where things lie in this checkout.
enum Place {
    static let root: URL = {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root
    }()
    static let doubles = root.appending(path: "Tests/Doubles")
    static let work = root.appending(path: ".build/doubles")
}

/// A running program with its standard input and output.
final class Program: @unchecked Sendable {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread: [UInt8] = []

    init(_ path: String, _ arguments: [String]) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        var environment = ProcessInfo.processInfo.environment
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        process.environment = environment
        try process.run()
    }

    /// All of them end when their standard input does, so also when the test run is killed. Signals
    /// would not do: a test's thread blocks them, and so does what it starts.
    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    func write(_ line: [UInt8]) throws {
        try input.fileHandleForWriting.write(contentsOf: line + [UInt8(ascii: "\n")])
    }

    func readLine() throws -> [UInt8] {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeFirst(end + 1) }
                return Array(unread[..<end])
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw ProgramEnded(status: process.isRunning ? 0 : 1) }
            unread += more
        }
    }

    /// Runs a program to its end; its output without the last line end.
    static func run(_ path: String, _ arguments: [String]) throws -> (Int32, String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let line = String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines)
        return (process.terminationStatus, line)
    }

    struct ProgramEnded: Error {
        let status: Int
    }
}

/// Python with the libraries of Tests/Doubles/requirements.txt.
enum Python {
    /// False only when the machine has none: then the tests that need it say so.
    static let isThere = ["/usr/bin/python3", "/usr/local/bin/python3"].contains {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static let path = Result {
        let script = Place.doubles.appending(path: "prepare.sh").path
        let (status, line) = try Program.run("/bin/sh", [script, Place.work.path])
        guard status == 0 else { throw Program.ProgramEnded(status: Int(status)) }
        return line
    }

    /// Runs a script given as text; what it prints.
    static func run(_ script: String, _ arguments: [String] = []) throws -> String {
        let (status, output) = try Program.run(try path.get(), ["-c", script] + arguments)
        guard status == 0 else { throw Program.ProgramEnded(status: Int(status)) }
        return output
    }
}

/// Tests/Doubles/push_double.py.
final class PushDouble: Sendable {
    private let program: Program
    private let folder = TemporaryFolder()
    let hello: JSONValue

    init() throws {
        let script = Place.doubles.appending(path: "push_double.py").path
        program = try Program(try Python.path.get(), [script, folder.path])
        hello = try JSONValue(parsing: try program.readLine())
    }

    /// One command and its reply.
    @discardableResult
    func tell(_ what: String, _ command: JSONObject = [:]) throws -> JSONValue {
        var command = command
        command["do"] = .string(what)
        try program.write(JSONValue.object(command).bytes)
        return try JSONValue(parsing: try program.readLine(), limits: JSONLimits(bytes: 64 << 20))
    }

    /// Answers requests whose token begins with `prefix` by `replies`.
    func plan(_ prefix: String, _ replies: JSONValue...) throws {
        try tell("plan", ["prefix": .string(prefix), "replies": .array(replies)])
    }

    /// What came since the last time.
    func seen() throws -> [JSONValue] { try tell("seen")["seen"]?.array ?? [] }

    /// `https://localhost:PORT` followed by `path`.
    func url(_ path: String, port: String = "port") throws -> HTTPURL {
        let number = try #require(hello[port]?.integer)
        return try HTTPURL("https://localhost:\(number)\(path)")
    }

    /// Engine options that trust the double's certificates.
    var options: HTTPEngine.Options {
        var options = HTTPEngine.Options()
        options.trustFile = hello["trust"]?.string
        return options
    }

    func text(_ names: String...) throws -> String {
        try #require(names.reduce(hello as JSONValue?) { $0?[$1] }?.string)
    }
}

extension HTTPEngine {
    /// Sends requests and waits for all of their ends, in the order of the requests.
    func run(
        _ requests: [OutboundRequest], atMost seconds: Int = 60
    ) throws -> [Result<OutboundResponse, OutboundFailure>] {
        let tickets = try requests.map { try submit($0) }
        var ends: [HTTPTicket: Result<OutboundResponse, OutboundFailure>] = [:]
        let end = ContinuousClock.now + .seconds(seconds)
        while ends.count < tickets.count, ContinuousClock.now < end {
            for completion in perform(forAtMost: 100) {
                ends[completion.ticket] = completion.result
            }
        }
        return tickets.map { ends[$0] ?? .failure(OutboundFailure(.closed, "the test gave up")) }
    }

    func run(_ request: OutboundRequest) throws -> Result<OutboundResponse, OutboundFailure> {
        try run([request])[0]
    }
}

extension OutboundRequest {
    /// A request that may go to this machine.
    static func local(_ method: String, _ url: HTTPURL, body: [UInt8] = []) -> OutboundRequest {
        var request = OutboundRequest(method, url, body: body)
        request.addresses = .anywhere
        return request
    }
}

extension Result where Success == OutboundResponse, Failure == OutboundFailure {
    var status: Int? { (try? get())?.status }

    var failure: OutboundFailure? {
        if case .failure(let failure) = self { failure } else { nil }
    }

    var json: JSONValue? { (try? get()).flatMap { try? JSONValue(parsing: $0.body) } }
}
