// Files of lines that are written again in pieces, while others use them and their thread.

import CallModel
import EventLoop
import Glibc
import TestSupport
import Testing

@testable import AgentServer

extension LineFiles {
    /// Writes one of the files again without anything between; how many lines are other ones, nil:
    /// there is no such file.
    func rewriteWhole(_ number: Int, _ change: @escaping LineRewrite.Change) throws -> Int? {
        guard let rewrite = try rewrite(number, change) else { return nil }
        while true {
            if case .done(let changed) = try rewrite.step() { return changed }
        }
    }
}

/// Files of numbered lines, every tenth of which names somebody who is to be forgotten.
private final class Place {
    static let gone = Array("ann".utf8)
    static let instead = Array("deleted:1".utf8)
    private let folder = TemporaryFolder()
    let lines: LineFiles

    init(size: Int = 64 << 20, files: Int = 4) {
        lines = Self.files(folder.path)
        lines.limits = (size, files)
    }

    var names: [String] { folder.names }

    /// What the next process has.
    static func files(_ path: String) -> LineFiles {
        LineFiles(
            path: "\(path)/log", log: Log(level: .error),
            words: .init(cannotWrite: "cannot write", cannotOpen: "cannot open"))
    }

    func again() -> LineFiles { Self.files(folder.path) }

    static func line(_ number: Int, name: String? = nil) -> String {
        let name = name ?? (number % 10 == 0 ? "ann" : "bob")
        return "\(name) \(number) " + String(repeating: "x", count: 1_000)
    }

    func append(_ numbers: Range<Int>) {
        for number in numbers {
            var text = Self.line(number) + "\n"
            text.withUTF8 { #expect(lines.append(UnsafeRawBufferPointer($0)) == $0.count) }
        }
    }

    /// The lines of all files, the oldest first.
    func text() -> [Substring] {
        let paths = (0..<9).reversed().map { folder.path + ($0 == 0 ? "/log" : "/log.\($0)") }
        return paths.flatMap { path -> [Substring] in
            guard let file = fopen(path, "r") else { return [] }
            defer { fclose(file) }
            var text: [UInt8] = []
            var room = [UInt8](repeating: 0, count: 1 << 20)
            while case let count = fread(&room, 1, room.count, file), count > 0 {
                text += room[..<count]
            }
            return String(decoding: text, as: UTF8.self).split(separator: "\n")
        }
    }

    /// The name is another one, the rest stays.
    static let change: LineRewrite.Change = { line in
        line.starts(with: gone) ? instead + line.dropFirst(gone.count) : Array(line)
    }

    static func expected(_ numbers: Range<Int>) -> [String] {
        numbers.map { $0 % 10 == 0 ? line($0, name: "deleted:1") : line($0) }
    }
}

@Suite struct LineRewriteTests {
    @Test func otherOrdersAreCarriedOutBetweenThePieces() throws {
        let place = Place()
        place.append(0..<8_000)
        let thread = FilesThread(
            DecisionWriter(path: "/dev/null", log: Log(level: .error)))
        /// What happened, in order: lines that were written again, and orders of others.
        let events = Locked<[Int]>([])
        let ended = WorkerMailbox<Result<Int?, LineFilesError>>()
        // Each order comes while a piece is written: it must not wait for the last one.
        thread.rewrite(place.lines, 0) { line in
            let count = events.withLock {
                $0.append(1); return $0.count
            }
            if count % 1_000 == 1 {
                _ = thread.run(bytes: 0) { events.withLock { $0.append(0) } }
            }
            return Place.change(line)
        } then: {
            _ = ended.post($0)
        }
        var outcomes: [Result<Int?, LineFilesError>] = []
        _ = ended.takeAll(into: &outcomes)
        #expect(try outcomes.first?.get() == 800)
        thread.settle(within: 10_000)
        #expect(place.text().map(String.init) == Place.expected(0..<8_000))
        let found = events.withLock { $0 }
        let lines = found.split(separator: 0, omittingEmptySubsequences: true).map(\.count)
        let most = LineRewrite.pieceBytes / 1_000
        #expect(lines.count >= 7 && lines.allSatisfy { $0 <= most }, "\(lines)")
        #expect(found.count { $0 == 1 } == 8_000)
        thread.close()
    }

    @Test func aFileThatWasTakenAwayIsMadeAgain() {
        let place = Place()
        place.append(0..<1)
        #expect(unlink(place.lines.path) == 0)
        // What is written to a file without a name nobody can read.
        place.append(1..<2)
        #expect(place.text().map(String.init) == [Place.line(1)])
    }

