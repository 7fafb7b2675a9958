// An ended call in few bytes.

import CallModel
import JSON

/// Writes ended calls as bytes and reads them again, in the memory of one process only.
/// `CallRecord` of the store is what lasts.
///
/// The head comes first, then the users, then what else the participants have, then the texts.
enum CallBytes {
    /// What a call has besides texts and participants.
    private struct Head: BitwiseCopyable {
        let id: CallID
        let createdAt: Moment
        let ringTime: Milliseconds
        let answeredAt: Packed
        let connectedAt: Packed
        let endedAt: Packed
        let revision: UInt32
        let participantCount: UInt32
        /// `ModeRow.place`.
        let mode: UInt8
        let media: Call.Media
        let reason: EndReason
        let deliveryCheck: Milliseconds?
        let isGroup: Bool
    }

    /// What a participant has besides texts.
    private struct Part: BitwiseCopyable {
        let invitedAt: Moment
        let answeredAt: Packed
        let role: Participant.Role
        let state: Participant.State
        let reason: Participant.Reason?
        let audio: Bool
        let video: Bool
        let held: Bool
        let mediaConnected: Bool
        let wasConnected: Bool
        let isAnsweredFor: Bool
        let hops: UInt8
        let askFrom: UInt8
    }

    /// Whether `call` can be written: it has ended and has nothing that is rare in ended calls,
    /// such as items or texts for single users.
    static func canWrite(_ call: Call) -> Bool {
        guard !call.isLive, call.endReason != nil, call.row.place != nil,
            !call.participants.isEmpty, call.items.isEmpty, call.views.isEmpty,
            call.mediaAlarm == nil, call.idleAlarm == nil, call.transfers.isEmpty,
            call.removed.isEmpty, call.forks.isEmpty, call.receiver == nil, call.returns.isEmpty
        else { return false }
        return withParticipants(of: call) { first, count in
            for place in 0..<count where !isOver(first + place) { return false }
            return true
        }
    }

    private static func isOver(_ participant: Pointer) -> Bool {
        participant.pointee.deadlineAt == nil && participant.pointee.deliveryAlarm == nil
            && participant.pointee.policyAlarm == nil && participant.pointee.asking == .nothing
            && participant.pointee.policyNote == nil && participant.pointee.begunBy == 0
    }

    /// A participant in its place: a copy would count references to all its texts.
    private typealias Pointer = UnsafePointer<Participant>

    private static func withParticipants<Value>(
        of call: Call, _ body: (_ first: Pointer, _ count: Int) -> Value
    ) -> Value {
        call.participants.withUnsafeBufferPointer { buffer in
            guard let first = buffer.baseAddress else { preconditionFailure("nobody is in it") }
            return body(first, buffer.count)
        }
    }

    // MARK: Writing

    /// Writes `call` (see `canWrite`) into `room` as far as there is room, and returns how many
    /// bytes the whole takes.
    static func write(_ call: Call, into room: UnsafeMutableRawBufferPointer) -> Int {
        var pen = Pen(room: room)
        write(call, &pen)
        return pen.count
    }

    private static func write(_ call: Call, _ pen: inout Pen) {
        guard let end = call.end else { preconditionFailure("the call has not ended") }
        pen.put(
            Head(
                id: call.id, createdAt: call.createdAt, ringTime: call.ringTime,
                answeredAt: Packed(wrappedValue: call.answeredAt),
                connectedAt: Packed(wrappedValue: call.connectedAt),
                endedAt: Packed(wrappedValue: call.endedAt), revision: call.revision,
                participantCount: UInt32(call.participants.count), mode: call.row.place ?? 0,
                media: call.media, reason: end.reason, deliveryCheck: call.deliveryCheck,
                isGroup: call.isGroup))
        withParticipants(of: call) { first, count in
            for place in 0..<count { pen.put((first + place).pointee.user.text) }
            for place in 0..<count { write(first + place, &pen) }
        }
        pen.put(call.kind)
        pen.put(call.extendedData)
        pen.put(end.detail?.rawValue)
        pen.put(end.by?.text)
        pen.put(end.extendedData)
    }

    private static func write(_ participant: Pointer, _ pen: inout Pen) {
        pen.put(
            Part(
                invitedAt: participant.pointee.invitedAt,
                answeredAt: Packed(wrappedValue: participant.pointee.answeredAt),
                role: participant.pointee.role, state: participant.pointee.state,
                reason: participant.pointee.reason, audio: participant.pointee.audio,
                video: participant.pointee.video, held: participant.pointee.held,
                mediaConnected: participant.pointee.mediaConnected,
                wasConnected: participant.pointee.wasConnected,
                isAnsweredFor: participant.pointee.isAnsweredFor,
                hops: participant.pointee.hops, askFrom: participant.pointee.askFrom))
        pen.put(participant.pointee.invitedBy?.text)
        pen.put(participant.pointee.extendedData)
        pen.put(participant.pointee.device?.text)
    }

