// The body of a message: how long it is, and its bytes with the transfer coding removed.

/// How the end of a body is found (RFC 9112 section 6).
enum BodyFraming: Equatable {
    case length(Int)
    case chunked
    case untilClose

    /// What the headers of a message say about its body; nil when they say nothing.
    init?(_ headers: HTTPHeaders, minorVersion: Int, limit: Int) throws(HTTPError) {
        let lengths = headers.all("Content-Length")
        let hasCoding = headers["Transfer-Encoding"] != nil
        if hasCoding {
            guard lengths.isEmpty else { throw .ambiguousLength }
            try Self.checkCodings(headers.elements("Transfer-Encoding"), minorVersion)
            self = .chunked
            return
        }
        guard let text = lengths.first else { return nil }
        guard lengths.count == 1, !text.isEmpty,
            text.utf8.allSatisfy({ HTTPCharacters.isDigit($0) })
        else { throw .badContentLength }
        guard let length = Int(text), length <= limit else { throw .bodyTooLarge(limit: limit) }
        self = .length(length)
    }

    private static func checkCodings(_ codings: [String], _ minorVersion: Int) throws(HTTPError) {
        if let unknown = codings.first(where: { !HTTPCharacters.equal($0, "chunked") }) {
            throw .unknownTransferCoding(unknown)
        }
        guard codings.count == 1, minorVersion >= 1 else { throw .badTransferEncoding }
    }
}

/// Collects one body.
struct BodyReader {
    private enum Phase {
        /// So many bytes of the body or of the chunk are missing.
        case data(Int)
        case chunkSize
        case chunkEnd
        case trailers
        case untilClose
        case done
    }

    private var phase: Phase
    private let isChunked: Bool
    private var extensionBytes = 0
    private var trailers = HeaderBlock()
    private(set) var bytes: [UInt8] = []

    init(_ framing: BodyFraming) {
        isChunked = framing == .chunked
        switch framing {
        case .length(0): phase = .done
        case .length(let count): phase = .data(count)
        case .chunked: phase = .chunkSize
        case .untilClose: phase = .untilClose
        }
    }

    /// Whether the end of the connection ends this body.
    var endsWithConnection: Bool { if case .untilClose = phase { true } else { false } }

    /// Takes bytes from `input`; true when the body is whole.
    mutating func read(
        _ input: inout UnsafeRawBufferPointer, _ lines: inout MessageLines, _ limits: HTTPLimits
    ) throws(HTTPError) -> Bool {
        while true {
            if case .done = phase { return true }
            guard !input.isEmpty else { return false }
            try step(&input, &lines, limits)
        }
    }

    private mutating func step(
        _ input: inout UnsafeRawBufferPointer, _ lines: inout MessageLines, _ limits: HTTPLimits
    ) throws(HTTPError) {
        switch phase {
        case .data(let missing):
            let count = try take(missing, &input, limits)
            guard count == missing else { return phase = .data(missing - count) }
            phase = isChunked ? .chunkEnd : .done
        case .untilClose: _ = try take(.max, &input, limits)
        case .chunkSize:
            let line = try lines.next(&input, limit: limits.chunkLine, overflow: .badChunk) {
                (line) throws(HTTPError) in try Self.chunk(line)
            }
            guard let (size, extensionBytes) = line else { return }
            self.extensionBytes += extensionBytes
            guard self.extensionBytes <= limits.headerBytes else {
                throw .chunkExtensions(limit: limits.headerBytes)
            }
            guard size <= limits.body - bytes.count else {
                throw .bodyTooLarge(limit: limits.body)
            }
            phase = size == 0 ? .trailers : .data(size)
        case .chunkEnd:
            let isEmpty = try lines.next(&input, limit: 0, overflow: .badChunk) { $0.isEmpty }
            if isEmpty != nil { phase = .chunkSize }
        case .trailers:
            // They are checked like headers, within the same limits, and dropped.
            if try trailers.read(&input, &lines, limits) { phase = .done }
        case .done: break
        }
    }

    private mutating func take(
        _ wanted: Int, _ input: inout UnsafeRawBufferPointer, _ limits: HTTPLimits
    ) throws(HTTPError) -> Int {
        let count = min(wanted, input.count)
        guard count <= limits.body - bytes.count else { throw .bodyTooLarge(limit: limits.body) }
        bytes.append(contentsOf: input[..<count])
        input = .init(rebasing: input[count...])
        return count
    }

    /// The size in front of a chunk (RFC 9112 section 7.1), and the bytes of its extensions, which
    /// are checked and ignored.
    private static func chunk(
        _ line: UnsafeRawBufferPointer
    ) throws(HTTPError) -> (size: Int, extensionBytes: Int) {
        let digits = line.prefix { $0 != UInt8(ascii: ";") }
        // 15 digits fit into an Int and leave no doubt about the limit.
        guard (1...15).contains(digits.count), line.allSatisfy({ HTTPCharacters.isValue($0) })
        else { throw .badChunk }
        var size = 0
        for byte in digits {
            guard let digit = HTTPCharacters.hexDigit(byte) else { throw .badChunk }
            size = size << 4 | Int(digit)
        }
        return (size, line.count - digits.count)
    }
}
