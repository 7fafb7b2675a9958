// Makes operations of the fields that were read.

import CallModel

extension WireDecoder {
    /// The operation `name` with `values`; nil for what the session does by itself.
    func operation(
        _ name: OperationName, _ values: FieldValues
    ) throws(Refusal) -> Operation? {
        switch name {
        case .hello, .ping, .bye: return nil
        case .invite: return .invite(values.invitation)
        case .list: return .list(values.query)
        case .pushRegister: return .pushRegister(try values.registration())
        case .pushUnregister: return .pushUnregister(provider: values.provider.rawValue)
        case .add: return values.operation(.add(values.users, push: values.push))
        case .ringing: return values.operation(.ringing)
        case .accept: return values.operation(.accept(values.acceptance))
        case .acceptAck: return values.operation(.acceptAck(values.user))
        case .reject: return values.operation(.reject(busy: values.reason == .busy))
        case .cancel: return values.operation(.cancel(values.users, push: values.push))
        case .join:
            return values.operation(
                .join(audio: values.flag(.audio), video: values.flag(.video)))
        case .leave: return values.operation(.leave(push: values.push))
        case .end: return values.operation(.end(push: values.push))
        case .report: return values.operation(.report(values.media))
        case .media:
            return values.operation(
                .media(audio: values.flag(.audio), video: values.flag(.video)))
        case .hold:
            return values.operation(.hold(on: values.isOn(.on), force: values.isOn(.force)))
        case .items: return values.operation(.items(values.itemsChange))
        case .signal: return values.operation(.signal(to: values.addressee, data: values.data))
        case .get: return values.operation(.get)
        case .token: return values.operation(.token)
        }
    }
}

extension FieldValues {
    /// `action` on the call that is named, with the text that comes with it.
    fileprivate func operation(_ action: CallAction) -> Operation {
        .call(callID, action, saying: extendedData)
    }

    /// Whether the flag `field` was given as true.
    fileprivate func isOn(_ field: Field) -> Bool { flag(field) ?? false }

    /// `to`.
    fileprivate var addressee: UserID? { given.contains(.to) ? user : nil }

    /// The data of `hello`.
    var hello: Hello {
        Hello(token: token, device: device, resume: resume, wantsMissed: isOn(.missed))
    }

    fileprivate var invitation: Invitation {
        var invitation = Invitation(invitees: users)
        invitation.mode = mode
        invitation.kind = kind
        invitation.timeout = timeout
        invitation.extendedData = extendedData
        invitation.deliveryCheck = deliveryCheck
        invitation.audio = flag(.audio)
        invitation.video = flag(.video)
        invitation.items = texts
        invitation.push = push
        return invitation
    }

    fileprivate var acceptance: Acceptance {
        var acceptance = Acceptance()
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

    /// A registration has one of `token` and `subscription`: browsers have subscriptions, Apple
    /// and Google tokens; what the operator's own service wants is for that to know.
    fileprivate func registration() throws(Refusal) -> PushRegistration {
        switch (given.contains(.token), given.contains(.subscription)) {
        case (true, true): throw .badField("subscription", "must not come with a token")
        case (false, false):
            if provider == .web { throw .badField("subscription", "is required for 'web'") }
            throw .badField("token", "or subscription is required")
        case (true, false):
            switch provider {
            case .web:
                throw .badField("subscription", "is required for 'web', rather than a token")
            case .apns, .apnsVoIP: try PushToken.checkApple(token)
            case .fcm: try PushToken.checkGoogle(token)
            case .webhook: break
            }
            return registration(token)
        case (false, true):
            switch provider {
            case .apns, .apnsVoIP, .fcm:
                throw .badField(
                    "token", "is required for '\(provider.rawValue)', rather than a subscription")
            case .web: try WebSubscription.check(subscription)
            case .webhook: break
            }
            return registration(subscription)
        }
    }

    private func registration(_ token: String) -> PushRegistration {
        PushRegistration(
            provider: provider.rawValue, token: token, environment: environment?.rawValue)
    }
}
