// The fields of a call, one by one, for everybody who writes a call down: the wire, webhooks, the
// store, the log of decisions.

/// A field of a call or of one of its participants.
public enum CallField: Sendable {
    case callID, mode, kind, state, caller, extendedData, items, createdAt, answeredAt, connectedAt
    case endedAt, duration, ringTime, revision, media, end, participants
    case deliveryCheck, isGroup, views, mediaAlarm, idleAlarm, transfers, removed, forks, receiver
    case returns
    case user, role, invitedBy, reason, invitedAt, deadlineAt, device, audio, video, held, name
    case mediaConnected, wasConnected, deliveryAlarm, isAnsweredFor, hops, askFrom, begunBy, asking
    case policyAlarm, policyNote

    /// Its name where clients read it; nil: they are not shown it.
    @inlinable @inline(__always) public var shown: StaticString? {
        switch self {
        case .callID: "call_id"
        case .mode: "mode"
        case .kind: "kind"
        case .state: "state"
        case .caller: "caller"
        case .extendedData: "extended_data"
        case .items: "items"
        case .createdAt: "created_at"
        case .answeredAt: "answered_at"
        case .connectedAt: "connected_at"
        case .endedAt: "ended_at"
        case .duration: "duration_ms"
        case .ringTime: "timeout_ms"
        case .revision: "revision"
        case .media: "media"
        case .end: "end"
        case .participants: "participants"
        case .user: "user"
        case .role: "role"
        case .invitedBy: "invited_by"
        case .reason: "reason"
        case .invitedAt: "invited_at"
        case .deadlineAt: "deadline_at"
        case .device: "device"
        case .audio: "audio"
        case .video: "video"
        case .held: "held"
        case .receiver: "receiver"
        case .name: "name"
        case .deliveryCheck, .isGroup, .views, .mediaAlarm, .idleAlarm, .transfers, .removed,
            .forks, .returns, .mediaConnected, .wasConnected, .deliveryAlarm, .isAnsweredFor, .hops,
            .askFrom, .begunBy, .asking, .policyAlarm, .policyNote:
            nil
        }
    }

    /// Its name in the records of the store; nil: it follows from others.
    @inlinable public var kept: StaticString? {
        switch self {
        case .callID, .caller, .duration, .user, .name: nil
        case .mode, .kind, .state, .receiver, .items, .media, .end, .role, .reason, .device,
            .audio, .video, .held:
            shown
        case .extendedData: "data"
        case .createdAt: "created"
        case .answeredAt: "answered"
        case .connectedAt: "connected"
        case .endedAt: "ended"
        case .ringTime: "ring"
        case .revision: "rev"
        case .participants: "users"
        case .deliveryCheck: "check"
        case .isGroup: "group"
        case .views: "views"
        case .mediaAlarm: "media_alarm"
        case .idleAlarm: "idle_alarm"
        case .transfers: "transfers"
        case .removed: "removed"
        case .forks: "forks"
        case .returns: "returns"
        case .invitedBy: "by"
        case .invitedAt: "at"
        case .deadlineAt: "until"
        case .mediaConnected: "media"
        case .wasConnected: "was_connected"
        case .deliveryAlarm: "delivery_alarm"
        case .isAnsweredFor: "answered_for"
        case .hops: "hops"
        case .askFrom: "ask_from"
        case .begunBy: "begun_by"
        case .asking: "asking"
        case .policyAlarm: "policy_alarm"
        case .policyNote: "waiting"
        }
    }
}

/// Takes the fields of a call. `usual`: what most calls have, so that it may be left out.
public protocol CallVisitor: ~Copyable {
    mutating func visit(_ field: CallField, _ id: CallID)
    mutating func visit(_ field: CallField, _ mode: ModeRow)
    /// Text of somebody.
    mutating func visit(_ field: CallField, text: String?)
    /// A word of the protocol.
    mutating func visit(_ field: CallField, word: String?, isUsual: Bool)
    mutating func visit(_ field: CallField, _ user: UserID?)
    mutating func visit(_ field: CallField, _ device: DeviceID?)
    mutating func visit(_ field: CallField, _ flag: Bool, usual: Bool)
    mutating func visit(_ field: CallField, _ moment: Moment?)
    mutating func visit(_ field: CallField, time: Milliseconds?)
    mutating func visit(_ field: CallField, count: Int)
    mutating func visit(_ field: CallField, _ items: [Call.Item])
    mutating func visit(_ field: CallField, _ end: Call.End?)
    mutating func visit(_ field: CallField, _ views: [Call.View])
    mutating func visit(_ field: CallField, _ transfers: [Call.Transfer])
    mutating func visit(_ field: CallField, _ users: [UserID])
    mutating func visit(_ field: CallField, _ forks: [Call.Fork])
    mutating func visit(_ field: CallField, _ returns: [Call.Return])
    mutating func visit(_ field: CallField, _ note: PolicyNote?)
    /// The participants of `call`; `show` hands over the fields of the one at a place.
    mutating func visit(
        _ field: CallField, of call: Call, _ show: (_ place: Int, _ visitor: inout Self) -> Void)
}

