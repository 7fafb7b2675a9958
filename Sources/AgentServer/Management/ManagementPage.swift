// Pages of the lists of the management API.

import AgentCore
import JSON
import WebProtocols

/// A page under way: `{"items": […], "cursor": …}`, or `{"items": […], "after": …}`.
struct ManagementPage: ~Copyable {
    private var writer = JSONWriter(capacity: 4_096)
    private let limit: Int
    private(set) var count = 0

    /// A page of at most `limit` items.
    init(limit: Int) {
        self.limit = limit
        writer.beginObject()
        writer.key("items")
        writer.beginArray()
    }

    /// Whether no more fits.
    var isFull: Bool { count >= limit || writer.count >= ManagementDesk.answerBytes }

    /// Adds the item that `write` writes as one JSON value.
    mutating func add(_ write: (inout JSONWriter) -> Void) {
        write(&writer)
        count += 1
    }

    /// Adds an item that is written already.
    mutating func add(_ value: JSONValue) { add { $0.value(value) } }

    /// The answer, with where the next page begins; nil: there is none.
    consuming func end(cursor: String?, after: Int? = nil, _ more: JSONObject? = nil)
        -> HTTPResponse
    {
        writer.endArray()
        writer.field("cursor", cursor)
        if let after { writer.field("after", after) }
        return close(more)
    }

    /// The answer of a list that goes on.
    consuming func end(after: Int, isReset: Bool) -> HTTPResponse {
        writer.endArray()
        writer.field("after", after)
        if isReset { writer.field("reset", true) }
        return close(nil)
    }

    private consuming func close(_ more: JSONObject?) -> HTTPResponse {
        for member in more?.members ?? [] {
            writer.key(text: member.key)
            writer.value(member.value)
        }
        writer.endObject()
        return .json(200, writer.bytes)
    }

    /// A page of `values`, of which those before `cursor`, a place in them, were shown.
    static func part(of values: [JSONValue], _ request: ManagementRequest) -> HTTPResponse {
        let first = min(request.text("cursor").flatMap { Int($0) } ?? 0, values.count)
        var page = ManagementPage(limit: request.limit)
        var place = max(0, first)
        while place < values.count, !page.isFull {
            page.add(values[place])
            place += 1
        }
        return page.end(cursor: place < values.count ? "\(place)" : nil)
    }
}

/// The number at which the streams of this process begin: higher than any of a process before,
/// because a stream has less than a thousand entries in a millisecond.
struct StreamNumbers {
    let base: Int

    init(startedAt wall: Int64) { base = Int(wall) * 1_000 }

    /// The entry of a stream that a page's `after` names; nil: one of another process.
    func number(of after: Int, last: Int) -> Int? {
        guard after != 0 else { return 0 }
        return (base...base + last).contains(after) ? after - base : nil
    }
}
