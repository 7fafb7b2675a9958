// What each field may hold, for the protocol documents.

import CallModel
import JSON

extension Field {
    /// The field as a member of the data of an operation.
    func member(_ rules: FieldRules, isRequired: Bool) -> SchemaMember {
        SchemaMember(name, schema(rules), about, optional: !isRequired)
    }

    private func schema(_ rules: FieldRules) -> JSONValue {
        let limits = rules.limits
        switch self {
        case .callID: return Schema.ref("CallID")
        case .user, .to, .device, .peer: return Schema.ref("Name")
        case .invitees: return Schema.list(of: Schema.ref("Name"), 1...limits.listEntries)
        case .users: return Schema.list(of: Schema.ref("Name"), 0...limits.listEntries)
        case .mode: return .words(rules.modes.map(\.name))
        case .kind: return Schema.text(1...limits.kindBytes)
        case .timeout: return Schema.zero(or: limits.timeout)
        case .extendedData: return Schema.text(0...limits.extendedDataBytes)
        case .audio, .video, .holdActive, .on, .force, .clear, .missed:
            return Schema.flag
        case .deliveryCheck:
            let time = limits.deliveryCheck
            return ["oneOf": [Schema.flag, Schema.integer(time.lowerBound, time.upperBound)]]
        case .items, .put: return Schema.ref("Items")
        case .delete:
            return Schema.list(of: Schema.text(1...limits.itemBytes), 0...limits.listEntries)
        case .push: return Schema.ref("Push")
        case .reason: return Schema.word(RejectReason.self)
        case .media: return Schema.word(MediaReport.self)
        case .data: return Schema.anything
        case .limit: return Schema.integer(1)
        case .cursor: return Schema.text()
        case .state: return Schema.word(Call.State.self)
        case .role: return Schema.word(Participant.Role.self)
        case .endReasons: return Schema.list(of: Schema.word(EndReason.self))
        case .since, .until: return Schema.integer(0)
        case .provider: return Schema.word(PushProvider.self)
        case .token: return Schema.text(1...limits.tokenBytes)
        case .subscription: return ["type": "object"]
        case .environment: return Schema.word(PushEnvironment.self)
        case .resume: return Schema.ref("Resume")
        }
    }

    private var about: String {
        switch self {
        case .callID, .on: ""
        case .user: "whose accept is acknowledged"
        case .to: "one participant; absent: all other joined ones"
        case .invitees: "whom to call"
        case .users: "whose invitation to withdraw; absent or empty: all"
        case .mode: "how the call behaves; absent: advanced, unless the operator says otherwise"
        case .kind: "audio, video, or the app's own word; call.list: only those"
        case .peer: "only calls with this user"
        case .timeout: "ring time; 0: the mode's own"
        case .extendedData: "opaque to the server; counted in UTF-8 bytes"
        case .deliveryCheck: "report invitees whose devices stay silent so long; true: 5 s"
        case .items: "named texts to begin with"
        case .push: "what a push notification shows: three texts"
        case .audio, .video: "whether this device sends it"
        case .holdActive: "hold the other calls instead of ending them"
        case .reason: "declined unless said otherwise"
        case .media: "what became of this device's media"
        case .force: "end the calls that are in the way"
        case .put: "texts to set, after delete"
        case .delete: "keys to remove, after clear"
        case .clear: "remove all first"
        case .data: "any JSON, forwarded byte for byte, at most 16 KiB"
        case .limit: "calls of a page; more than 100 count as 100; absent: 20"
        case .cursor: "from the page before"
        case .state: "only calls in this state"
        case .role: "only calls in which the user has this role"
        case .endReasons: "only calls that ended for one of these"
        case .since: "only calls created then or later"
        case .until: "only calls created before then"
        case .provider: "the push service"
        case .token: "hello: who the user is; else the push service's token"
        case .subscription: "instead of a token: a Web Push subscription"
        case .environment: "of the push service"
        case .device: "which device of the user this is"
        case .resume: "the session to go on with"
        case .missed: "whether to hear of missed calls"
        }
    }
}

extension OperationDescriptor {
    /// The schema of the data.
    func schema(_ rules: FieldRules) -> JSONValue {
        Schema.object(
            required.fields.map { $0.member(rules, isRequired: true) }
                + optional.fields.map { $0.member(rules, isRequired: false) })
    }
}