    @Test func aFileThatWasMovedAwayIsMadeAgain() {
        let place = Place()
        place.append(0..<1)
        #expect(rename(place.lines.path, place.lines.path + ".1") == 0)
        place.append(1..<2)
        #expect(place.text().map(String.init) == [Place.line(0), Place.line(1)])
        #expect(place.names == ["log", "log.1"])
    }

    @Test func linesThatAreWrittenMeanwhileAreThere() throws {
        let place = Place()
        place.append(0..<3_000)
        let rewrite = try #require(try place.lines.rewrite(0, Place.change))
        var end = 3_000
        var pieces = 0
        while try rewrite.step() == .more {
            pieces += 1
            // Whoever writes most has less than a piece for each piece.
            place.append(end..<end + 500)
            end += 500
        }
        #expect(pieces > 3)
        place.append(end..<end + 10)
        let all = place.text().map(String.init)
        #expect(Array(all.dropLast(10)) == Place.expected(0..<end))
        #expect(all.suffix(10).map { $0 } == (end..<end + 10).map { Place.line($0) })
        #expect(place.names == ["log"])
    }

    @Test func aFileThatIsMovedAsideMeanwhileIsWrittenAgainWhereItStands() throws {
        let place = Place(size: 3 << 20)
        place.append(0..<2_500)
        let rewrite = try #require(try place.lines.rewrite(0, Place.change))
        #expect(try rewrite.step() == .more)
        place.append(2_500..<4_000)
        #expect(place.names == ["log", "log.1", "log.new"])
        while try rewrite.step() == .more {}
        let all = place.text().map(String.init)
        let new = try #require(all.firstIndex { $0.hasPrefix("ann") })
        #expect(new > 2_500 && place.names == ["log", "log.1"])
        #expect(all.prefix(new).map { $0 } == Place.expected(0..<new))
        #expect(all.dropFirst(new).map { $0 } == (new..<4_000).map { Place.line($0) })
    }

    @Test func aFileThatIsDeletedMeanwhileDoesNotComeBack() throws {
        let place = Place(size: 2 << 20, files: 2)
        place.append(0..<1_500)
        let rewrite = try #require(try place.lines.rewrite(0, Place.change))
        #expect(try rewrite.step() == .more)
        place.append(1_500..<7_000)
        while try rewrite.step() == .more {}
        #expect(place.names == ["log", "log.1"])
        #expect(!place.text().contains { $0.hasPrefix("deleted:1") })
    }

    @Test func afterACrashInTheMiddleItIsBegunAnew() throws {
        let place = Place()
        place.append(0..<5_000)
        do {
            let rewrite = try #require(try place.lines.rewrite(0, Place.change))
            #expect(try rewrite.step() == .more)
            #expect(try rewrite.step() == .more)
        }
        // A reader sees the old file, and what there is of the new one is no file of lines.
        #expect(place.names == ["log", "log.new"])
        #expect(place.text().map(String.init) == (0..<5_000).map { Place.line($0) })
        let next = place.again()
        #expect(try next.rewriteWhole(0, Place.change) == 500)
        #expect(place.names == ["log"])
        #expect(place.text().map(String.init) == Place.expected(0..<5_000))
        #expect(try next.rewriteWhole(1, Place.change) == nil)
    }

    @Test func whatACrashLeftGoesAlsoWhereThereIsNothingToWrite() throws {
        let place = Place()
        place.append(0..<2_000)
        _ = try place.lines.rewrite(0, Place.change)
        #expect(place.names == ["log", "log.new"])
        #expect(try place.again().rewriteWhole(1, Place.change) == nil)
        #expect(place.names == ["log"])
    }

    @Test func aLineLongerThanAPieceStaysWhole() throws {
        let place = Place()
        place.append(1..<3)
        var long = "ann " + String(repeating: "y", count: 3 * LineRewrite.pieceBytes) + "\nbob torn"
        long.withUTF8 { _ = place.lines.append(UnsafeRawBufferPointer($0)) }
        #expect(try place.lines.rewriteWhole(0, Place.change) == 1)
        place.append(3..<4)
        let all = place.text()
        #expect(all.count == 5 && all[2].count == 3 * LineRewrite.pieceBytes + 10)
        #expect(all[2].hasPrefix("deleted:1 y") && all[3] == "bob torn")
        #expect(String(all[4]) == Place.line(3))
    }
}