    /// Writes one value behind the other while there is room, and counts their bytes.
    private struct Pen {
        let room: UnsafeMutableRawBufferPointer
        private(set) var count = 0

        init(room: UnsafeMutableRawBufferPointer) { self.room = room }

        mutating func put<Value: BitwiseCopyable>(_ value: Value) {
            let end = count + MemoryLayout<Value>.size
            if end <= room.count { room.storeBytes(of: value, toByteOffset: count, as: Value.self) }
            count = end
        }

        /// One byte says nil (0) or how long the text is, up to 253; 255 that four more say it.
        mutating func put(_ text: String?) {
            guard let text else { return put(0 as UInt8) }
            text.withBytes { put(utf8: $0) }
        }

        @inline(__always)
        private mutating func put(utf8 bytes: UnsafeBufferPointer<UInt8>) {
            if bytes.count < 254 {
                put(UInt8(bytes.count + 1))
            } else {
                put(255 as UInt8)
                put(UInt32(bytes.count))
            }
            let end = count + bytes.count
            if end <= room.count {
                UnsafeMutableRawBufferPointer(rebasing: room[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(bytes))
            }
            count = end
        }
    }

    // MARK: Reading

    /// The id of the call that was written from `start` on.
    static func id(from start: UnsafeRawPointer) -> CallID {
        var eye = Eye(place: start)
        return eye.next(Head.self).id
    }

    /// The call that was written from `start` on.
    static func read(from start: UnsafeRawPointer) -> Call {
        var eye = Eye(place: start)
        let head = eye.next(Head.self)
        let participants = users(head, &eye).map { participant($0, &eye) }
        var call = Call(
            id: head.id, mode: ModeRow.all[Int(head.mode)], kind: eye.nextText() ?? "",
            ringTime: head.ringTime,
            deliveryCheck: head.deliveryCheck, createdAt: head.createdAt)
        (call.state, call.media, call.revision) = (.ended, head.media, head.revision)
        (call.isGroup, call.participants) = (head.isGroup, participants)
        call.answeredAt = head.answeredAt.wrappedValue
        call.connectedAt = head.connectedAt.wrappedValue
        call.endedAt = head.endedAt.wrappedValue
        call.extendedData = eye.nextText()
        let detail = eye.nextText().map { EndDetail(rawValue: $0) }
        let by = eye.nextText().map { UserID($0) }
        call.end = Call.End(head.reason, detail: detail, by: by, extendedData: eye.nextText())
        return call
    }

    private static func participant(_ user: UserID, _ eye: inout Eye) -> Participant {
        let part = eye.next(Part.self)
        var participant = Participant(
            user: user, role: part.role, state: part.state, at: part.invitedAt)
        participant.answeredAt = part.answeredAt.wrappedValue
        participant.reason = part.reason
        (participant.audio, participant.video) = (part.audio, part.video)
        (participant.held, participant.mediaConnected) = (part.held, part.mediaConnected)
        participant.wasConnected = part.wasConnected
        participant.isAnsweredFor = part.isAnsweredFor
        (participant.hops, participant.askFrom) = (part.hops, part.askFrom)
        participant.invitedBy = eye.nextText().map { UserID($0) }
        participant.extendedData = eye.nextText()
        participant.device = eye.nextText().map { DeviceID($0) }
        return participant
    }

    /// The users of the call that was written from `start` on.
    static func users(from start: UnsafeRawPointer) -> [UserID] {
        var eye = Eye(place: start)
        return users(eye.next(Head.self), &eye)
    }

    private static func users(_ head: Head, _ eye: inout Eye) -> [UserID] {
        (0..<head.participantCount).map { _ in UserID(eye.nextText() ?? "") }
    }

    /// Reads what a pen wrote, in the same order.
    private struct Eye {
        var place: UnsafeRawPointer

        mutating func next<Value: BitwiseCopyable>(_ type: Value.Type) -> Value {
            defer { place += MemoryLayout<Value>.size }
            return place.loadUnaligned(as: Value.self)
        }

        mutating func nextText() -> String? {
            var count = Int(next(UInt8.self))
            guard count > 0 else { return nil }
            count = count < 255 ? count - 1 : Int(next(UInt32.self))
            defer { place += count }
            return String(
                decoding: UnsafeRawBufferPointer(start: place, count: count), as: UTF8.self)
        }
    }
}
