// Writes a file of lines again, piece by piece.

import Glibc

/// One file of `LineFiles` on its way to be another one, in which something must not be kept.
///
/// A reader sees the old file or the new one. So does the next process after a crash, and it begins
/// anew. Between two pieces the owner may do anything else with the file: lines that are written
/// meanwhile are reached at the end, and a file that is moved aside is found at its new place.
/// Owner: the thread of the files.
final class LineRewrite: @unchecked Sendable {
    /// What becomes of a line, which may be the same; nil: it goes.
    typealias Change = @Sendable (UnsafeRawBufferPointer) -> [UInt8]?

    /// Bytes of one piece: it holds up whatever else the thread has to do.
    static let pieceBytes = 1 << 20

    /// How far it is.
    enum Progress: Equatable {
        case more
        /// The file is another one, except for `changed: 0`.
        case done(changed: Int)
    }

    private let lines: LineFiles
    private let change: Change
    private let path: String
    private let old: Int32
    private let fresh: Int32
    /// How much of the old file was read.
    private var place = 0
    private var changed = 0
    /// Whatever else has the name, such as a pipe, has no lines.
    private let isPlain: Bool
    /// What is read at once; longer lines make it longer.
    private var room: Int

    /// The way from the open file `old`, which it closes.
    ///
    /// - Parameter piece: see `pieceBytes`.
    init(
        of lines: LineFiles, _ old: Int32, piece: Int = pieceBytes, _ change: @escaping Change
    ) throws(LineFilesError) {
        (self.lines, self.old, self.change, room) = (lines, old, change, piece)
        path = Self.path(beside: lines)
        var status = stat()
        isPlain = fstat(old, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        fresh = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard fresh >= 0 else { throw LineFilesError(path) }
    }

    deinit {
        close(old)
        if fresh >= 0 { close(fresh) }
    }

    /// Where the new file is until it is whole.
    static func path(beside lines: LineFiles) -> String { "\(lines.path).new" }

    /// Goes on by one piece.
    ///
    /// - Throws: a `LineFilesError` of one line; the file is as it was, and this is over.
    func step() throws(LineFilesError) -> Progress {
        do throws(LineFilesError) {
            guard try isReadOn() else { return .more }
            return .done(changed: try finish())
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Reads and writes one piece; whether that was the last one.
    private func isReadOn() throws(LineFilesError) -> Bool {
        let (piece, isLast) = try read()
        var end = piece.count
        if !isLast {
            guard let newline = piece.lastIndex(of: UInt8(ascii: "\n")) else {
                room *= 2
                return false
            }
            end = newline + 1
        }
        var new: [UInt8] = []
        new.reserveCapacity(end)
        piece.withUnsafeBytes { bytes in
            var begin = 0
            while begin < end {
                let next = bytes[begin..<end].firstIndex(of: UInt8(ascii: "\n")) ?? end
                take(UnsafeRawBufferPointer(rebasing: bytes[begin..<next]), into: &new)
                begin = next + 1
            }
        }
        // In pieces too: at the end nobody waits for all of it.
        guard lines.writeWhole(new, to: fresh), fdatasync(fresh) == 0 else {
            throw LineFilesError(path)
        }
        place += end
        return isLast
    }

    private func take(_ line: UnsafeRawBufferPointer, into new: inout [UInt8]) {
        let other = change(line)
        if other.map({ !$0.elementsEqual(line) }) ?? true { changed += 1 }
        guard let other else { return }
        new += other
        new.append(UInt8(ascii: "\n"))
    }

    /// The next bytes of the old file, and whether there are no others behind them.
    private func read() throws(LineFilesError) -> (bytes: [UInt8], isLast: Bool) {
        guard isPlain else { return ([], true) }
        var isFailed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { room, count in
            while count < room.count {
                let rest = UnsafeMutableBufferPointer(rebasing: room[count...])
                let more = pread(old, rest.baseAddress, rest.count, place + count)
                isFailed = more < 0
                guard more > 0 else { break }
                count += more
            }
        }
        guard !isFailed else { throw LineFilesError(lines.path) }
        return (bytes, bytes.count < room)
    }

    /// Puts the new file into the place of the old one.
    private func finish() throws(LineFilesError) -> Int {
        var status = stat()
        // One that was deleted meanwhile, because there are enough, names nobody.
        guard changed > 0, fstat(old, &status) == 0, let name = lines.name(of: status) else {
            unlink(path)
            return changed
        }
        // How old a file is counts by its last line.
        var times = [status.st_atim, status.st_mtim]
        guard futimens(fresh, &times) == 0, fsync(fresh) == 0, rename(path, name) == 0 else {
            throw LineFilesError(path)
        }
        keepName()
        if name == lines.path { lines.openAgain() }
        return changed
    }

    /// After a crash of the machine, too, the old file does not come back.
    private func keepName() {
        let folder = open(
            Deployment.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
