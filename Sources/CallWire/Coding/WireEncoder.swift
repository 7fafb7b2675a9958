// From what the switchboard says to the bytes of one message.

import CallModel
import JSON

/// Encodes replies and events. One encoder serves every connection: its only state is what people
/// are called, which belongs to the thread that it works on.
///
/// A message is a head, which belongs to one receiver (`{"re":1,` or `{"seq":17,`), and a tail,
/// which does not. A tail is encoded once and used for every receiver, or kept under an idempotency
/// key and used later with another head. Tails and heads are appended to `JSONWriter.bytes`.
public struct WireEncoder {
    /// What people are called; nil: nobody has a name.
    let names: (any NameSource)?

    /// An encoder that knows `names`.
    public init(names: (any NameSource)? = nil) { self.names = names }

    // MARK: Heads

    /// Appends `{"re":1,`; nil: `{"re":null,`.
    public static func replyHead(_ id: MessageID?, into writer: inout JSONWriter) {
        writer.startText()
        writer.append(UInt8(ascii: "{"))
        writer.key("re")
        switch id {
        case .integer(let number): writer.value(number)
        case .text(let text): writer.value(text)
        case nil: writer.null()
        }
        writer.append(UInt8(ascii: ","))
    }

    /// Appends `{"seq":17,`.
    public static func eventHead(_ seq: UInt64, into writer: inout JSONWriter) {
        writer.startText()
        writer.append(UInt8(ascii: "{"))
        writer.field("seq", Int64(truncatingIfNeeded: seq))
        writer.append(UInt8(ascii: ","))
    }

    // MARK: Tails of replies

    /// Appends `"ok":{…}}` or `"error":{…}}`.
    public func replyTail(_ reply: Reply, into writer: inout JSONWriter) {
        var text = CallText()
        replyTail(reply, sharing: &text, into: &writer)
    }

    /// The same; a call is taken from `text` if it is that one, else left there.
    public func replyTail(
        _ reply: Reply, sharing text: inout CallText, into writer: inout JSONWriter
    ) {
        switch reply {
        case .kept(let tail): writer.append(tail)
        case .refused(let refusal): Self.refusalTail(refusal, into: &writer)
        case .done, .call, .invited, .callWithErrors, .items, .token, .names:
            Self.okTail(into: &writer) { members(of: reply, &text, into: &$0) }
        }
    }

    /// Appends `"error":{…}}`.
    public static func refusalTail(_ refusal: Refusal, into writer: inout JSONWriter) {
        writer.startText()
        writer.object("error") { $0.members(of: refusal) }
        writer.append(UInt8(ascii: "}"))
    }

    /// Appends `"ok":{…}}` with the members that `body` writes.
    static func okTail(into writer: inout JSONWriter, _ body: (inout JSONWriter) -> Void) {
        writer.startText()
        writer.object("ok", body)
        writer.append(UInt8(ascii: "}"))
    }

    private func members(
        of reply: Reply, _ text: inout CallText, into writer: inout JSONWriter
    ) {
        switch reply {
        case .done, .kept, .refused: break
        case .call(let call, let viewer):
            writer.key("call")
            text.write(call, for: viewer, by: self, into: &writer)
        case .invited(let call, let viewer, let errors):
            writer.field("call_id", call.id)
            writer.key("call")
            text.write(call, for: viewer, by: self, into: &writer)
            writer.field("errors", errors)
        case .callWithErrors(let call, let viewer, let errors):
            writer.key("call")
            text.write(call, for: viewer, by: self, into: &writer)
            writer.field("errors", errors)
        case .items(let items, let keys):
            writer.field("items", items)
            writer.field("keys", keys)
        case .token(let token): writer.field("token", raw: token)
        case .names(let users, let errors):
            writer.array("users") {
                for one in users {
                    $0.object {
                        $0.field("user", one.user.text)
                        $0.field("name", one.name?.text)
                    }
                }
            }
            writer.field("errors", errors)
        }
    }
}

extension WireEncoder {
    /// The whole reply `{"re":1,…}`.
    public func reply(_ reply: Reply, to id: MessageID?) -> [UInt8] {
        var writer = JSONWriter()
        Self.replyHead(id, into: &writer)
        replyTail(reply, into: &writer)
        return writer.bytes
    }

    /// The tail of `event` as `viewer` sees it, for any number of sessions of that user; the
    /// viewer only matters for `call.created` and `call.incoming`, which hold a whole call.
    public func event(_ event: CallEvent, for viewer: UserID) -> [UInt8] {
        var writer = JSONWriter()
        eventTail(event, for: viewer, into: &writer)
        return writer.bytes
    }
}
