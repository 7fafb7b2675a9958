// One form of a push token, whoever writes it.

import CallModel
import JSON

extension PushRegistration {
    /// The registration with its token in one form, so that it is found however it was written: an
    /// Apple token in lower case, of a browser's subscription only the parts that pushes need.
    package var inOneForm: PushRegistration {
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
