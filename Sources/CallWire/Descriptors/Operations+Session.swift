// Operations of a connection and of a device.

import CallModel
import JSON

extension OperationDescriptor {
    static let session: [OperationDescriptor] = [
        OperationDescriptor(
            .hello, "hello", "Says who the client is; the first message of a connection.",
            ([.token, .device], [.resume, .missed]), reply: ProtocolSchemas.welcome,
            isPosted: false),
        OperationDescriptor(
            .ping, "ping", "Asks whether the server is there.", ([], []), isPosted: false),
        OperationDescriptor(.bye, "bye", "Logs this device out.", ([], [])),
        OperationDescriptor(
            .pushRegister, "device.push_register",
            "Registers this device for push notifications.",
            ([.provider], [.token, .subscription, .environment]),
            read: { values throws(Refusal) in .pushRegister(try values.registration()) },
            write: { operation, writer, _ in
                guard case .pushRegister(let registration) = operation else { return }
                writer.members(of: registration)
            }),
        OperationDescriptor(
            .pushUnregister, "device.push_unregister", "Takes a push registration back.",
            ([.provider], []),
            read: { .pushUnregister(provider: $0.provider.rawValue) },
            write: { operation, writer, _ in
                guard case .pushUnregister(let provider) = operation else { return }
                writer.field("provider", provider)
            }),
    ]
}

extension FieldValues {
    /// The data of `hello`.
    var hello: Hello {
        Hello(token: token, device: device, resume: resume, wantsMissed: isOn(.missed))
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

extension JSONWriter {
    /// A subscription is an object already; a token is text, also where it looks like an object.
    fileprivate mutating func members(of registration: PushRegistration) {
        field("provider", registration.provider)
        var token = registration.token
        let kind = token.withUTF8 { try? JSONReader.check(UnsafeRawBufferPointer($0)) }
        switch PushProvider(rawValue: registration.provider) {
        case .web? where kind == .object, .webhook? where kind == .object:
            field("subscription", raw: Array(registration.token.utf8))
        case .apns?, .apnsVoIP?, .fcm?, .web?, .webhook?, nil:
            field("token", registration.token)
        }
        given("environment", registration.environment)
    }
}
