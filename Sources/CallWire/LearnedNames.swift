// What a client has heard people be called.

import CallModel
import JSON

/// The names in what a server said, the newest ones of each user. A name is shown; it never says
/// who somebody is.
public struct LearnedNames: Sendable, Equatable {
    private var names: [UserID: String] = [:]
    /// How many users have room; with one more all begin anew.
    private let limit: Int

    /// Nothing was heard.
    public init(limit: Int = 1_000) { self.limit = limit }

    /// What `user` is called; nil: that was not heard.
    public subscript(user: UserID) -> String? { names[user] }

    /// Hears a message of a server.
    mutating func hear(_ message: JSONValue) {
        for place in ["ok", "data"] {
            guard let said = message[place] else { continue }
            if let call = said["call"] { hear(of: call) }
            for call in said["calls"]?.array ?? [] { hear(of: call) }
            for user in said["users"]?.array ?? [] { learn(user) }
        }
    }

    private mutating func hear(of call: JSONValue) {
        for participant in call["participants"]?.array ?? [] { learn(participant) }
    }

    private mutating func learn(_ one: JSONValue) {
        guard let user = one["user"]?.user, let name = one["name"] else { return }
        // A server may be another one: its word is checked as the one of clients is.
        let text = name.string.flatMap { PersonName(checking: $0)?.text }
        if text != nil, names[user] == nil, names.count >= limit { names = [:] }
        names[user] = text
    }
}
