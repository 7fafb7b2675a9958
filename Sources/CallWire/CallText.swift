// The call object that was written last, for those who show the same one.

import CallModel
import JSON

/// The text of one call as everybody without a view of their own sees it. An invitation is answered
/// with the call, and the events that follow show the same one: it is written once.
public struct CallText: ~Copyable {
    /// Which call it is, and how old: a change of the object changes the revision (C36), and one
    /// of a name the names' version.
    struct Version: Equatable {
        let id: CallID
        let revision: UInt32
        let names: UInt64
    }

    private var writer: JSONWriter
    private var shown: Version?
    /// Where the text was put last.
    fileprivate var copied: WrittenReply.Part?

    /// No call yet; `capacity` bytes have room before it has to grow.
    public init(capacity: Int = 1_024) { writer = JSONWriter(capacity: capacity) }

    /// Forgets the call: after a failure of the store its revisions may start again.
    public mutating func forget() { shown = nil }

    /// Takes the call over that `reply` shows: the events that follow it show the same one.
    public mutating func take(from reply: WrittenReply) {
        guard let part = reply.call, part.version != shown else { return }
        writer.removeAll()
        writer.append(reply.tail[part.place])
        shown = part.version
    }

    /// Writes `call` as `viewer` sees it.
    mutating func write(
        _ call: Call, for viewer: UserID, by encoder: WireEncoder,
        into target: inout JSONWriter
    ) {
        guard call.views.isEmpty else {
            return encoder.write(call, for: viewer, into: &target)
        }
        let version = Version(
            id: call.id, revision: call.revision, names: encoder.names?.version ?? 0)
        if version != shown {
            writer.removeAll()
            encoder.write(call, for: viewer, into: &writer)
            shown = version
        }
        target.value(raw: writer.written)
        copied = .init(version: version, place: target.count - writer.count..<target.count)
    }
}

/// The tail of a reply that is kept under an idempotency key, to be sent as it is.
public struct WrittenReply: Sendable {
    /// The call in it.
    struct Part {
        let version: CallText.Version
        /// Where its text stands in the tail.
        let place: Range<Int>
    }

    /// `"ok":{…}}` or `"error":{…}}`.
    public let tail: [UInt8]
    /// Nil: it shows none, or not as everybody sees it.
    let call: Part?
}

extension WireEncoder {
    /// What to keep under an idempotency key: the reply without its `re`.
    public func kept(_ reply: Reply) -> [UInt8] {
        var text = CallText()
        var writer = JSONWriter()
        return written(reply, sharing: &text, into: &writer).tail
    }

    /// The same, and where the call stands in it. The old content of `writer` is dropped.
    public func written(
        _ reply: Reply, sharing text: inout CallText, into writer: inout JSONWriter
    ) -> WrittenReply {
        writer.removeAll()
        text.copied = nil
        replyTail(reply, sharing: &text, into: &writer)
        return WrittenReply(tail: writer.bytes, call: text.copied)
    }
}
