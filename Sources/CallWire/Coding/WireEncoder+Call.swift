// The call object as clients get it.

import CallModel
import JSON

extension WireEncoder {
    /// Writes `call` as `viewer` sees it. What has not happened is null.
    public func write(_ call: Call, for viewer: UserID, into writer: inout JSONWriter) {
        writer.object {
            $0.field("call_id", call.id)
            $0.field("mode", plain: name(of: call.mode))
            $0.field("kind", call.kind)
            $0.field("state", plain: call.state.rawValue)
            $0.field("caller", call.caller.text)
            $0.field("extended_data", call.extendedData(of: .call, for: viewer))
            $0.field("items", call.items)
            $0.field("created_at", call.createdAt)
            $0.field("answered_at", call.answeredAt)
            $0.field("connected_at", call.connectedAt)
            $0.field("ended_at", call.endedAt)
            $0.field("duration_ms", call.endedAt.map { _ in call.duration })
            $0.field("timeout_ms", call.ringTime)
            $0.field("revision", Int64(call.revision))
            $0.field("media", plain: call.media.rawValue)
            $0.key("end")
            if let end = call.end { $0.value(call.end(end, for: viewer)) } else { $0.null() }
            $0.array("participants") {
                for index in call.participants.indices {
                    $0.value(
                        call.participants[index], text: call.text(ofParticipant: index, for: viewer)
                    )
                }
            }
        }
    }
}

extension Call {
    /// What `viewer` sees of the text of `participant`.
    fileprivate func text(ofParticipant index: Int, for viewer: UserID) -> String? {
        if views.isEmpty { return participants[index].extendedData }
        return extendedData(of: .participant(participants[index].user), for: viewer)
    }

    /// `end` as `viewer` sees it.
    fileprivate func end(_ end: End, for viewer: UserID) -> End {
        if views.isEmpty { return end }
        return End(
            end.reason, detail: end.detail, by: end.by,
            extendedData: extendedData(of: .end, for: viewer))
    }
}

extension JSONWriter {
    /// Writes how a call ended.
    mutating func value(_ end: Call.End) {
        object {
            $0.field("reason", plain: end.reason.rawValue)
            $0.field("detail", end.detail?.rawValue)
            $0.field("by", end.by?.text)
            $0.field("extended_data", end.extendedData)
        }
    }

    fileprivate mutating func value(_ participant: borrowing Participant, text: String?) {
        object {
            $0.field("user", participant.user.text)
            $0.field("role", plain: participant.role.rawValue)
            $0.field("invited_by", participant.invitedBy?.text)
            $0.field("state", plain: participant.state.rawValue)
            $0.field("reason", participant.reason?.rawValue)
            $0.field("extended_data", text)
            $0.field("invited_at", participant.invitedAt)
            $0.field("deadline_at", participant.deadlineAt)
            $0.field("answered_at", participant.answeredAt)
            $0.field("device", participant.device?.text)
            $0.field("audio", participant.audio)
            $0.field("video", participant.video)
            $0.field("held", participant.held)
        }
    }
}
