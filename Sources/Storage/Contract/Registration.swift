// Where pushes go, and what is to be pushed.

import CallModel
import JSON

/// A stored push registration.
public struct Registration: Sendable, Equatable {
    /// Whose.
    public let address: Address
    /// What was registered.
    public let registration: PushRegistration
    /// When; 0 if that was before the store kept it.
    public let at: Moment

    /// The registration of `address`, made at `at`.
    public init(_ address: Address, _ registration: PushRegistration, at: Moment) {
        self.address = address
        self.registration = registration
        self.at = at
    }
}

extension PushRegistration {
    /// The same with the token in one form, so that it is found whoever writes it: of Apple in
    /// lower case, of a browser only what pushes go by.
    var inOneForm: PushRegistration {
        var same = self
        switch provider {
        case "apns", "apns_voip": same.token = token.lowercased()
        case "web":
            guard let given = try? JSONValue(parsing: token), let endpoint = given["endpoint"],
                let key = given["keys"]?["p256dh"], let secret = given["keys"]?["auth"]
            else { break }
            let keys: JSONObject = ["p256dh": key, "auth": secret]
            same.token =
                JSONValue.object(["endpoint": endpoint, "keys": .object(keys)]).description
        default: break  // external: a provider's name
        }
        return same
    }
}

/// A stored push job.
public struct StoredPush: Sendable, Equatable {
    /// The job.
    public let id: JobID
    /// Whom to wake, and why.
    public let job: PushJob
}
