// Revoked tokens.

import AgentCore
import CallModel
import JSON

/// What is revoked.
enum Revocation: Sendable, Hashable {
    /// One token by its `jti`, of one issuer or of any.
    case token(String, issuer: String?)
    /// Every token of a user that was issued until now.
    case user(UserID)
    /// The same, when used by one device.
    case device(Address)
}

/// All revocations.
struct Revocations: Sendable, Equatable {
    /// `jti` of the operator's file.
    var listed: Set<String> = []
    /// When each was revoked, by the wall clock in milliseconds.
    private(set) var moments: [Revocation: Int64] = [:]

    /// Adds a revocation at `wall`, and forgets those from before `oldest`.
    mutating func add(_ revocation: Revocation, at wall: Int64, forgetting oldest: Int64 = .min) {
        if oldest > .min { moments = moments.filter { $0.value >= oldest } }
        moments[revocation] = wall
    }

    /// Whether a token is revoked for `device`.
    func cover(_ identity: Identity, on device: DeviceID) -> Bool {
        if let id = identity.token?.id {
            if listed.contains(id) || moments[.token(id, issuer: nil)] != nil { return true }
            if let issuer = identity.token?.issuer, moments[.token(id, issuer: issuer)] != nil {
                return true
            }
        }
        return cover(identity, .user(identity.user))
            || cover(identity, .device(Address(identity.user, device)))
    }

    /// A token without the time of its issue may be an old one.
    private func cover(_ identity: Identity, _ revocation: Revocation) -> Bool {
        guard let moment = moments[revocation] else { return false }
        return identity.token?.issuedAt.map { $0 <= moment } ?? true
    }
}

// MARK: - As text

extension Revocation {
    /// The prefix of the store's keys of revocations.
    static let prefix = "revoked "

    /// A key for the store.
    var storeKey: String { Self.prefix + JSONValue.array(parts.map { .string($0) }).description }

    /// The revocation in a key of the store.
    init?(storeKey: String) {
        guard storeKey.hasPrefix(Self.prefix),
            let parts = try? JSONValue(parsing: String(storeKey.dropFirst(Self.prefix.count)))
                .array?.compactMap(\.string)
        else { return nil }
        switch (parts.first, parts.count) {
        case ("token", 2): self = .token(parts[1], issuer: nil)
        case ("token", 3): self = .token(parts[1], issuer: parts[2])
        case ("user", 2): self = .user(UserID(parts[1]))
        case ("device", 3): self = .device(Address(UserID(parts[1]), DeviceID(parts[2])))
        default: return nil
        }
    }

    private var parts: [String] {
        switch self {
        case .token(let id, nil): ["token", id]
        case .token(let id, let issuer?): ["token", id, issuer]
        case .user(let user): ["user", user.text]
        case .device(let address): ["device", address.user.text, address.device.text]
        }
    }
}
