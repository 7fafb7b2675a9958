// One form of a push token, whoever writes it.

import CallModel
import JSON

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
