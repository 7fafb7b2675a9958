// Operations of a connection and of a device.

extension OperationDescriptor {
    static let session: [OperationDescriptor] = [
        OperationDescriptor(
            .hello, "hello", "Says who the client is; the first message of a connection.",
            ([.token, .device], [.resume, .missed, .name]), reply: welcome, traits: .ofSession),
        OperationDescriptor(
            .ping, "ping", "Asks whether the server is there.", ([], []), traits: .ofSession),
        OperationDescriptor(.bye, "bye", "Logs this device out.", ([], [])),
        OperationDescriptor(
            .pushRegister, "device.push_register",
            "Registers this device for push notifications.",
            ([.provider], [.token, .subscription, .environment]),
            phrases: ["registers {provider} {token}"],
            rule: "`web` with the `subscription` as the browser gives it, Apple and Google with a "
                + "`token`, `webhook` with either. Kept per device and provider. What no push "
                + "could go to is `bad_request`: a token of Apple that is Base64 or a path, a key "
                + "that is no point on P-256, an endpoint that is not https or leads inside.",
            make: { .pushRegister($0.registration) },
            give: { operation, values in
                guard case .pushRegister(let registration) = operation else { return }
                values.give(registration)
            }),
        OperationDescriptor(
            .pushUnregister, "device.push_unregister", "Takes a push registration back.",
            ([.provider], []), phrases: ["unregisters {provider}"],
            make: { .pushUnregister(provider: $0.provider) },
            give: { operation, values in
                guard case .pushUnregister(let provider) = operation else { return }
                values.give(.provider, provider, \.provider)
            }),
    ]

    private static let welcome: [DataMember] = [
        DataMember("user", .name),
        DataMember("device", .name),
        DataMember("session", .text, "to resume by"),
        DataMember("resumed", .flag, "whether the missed events follow"),
        DataMember("server_time_at", .time),
        DataMember("ping_interval_ms", .time),
        DataMember("resume_window_ms", .time),
        DataMember("limits", .named("Limits")),
        DataMember("server", .text),
        DataMember("modes", .list(.named("Mode")), "what calls may be, and who may do what"),
        DataMember("calls", .list(.call), "live ones, newest first"),
        DataMember("calls_more", .flag, "the rest is for call.list", optional: true),
    ]
}

extension FieldValues {
    fileprivate var registration: PushRegistration {
        PushRegistration(
            provider: provider, token: given.contains(.token) ? token : subscription,
            environment: environment)
    }

    /// A subscription is an object already; a token is text, also where it looks like an object.
    fileprivate mutating func give(_ registration: PushRegistration) {
        give(.provider, registration.provider, \.provider)
        give(.environment, registration.environment, \.environment)
        let sort = PushProvider(rawValue: provider)
        if sort == .web || sort == .webhook, registration.token.utf8.first == UInt8(ascii: "{") {
            give(.subscription, registration.token, \.subscription)
        } else {
            give(.token, registration.token, \.token)
        }
    }
}
