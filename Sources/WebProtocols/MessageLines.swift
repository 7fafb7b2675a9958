// The lines of a message head or chunk, and its header block, as they arrive in pieces.

/// How large the parts of a message may be.
public struct HTTPLimits: Sendable, Equatable {
    /// The first line, in bytes without its line end.
    public var startLine: Int
    /// All header lines together, in bytes with their line ends; so many bytes also the extensions
    /// of all chunks of a body.
    public var headerBytes: Int
    /// How many header lines.
    public var headerCount: Int
    /// The body in bytes, transfer coding removed.
    public var body: Int
    /// A line before a chunk (size and extensions), in bytes without its line end.
    public var chunkLine: Int

    /// Limits; by default 8 KiB, 16 KiB, 64, 64 KiB and 256 bytes.
    public init(
        startLine: Int = 8192, headerBytes: Int = 16_384, headerCount: Int = 64,
        body: Int = 65_536, chunkLine: Int = 256
    ) {
        (self.startLine, self.headerBytes) = (startLine, headerBytes)
        (self.headerCount, self.body, self.chunkLine) = (headerCount, body, chunkLine)
    }
}

/// Cuts the input into lines that end with CR LF and keeps the beginning of one that is not whole.
struct MessageLines {
    private var held: [UInt8] = []

    /// Whether a line has begun.
    var isPartial: Bool { !held.isEmpty }

    /// Hands the next line, without its end, to `parse`; nil when it is not whole yet.
    ///
    /// A line of more than `limit` bytes throws `overflow` as soon as that is certain.
    mutating func next<T>(
        _ input: inout UnsafeRawBufferPointer, limit: Int, overflow: HTTPError,
        _ parse: (UnsafeRawBufferPointer) throws(HTTPError) -> T
    ) throws(HTTPError) -> T? {
        guard let end = input.firstIndex(of: 0x0A) else {
            // One more byte may be the CR of a line that just fits.
            guard held.count + input.count <= limit + 1 else { throw overflow }
            held.append(contentsOf: input)
            input = .init(rebasing: input[input.count...])
            return nil
        }
        let piece = UnsafeRawBufferPointer(rebasing: input[..<end])
        input = .init(rebasing: input[(end + 1)...])
        if held.isEmpty { return try parse(try Self.content(piece, limit, overflow)) }
        held.append(contentsOf: piece)
        defer { held = [] }
        let result = held.withUnsafeBytes { line in
            Result { () throws(HTTPError) in try parse(try Self.content(line, limit, overflow)) }
        }
        return try result.get()
    }

    /// `line` without its CR.
    private static func content(
        _ line: UnsafeRawBufferPointer, _ limit: Int, _ overflow: HTTPError
    ) throws(HTTPError) -> UnsafeRawBufferPointer {
        let hasEnd = line.last == 0x0D
        guard line.count - (hasEnd ? 1 : 0) <= limit else { throw overflow }
        let content = UnsafeRawBufferPointer(rebasing: line.dropLast())
        guard hasEnd, !content.contains(0x0D) else { throw .bareLineEnd }
        return content
    }
}

/// Collects header lines up to the empty one, within the limits.
struct HeaderBlock {
    private(set) var headers = HTTPHeaders()
    private var bytes = 0

    /// Takes header lines from `input`; true after the empty line.
    mutating func read(
        _ input: inout UnsafeRawBufferPointer, _ lines: inout MessageLines, _ limits: HTTPLimits
    ) throws(HTTPError) -> Bool {
        while true {
            let room = max(0, limits.headerBytes - bytes - 2)
            let isOver = try lines.next(
                &input, limit: room, overflow: .headersTooLarge(limit: limits.headerBytes)
            ) { (line) throws(HTTPError) in try add(line, limits) }
            guard let isOver else { return false }
            if isOver { return true }
        }
    }

    private mutating func add(
        _ line: UnsafeRawBufferPointer, _ limits: HTTPLimits
    ) throws(HTTPError) -> Bool {
        guard !line.isEmpty else { return true }
        guard headers.fields.count < limits.headerCount else {
            throw .tooManyHeaders(limit: limits.headerCount)
        }
        bytes += line.count + 2
        try headers.append(line: line)
        return false
    }
}

/// What one message is read with, whether a request or a response: a line, headers, a body.
struct MessageParts {
    private(set) var lines = MessageLines()
    private var block = HeaderBlock()
    private(set) var body = BodyReader(.length(0))

    /// The header fields that were read.
    var headers: HTTPHeaders { block.headers }

    /// Reads the first line with `parse`; nil when it is not whole yet.
    mutating func readStartLine<T>(
        _ input: inout UnsafeRawBufferPointer, limit: Int, overflow: HTTPError,
        _ parse: (UnsafeRawBufferPointer) throws(HTTPError) -> T
    ) throws(HTTPError) -> T? {
        try lines.next(&input, limit: limit, overflow: overflow, parse)
    }

    /// Reads header lines; true after the empty one.
    mutating func readHeaders(
        _ input: inout UnsafeRawBufferPointer, _ limits: HTTPLimits
    ) throws(HTTPError) -> Bool {
        try block.read(&input, &lines, limits)
    }

    /// A body comes that ends as `framing` says.
    mutating func beginBody(_ framing: BodyFraming) { body = BodyReader(framing) }

    /// Reads the body; true when it is whole.
    mutating func readBody(
        _ input: inout UnsafeRawBufferPointer, _ limits: HTTPLimits
    ) throws(HTTPError) -> Bool {
        try body.read(&input, &lines, limits)
    }
}
