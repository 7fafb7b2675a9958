// What the HTTP tests share: feeding a parser in pieces and recording what came out.

import Testing
import WebProtocols

/// What a parser said: events in order, the error last, and what it left unread.
struct Parsed<Event: Equatable>: Equatable {
    var events: [Event] = []
    var error: HTTPError?
}

/// Feeds `pieces` one after another to `next` until an error.
func feed<Event>(
    _ pieces: [[UInt8]],
    _ next: (inout UnsafeRawBufferPointer) throws(HTTPError) -> Event?
) -> Parsed<Event> {
    var parsed = Parsed<Event>()
    for piece in pieces where parsed.error == nil {
        piece.withUnsafeBytes { buffer in
            var input = buffer
            do throws(HTTPError) {
                while let event = try next(&input) { parsed.events.append(event) }
            } catch {
                parsed.error = error
            }
        }
    }
    return parsed
}

/// The requests in `pieces`.
func requests(
    in pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits()
) -> Parsed<HTTPRequestEvent> {
    var parser = HTTPRequestParser(limits: limits)
    return feed(pieces) { (input) throws(HTTPError) in try parser.next(&input) }
}

/// The requests in `text`, which must be the same however it is cut.
func requests(
    in text: [UInt8], limits: HTTPLimits = HTTPLimits(),
    sourceLocation: SourceLocation = #_sourceLocation
) -> Parsed<HTTPRequestEvent> {
    let whole = requests(in: [text], limits: limits)
    for pieces in cuts(of: text) {
        let split = requests(in: pieces, limits: limits)
        if split != whole {
            Issue.record(
                "\(split) when cut after \(pieces[0].count), not \(whole)",
                sourceLocation: sourceLocation)
        }
    }
    return whole
}

/// `text` byte by byte, and cut in two at every place; only near both ends if it is long.
func cuts(of text: [UInt8]) -> [[[UInt8]]] {
    let places = text.indices.filter { text.count < 2000 || $0 < 100 || $0 > text.count - 100 }
    return [text.map { [$0] }] + places.map { [Array(text[..<$0]), Array(text[$0...])] }
}

extension Parsed<HTTPRequestEvent> {
    /// The requests alone.
    var requests: [HTTPRequest] {
        events.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }
}

/// The first request in `text`, with CR LF for its line breaks.
func request(_ text: String) throws -> HTTPRequest {
    try #require(requests(in: wire(text)).requests.first)
}

/// `text` with CR LF for its line breaks.
func wire(_ text: String) -> [UInt8] {
    Array(text.utf8).flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
}