extension Call {
    /// Hands all fields over, in the order of the wire and what is not shown behind that.
    ///
    /// - Parameters:
    ///   - viewer: who sees it; nil: the texts as they were said.
    ///   - names: what the participants are called; nil: nobody has a name.
    @inlinable
    public func visit<Visitor: CallVisitor & ~Copyable>(
        _ visitor: inout Visitor, for viewer: UserID?, names: (any NameSource)? = nil
    ) {
        let viewer = views.isEmpty ? nil : viewer
        visitor.visit(.callID, id)
        visitor.visit(.mode, row)
        visitor.visit(.kind, text: kind)
        visitor.visit(.state, word: state.rawValue, isUsual: state == .ringing)
        visitor.visit(.caller, participants.first?.user)
        visitor.visit(.receiver, receiver)
        visitor.visit(.extendedData, text: text(of: .call, extendedData, for: viewer))
        visitor.visit(.items, items)
        visitor.visit(.createdAt, createdAt)
        visitor.visit(.answeredAt, answeredAt)
        visitor.visit(.connectedAt, connectedAt)
        visitor.visit(.endedAt, endedAt)
        visitor.visit(.duration, time: endedAt.map { _ in duration })
        visitor.visit(.ringTime, time: ringTime)
        visitor.visit(.revision, count: Int(revision))
        visitor.visit(.media, word: media.rawValue, isUsual: media == .none)
        visitor.visit(
            .end, end.map { $0.saying(text(of: .end, $0.extendedData, for: viewer)) })
        visitor.visit(.participants, of: self) { place, visitor in
            participants.withUnsafeBufferPointer { people in
                let own = people[place].extendedData
                let text = viewer.map { _ in
                    self.text(of: .participant(people[place].user), own, for: viewer)
                }
                let name = names?.name(of: people[place].user)
                people.visit(place, &visitor, text: text ?? own, name: name)
            }
        }
        visitKept(&visitor)
    }

    @inlinable
    func text(of owner: TextOwner, _ original: String?, for viewer: UserID?) -> String? {
        viewer.map { extendedData(of: owner, for: $0) } ?? original
    }

    @inlinable
    func visitKept<Visitor: CallVisitor & ~Copyable>(_ visitor: inout Visitor) {
        visitor.visit(.deliveryCheck, time: deliveryCheck)
        visitor.visit(.isGroup, isGroup, usual: false)
        visitor.visit(.views, views)
        visitor.visit(.mediaAlarm, mediaAlarm)
        visitor.visit(.idleAlarm, idleAlarm)
        visitor.visit(.transfers, transfers)
        visitor.visit(.removed, removed)
        visitor.visit(.forks, forks)
        visitor.visit(.returns, returns)
    }
}

extension UnsafeBufferPointer<Participant> {
    /// Hands over all fields of the participant at `place`; `text` is the extended data as it is to
    /// be seen, `name` what the user is called. The participant is looked at in its place: a copy
    /// would count references to all its texts.
    @inlinable
    func visit<Visitor: CallVisitor & ~Copyable>(
        _ place: Int, _ visitor: inout Visitor, text: String?, name: String?
    ) {
        visitor.visit(.user, self[place].user)
        let role = self[place].role
        visitor.visit(.role, word: role.rawValue, isUsual: role == .invitee)
        visitor.visit(.invitedBy, self[place].invitedBy)
        visitor.visit(.state, word: self[place].state.rawValue, isUsual: false)
        let reason = self[place].reason
        visitor.visit(.reason, word: reason?.rawValue, isUsual: reason == nil)
        visitor.visit(.extendedData, text: text)
        visitor.visit(.invitedAt, self[place].invitedAt)
        visitor.visit(.deadlineAt, self[place].deadlineAt)
        visitor.visit(.answeredAt, self[place].answeredAt)
        visitor.visit(.device, self[place].device)
        visitor.visit(.audio, self[place].audio, usual: true)
        visitor.visit(.video, self[place].video, usual: false)
        visitor.visit(.held, self[place].held, usual: false)
        visitor.visit(.name, text: name)
        visitKept(place, &visitor)
    }

    @inlinable
    func visitKept<Visitor: CallVisitor & ~Copyable>(_ place: Int, _ visitor: inout Visitor) {
        visitor.visit(.mediaConnected, self[place].mediaConnected, usual: false)
        visitor.visit(.wasConnected, self[place].wasConnected, usual: false)
        visitor.visit(.deliveryAlarm, self[place].deliveryAlarm)
        visitor.visit(.isAnsweredFor, self[place].isAnsweredFor, usual: false)
        visitor.visit(.hops, count: Int(self[place].hops))
        visitor.visit(.askFrom, count: Int(self[place].askFrom))
        visitor.visit(.begunBy, count: Int(self[place].begunBy))
        let asking = self[place].asking
        visitor.visit(.asking, word: asking.rawValue, isUsual: asking == .nothing)
        visitor.visit(.policyAlarm, self[place].policyAlarm)
        visitor.visit(.policyNote, self[place].policyNote)
    }
}
