// Makes operations of the fields that were read.

import CallCore

extension WireDecoder {
    /// The operation `name` with `values`; nil for what the session does by itself.
    func operation(
        _ name: OperationName, _ values: FieldValues
    ) throws(Refusal) -> Operation? {
        let (id, text) = (values.callID, values.extendedData)
        switch name {
        case .hello, .ping, .bye: return nil
        case .invite: return .invite(values.invitation)
        case .add: return .add(id, invitees: values.users, push: values.push)
        case .ringing: return .ringing(id)
        case .accept: return .accept(id, values.acceptance)
        case .acceptAck: return .acceptAck(id, values.user)
        case .reject: return .reject(id, busy: values.reason == .busy, extendedData: text)
        case .cancel:
            return .cancel(id, users: values.users, extendedData: text, push: values.push)
        case .join: return .join(id, extendedData: text)
        case .leave: return .leave(id, extendedData: text)
        case .end: return .end(id, extendedData: text)
        case .report: return .report(id, values.media)
        case .media:
            return .media(id, audio: values.flag(.audio), video: values.flag(.video))
        case .hold:
            return .hold(id, on: values.isOn(.on), force: values.isOn(.force))
        case .items: return .items(id, values.itemsChange)
        case .signal: return .signal(id, to: values.addressee, data: values.data)
        case .get: return .get(id)
        case .list: return .list(values.query)
        case .token: return .token(id)
        case .pushRegister: return .pushRegister(try values.registration())
        case .pushUnregister: return .pushUnregister(provider: values.provider.rawValue)
        }
    }
}

extension FieldValues {
    /// Whether the flag `field` was given as true.
    fileprivate func isOn(_ field: Field) -> Bool { flag(field) ?? false }

    /// `to`.
    fileprivate var addressee: UserID? { given.contains(.to) ? user : nil }

    /// The data of `hello`.
    var hello: Hello { Hello(token: token, device: device, resume: resume) }

    fileprivate var invitation: Invitation {
        var invitation = Invitation(invitees: users)
        invitation.mode = mode
        invitation.kind = kind
        invitation.timeout = timeout
        invitation.extendedData = extendedData
        invitation.deliveryCheck = isOn(.deliveryCheck)
        invitation.items = texts
        invitation.push = push
        return invitation
    }

    fileprivate var acceptance: Acceptance {
        var acceptance = Acceptance(extendedData: extendedData)
        acceptance.audio = flag(.audio)
        acceptance.video = flag(.video)
        acceptance.holdActive = isOn(.holdActive)
        return acceptance
    }

    fileprivate var itemsChange: ItemsChange {
        var change = ItemsChange()
        change.clear = isOn(.clear)
        change.delete = delete
        change.put = texts
        return change
    }

    /// A registration has one of `token` and `subscription`.
    fileprivate func registration() throws(Refusal) -> PushRegistration {
        switch (given.contains(.token), given.contains(.subscription)) {
        case (true, true): throw .badField("subscription", "must not come with a token")
        case (false, false): throw .badField("token", "or subscription is required")
        case (true, false), (false, true):
            return PushRegistration(
                provider: provider.rawValue,
                token: given.contains(.token) ? token : subscription,
                environment: environment?.rawValue)
        }
    }
}
