// The pages of `call.list` (A18, D46).

import CallModel
import JSON

extension WireEncoder {
    /// Room for what stands around the calls of a page: the head with a long id, and the cursor.
    private static var pageRest: Int { 512 }

    /// Appends `"ok":{"calls":[…],"cursor":…}}`. A page stops before the call that would make it
    /// too large; a first call that alone is too large is sent nevertheless.
    ///
    /// - Parameters:
    ///   - calls: the page that the store found, newest first.
    ///   - cursor: the last of them if the store has more, else nil: the last page.
    ///   - viewer: who asked.
    ///   - limits: where a page stops.
    public func pageTail(
        _ calls: [Call], cursor: CallID?, for viewer: UserID, limits: WireLimits,
        into writer: inout JSONWriter
    ) {
        var cursor = cursor
        Self.okTail(into: &writer) {
            let start = $0.count
            $0.array("calls") {
                for (place, call) in calls.enumerated() {
                    let before = $0.count
                    write(call, for: viewer, into: &$0)
                    if place > 0, $0.count - start > limits.pageBytes - Self.pageRest {
                        $0.cut(to: before)
                        cursor = calls[place - 1].id
                        break
                    }
                }
            }
            $0.field("cursor", cursor?.description)
        }
    }
}
