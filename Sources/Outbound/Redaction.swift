// What appears when somebody prints a value that holds a secret: everything but the secret.

extension SignatureKey: CustomStringConvertible {
    /// The algorithm, and whether it signs.
    public var description: String { "\(algorithm.rawValue) key\(canSign ? "" : " (public)")" }
}

extension WebhookSecret: CustomStringConvertible {
    /// Nothing of the secret.
    public var description: String { "webhook secret" }
}

extension FCMAccess: CustomStringConvertible {
    var description: String { "access token to be renewed at \(renewAt)" }
}

extension PushTarget: CustomStringConvertible {
    /// The provider and the length of the token: with the token anybody could wake the device.
    public var description: String { "\(provider.rawValue) token of \(token.utf8.count) bytes" }
}

extension WebPushSubscription: CustomStringConvertible {
    /// The push service only: the rest of the endpoint names the browser.
    public var description: String { "subscription at \(endpoint.origin)" }
}

extension OutboundRequest: CustomStringConvertible {
    /// Method, server and size: paths and bodies may hold tokens.
    public var description: String { "\(method) \(url.origin) (\(body.count) bytes)" }
}
