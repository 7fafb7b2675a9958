// The operator's push services and receivers of events, with their keys read.

import Configuration
import Outbound

/// What is sent out, as configured.
public struct OutboundPlan: Sendable {
    /// The push services.
    var push = PushServices()
    /// The receivers of events.
    var webhooks: [WebhookEndpoint] = []
    /// Which events a receiver wants, by its name; none: all.
    var wanted: [String: Set<String>] = [:]
    /// Whether any push service is configured.
    var pushes = false
    /// Registrations of one user that a push goes to (G79): a store may have more of them from
    /// before the number was lowered.
    var registrationsPerUser = 10
    /// Whether some plugin shapes pushes.
    var shapesPushes = false

    /// What pages need for a subscription to Web Push, in base64url; nil: it is not configured.
    var webPushKey: String? { push.web?.publicKey }

    /// Nothing is sent out.
    init() {}

    /// Reads the keys and addresses of a configuration.
    ///
    /// - Throws: `configuration`, naming the field that is no good.
    init(_ configuration: Configuration) throws(AgentError) {
        pushes = !configuration.push.isEmpty
        registrationsPerUser = configuration.devicesPerUser
        let reader = Reader(configuration: configuration)
        try reader.readPush(into: &push)
        for (index, webhook) in configuration.webhooks.enumerated() {
            let place = "webhooks: [\(index + 1)]"
            webhooks.append(
                WebhookEndpoint(
                    webhook.name, try reader.url(webhook.url, "\(place): url"),
                    secrets: try reader.secrets(webhook.secrets, place),
                    addresses: try reader.addresses(webhook.allow, place)))
            wanted[webhook.name] = webhook.events.map { Set($0) }
        }
    }

    /// Whether the receiver `name` is told of events of this type.
    func isWanted(_ type: String, by name: String) -> Bool {
        wanted[name]?.contains(type) ?? true
    }
}

/// Reads texts of the configuration; what is wrong with one is told with its place.
private struct Reader {
    let configuration: Configuration

    func readPush(into services: inout PushServices) throws(AgentError) {
        if let apns = configuration.push.apns { services.apns = try identity(of: apns) }
        if let fcm = configuration.push.fcm { services.fcm = try identity(of: fcm) }
        if let web = configuration.push.web { services.web = try identity(of: web) }
        guard let gateway = configuration.push.webhook else { return }
        services.webhook = WebhookPushIdentity(
            try url(gateway.url, "push: webhook: url"),
            secrets: try secrets(gateway.secrets, "push: webhook"))
    }

    private func identity(of apns: Configuration.APNs) throws(AgentError) -> APNsIdentity {
        let place = "push: apns"
        let key: SignatureKey
        do throws(KeyError) {
            key = try SignatureKey(.es256, apns.key.text)
            guard key.canSign else { throw KeyError.publicOnly }
        } catch {
            throw trouble("\(place): key: \(error)")
        }
        var identity: APNsIdentity
        do throws(URLError) {
            identity = try APNsIdentity(
                key: key, keyID: apns.keyID, teamID: apns.teamID, bundleID: apns.bundleID)
        } catch {
            throw trouble("\(place): \(error)")
        }
        if let server = apns.server {
            identity.production = try url(server, "\(place): server")
        }
        if let server = apns.sandboxServer {
            identity.sandbox = try url(server, "\(place): sandbox_server")
        }
        return identity
    }

    private func identity(of fcm: Configuration.FCM) throws(AgentError) -> FCMIdentity {
        var identity: FCMIdentity
        do throws(ServiceAccountError) {
            identity = try FCMIdentity(serviceAccount: fcm.account.text)
        } catch {
            throw trouble("push: fcm: account: \(error)")
        }
        if let server = fcm.server { identity.service = try url(server, "push: fcm: server") }
        return identity
    }

    private func identity(of web: Configuration.WebPush) throws(AgentError) -> WebPushIdentity {
        let place = "push: web"
        guard web.subject.hasPrefix("mailto:") || web.subject.hasPrefix("https:") else {
            throw trouble("\(place): subject begins with 'mailto:' or 'https:'")
        }
        var identity: WebPushIdentity
        do throws(KeyError) {
            identity = try WebPushIdentity(key: web.key.text, subject: web.subject)
        } catch {
            throw trouble("\(place): key: \(error)")
        }
        identity.hosts = web.hosts
        identity.addresses = try addresses(web.allow, place)
        return identity
    }

    func url(_ text: String, _ place: String) throws(AgentError) -> HTTPURL {
        do throws(URLError) {
            return try HTTPURL(text)
        } catch {
            throw trouble("\(place) \(error)")
        }
    }

    func secrets(
        _ texts: [Configuration.Secret], _ place: String
    ) throws(AgentError) -> [WebhookSecret] {
        do throws(WebhookSecretError) {
            return try texts.map { text throws(WebhookSecretError) in
                try WebhookSecret(text.text)
            }
        } catch {
            throw trouble("\(place): secret: \(error)")
        }
    }

    func addresses(_ texts: [String], _ place: String) throws(AgentError) -> AddressGuard {
        var ranges: [AddressRange] = []
        for text in texts {
            guard let range = AddressRange(text) else {
                throw trouble("\(place): allow: '\(text)' is no address range (10.0.0.0/8)")
            }
            ranges.append(range)
        }
        return AddressGuard(allowing: ranges)
    }

    private func trouble(_ text: String) -> AgentError {
        let name = String(text.prefix { $0 != ":" })
        let line = configuration.lines[name].map { ":\($0)" } ?? ""
        return .configuration("\(configuration.file ?? "callagent.lua")\(line): \(text)")
    }
}
