// The pages of `call.list` (A18, D46).

import CallCore
import JSON

extension WireEncoder {
    /// Room for what stands around the calls of a page: the head with a long id, and the cursor.
    private static var pageRest: Int { 512 }

    /// Appends `"ok":{"calls":[…],"cursor":…}}`: as many calls as the query asks for and as the page
    /// may hold. The cursor is null with the last page.
    ///
    /// - Parameters:
    ///   - query: what was asked for; only its `limit` matters here.
    ///   - viewer: who asked.
    ///   - limits: where a page stops. A first call that alone is too much goes out nevertheless.
    ///   - next: the next call that fits the query, newest first; nil: there is none.
    public func listTail<E: Error>(
        _ query: ListQuery, for viewer: UserID, limits: WireLimits,
        into writer: inout JSONWriter, next: () throws(E) -> Call?
    ) throws(E) {
        writer.startText()
        let start = writer.bytes.count
        var last: CallID?
        var hasMore = false
        var count = 0
        try writer.object("ok") { (writer) throws(E) in
            try writer.array("calls") { (writer) throws(E) in
                while let call = try next() {
                    let before = writer.bytes.count
                    hasMore = count == query.limit
                    if hasMore { break }
                    write(call, for: viewer, into: &writer)
                    if count > 0, writer.bytes.count - start > limits.pageBytes - Self.pageRest {
                        writer.bytes.removeLast(writer.bytes.count - before)
                        hasMore = true
                        break
                    }
                    last = call.id
                    count += 1
                }
            }
            writer.field("cursor", hasMore ? last?.description : nil)
        }
        writer.bytes.append(UInt8(ascii: "}"))
    }
}
