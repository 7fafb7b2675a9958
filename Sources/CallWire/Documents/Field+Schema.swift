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
        case .name: return Schema.text(0...PersonName.bytesMax)
        }
    }
}

extension OperationDescriptor {
    /// The schema of the data.
    func schema(_ rules: FieldRules) -> JSONValue {
        Schema.object(
            required.fields.map { needed($0, rules) }
                + optional.fields.map { $0.member(rules, isRequired: false) })
    }

    /// A list of users that is required has somebody in it.
    private func needed(_ field: Field, _ rules: FieldRules) -> SchemaMember {
        guard field == .users else { return field.member(rules, isRequired: true) }
        let most = name == .userGet ? PersonName.askedAtOnce : rules.limits.listEntries
        let users = Schema.list(of: Schema.ref("Name"), 1...most)
        return SchemaMember(field.name, users, field.about, optional: false)
    }
}
