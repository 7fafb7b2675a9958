// What the operator decides about pushes and webhooks (`push` and `webhooks` of callagent.lua).

import CallModel
import Lua

extension Configuration {
    /// The push services that are configured; nil: a provider is not.
    public struct Push: Sendable, Equatable {
        /// Apple, for `apns` and `apns_voip`.
        public var apns: APNs?
        /// Google.
        public var fcm: FCM?
        /// Browsers.
        public var web: WebPush?
        /// The operator's own service.
        public var webhook: PushGateway?

        /// No push service.
        public init() {}

        /// Whether no provider is configured.
        public var isEmpty: Bool { self == Push() }
    }

    /// An Apple developer account and one app of it.
    public struct APNs: Sendable, Equatable {
        /// The ES256 key (`AuthKey_….p8`).
        public var key: Secret
        /// The key's id.
        public var keyID: String
        /// The team's id.
        public var teamID: String
        /// The app's bundle id.
        public var bundleID: String
        /// Where production tokens go; nil: Apple's.
        public var server: String?
        /// Where sandbox tokens go; nil: Apple's.
        public var sandboxServer: String?
    }

    /// A Google service account.
    public struct FCM: Sendable, Equatable {
        /// The account's JSON file.
        public var account: Secret
        /// Where pushes go; nil: Google's.
        public var server: String?
    }

    /// How browsers know us (RFC 8292).
    public struct WebPush: Sendable, Equatable {
        /// The VAPID key: PEM, or base64url of 32 bytes.
        public var key: Secret
        /// `mailto:…` or `https:…`.
        public var subject: String
        /// Hosts of push services that subscriptions may name; nil: all.
        public var hosts: [String]?
        /// Ranges of internal addresses that those hosts may have.
        public var allow: [String] = []
    }

    /// A service of the operator that pushes.
    public struct PushGateway: Sendable, Equatable {
        /// Where pushes are posted.
        public var url: String
        /// What they are signed with, the newest first.
        public var secrets: [Secret]
    }

    /// Somebody who is told what happens.
    public struct Webhook: Sendable, Equatable {
        /// Names it in the outbox and for tools.
        public var name: String
        /// Where events are posted.
        public var url: String
        /// What they are signed with, the newest first.
        public var secrets: [Secret]
        /// The types that are wanted; nil: all.
        public var events: [String]?
        /// Ranges of internal addresses that the host may have.
        public var allow: [String] = []
    }

    /// Every type of event that receivers are told of; they are those of the protocol.
    public static let webhookEvents = [
        "call.created", "call.incoming", "call.changed", "call.timed_out", "call.cancelled",
        "call.failed", "call.media_phase", "call.media_flags", "call.hold", "call.items",
        "call.ended",
    ]
}

extension LuaValue {
    func apns() throws(LuaProblem) -> Configuration.APNs {
        let names = ["key", "key_id", "team_id", "bundle_id", "server", "sandbox_server"]
        try onlyFields(names)
        return Configuration.APNs(
            key: Configuration.Secret(try wanted("key")), keyID: try wanted("key_id"),
            teamID: try wanted("team_id"), bundleID: try wanted("bundle_id"),
            server: try optional("server"), sandboxServer: try optional("sandbox_server"))
    }

    func fcm() throws(LuaProblem) -> Configuration.FCM {
        try onlyFields(["account", "server"])
        return Configuration.FCM(
            account: Configuration.Secret(try wanted("account")), server: try optional("server"))
    }

    func webPush() throws(LuaProblem) -> Configuration.WebPush {
        try onlyFields(["key", "subject", "hosts", "allow"])
        return Configuration.WebPush(
            key: Configuration.Secret(try wanted("key")), subject: try wanted("subject"),
            hosts: try texts("hosts"), allow: try texts("allow") ?? [])
    }

    func pushGateway() throws(LuaProblem) -> Configuration.PushGateway {
        try onlyFields(["url", "secret"])
        return Configuration.PushGateway(url: try wanted("url"), secrets: try secrets())
    }

    func webhooks() throws(LuaProblem) -> [Configuration.Webhook] {
        guard let list = self == .table([]) ? [] : list else {
            throw wrong("a list of receivers")
        }
        var webhooks: [Configuration.Webhook] = []
        for (index, value) in list.enumerated() {
            let place = "[\(index + 1)]"
            do throws(LuaProblem) {
                let webhook = try value.webhook()
                guard !webhooks.contains(where: { $0.name == webhook.name }) else {
                    throw LuaProblem("'\(webhook.name)' is listed twice")
                }
                webhooks.append(webhook)
            } catch {
                throw LuaProblem(place, error.message)
            }
        }
        return webhooks
    }

    private func webhook() throws(LuaProblem) -> Configuration.Webhook {
        try onlyFields(["name", "url", "secret", "events", "allow"])
        let name = try wanted("name")
        guard (1...64).contains(name.utf8.count),
            name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
        else { throw LuaProblem("name: 1 to 64 letters, digits, '-', '.' and '_'") }
        let events = try texts("events")
        for event in events ?? [] where !Configuration.webhookEvents.contains(event) {
            let hint = Suggestion.text(for: event, among: Configuration.webhookEvents)
            throw LuaProblem("events: unknown event '\(event)'" + hint)
        }
        return Configuration.Webhook(
            name: name, url: try wanted("url"), secrets: try secrets(), events: events,
            allow: try texts("allow") ?? [])
    }

    // MARK: Fields

    private func onlyFields(_ names: [String]) throws(LuaProblem) {
        guard let table else { throw wrong("a table") }
        for pair in table where !names.contains(pair.key.text ?? "") {
            let name = pair.key.shown
            throw LuaProblem(
                "unknown field '\(name)'" + Suggestion.text(for: name, among: names))
        }
    }

    private func wanted(_ name: String) throws(LuaProblem) -> String {
        guard let text = try optional(name), !text.isEmpty else {
            throw LuaProblem("\(name) is missing")
        }
        return text
    }

    private func optional(_ name: String) throws(LuaProblem) -> String? {
        let value = self[name]
        if value.isNull { return nil }
        guard let text = value.text else {
            throw LuaProblem(name, value.wrong("a string").message)
        }
        return text
    }

    private func texts(_ name: String) throws(LuaProblem) -> [String]? {
        let value = self[name]
        if value.isNull { return nil }
        do throws(LuaProblem) {
            return try value.strings()
        } catch {
            throw LuaProblem(name, error.message)
        }
    }

    /// `secret`: one, or a list while one is being changed.
    private func secrets() throws(LuaProblem) -> [Configuration.Secret] {
        guard let texts = try texts("secret"), !texts.isEmpty else {
            throw LuaProblem("secret is missing")
        }
        return texts.map { Configuration.Secret($0) }
    }
}
