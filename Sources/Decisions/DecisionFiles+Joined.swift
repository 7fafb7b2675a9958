// What files and a process know of the same call, as one.

import JSON

extension DecisionFiles {
    /// What files and process have of a call, oldest first: the files have more of each decision,
    /// the process has also what the disk did not take.
    public static func joined(_ files: [JSONValue], _ process: [JSONValue]) -> [JSONValue] {
        let known = Set(files.map(Key.init))
        let missing = process.filter { !known.contains(Key($0)) }
        if missing.isEmpty { return files }
        return (files + missing).sorted { moment(of: $0) < moment(of: $1) }
    }

    /// When a decision was made, in milliseconds; 0: it does not say.
    public static func moment(of decision: JSONValue) -> Int64 { decision["at"]?.integer ?? 0 }

    /// What tells two decisions about one call apart.
    private struct Key: Hashable {
        let at: Int64
        let event, user, shadow: String?

        init(_ decision: JSONValue) {
            at = moment(of: decision)
            event = decision["event"]?.string
            user = decision["user"]?.string
            shadow = decision["shadow"]?.string
        }
    }
}
