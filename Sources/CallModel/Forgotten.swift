// Somebody who is to be known no more.

/// A user whom records that stay must not name any more, and what stands in their place.
public struct Forgotten: Sendable, Equatable {
    /// Who is forgotten.
    public let user: UserID
    /// `deleted:` and 16 digits: nobody can tell whose place it takes, and no token may name it.
    public let substitute: UserID
    /// What the user was called, which texts may say; nil: nothing is known.
    public let name: PersonName?

    /// `user`, called `name`, is to be known as `substitute` only.
    public init(_ user: UserID, as substitute: UserID, called name: PersonName? = nil) {
        (self.user, self.substitute, self.name) = (user, substitute, name)
    }

    /// What a substitute begins with.
    public static let prefix = "deleted:"

    /// A substitute that nobody had before.
    public static func newSubstitute(
        _ dice: inout some RandomNumberGenerator
    ) -> UserID {
        let digits = String(UInt64.random(in: 0..<10_000_000_000_000_000, using: &dice))
        return UserID(prefix + String(repeating: "0", count: 16 - digits.utf8.count) + digits)
    }

    /// The substitute in the place of the user; everybody else stays who they are.
    public func replacing(_ id: UserID) -> UserID { id == user ? substitute : id }

    /// `text` with the substitute wherever it names the user: by their id, or by their name. A
    /// longer word that contains one of the two names somebody else.
    public func replacing(in text: String) -> String {
        let withoutID = Self.replace(user.text, by: substitute.text, in: text)
        guard let name else { return withoutID }
        return Self.replace(name.text, by: substitute.text, in: withoutID)
    }

    /// Whether `text` names the user.
    public func isNamed(in text: String) -> Bool {
        !Self.places(of: Array(user.text.utf8), in: Array(text.utf8)).isEmpty
            || name.map { !Self.places(of: Array($0.text.utf8), in: Array(text.utf8)).isEmpty }
                ?? false
    }

    private static func replace(_ word: String, by other: String, in text: String) -> String {
        let bytes = Array(text.utf8)
        let word = Array(word.utf8)
        let places = places(of: word, in: bytes)
        guard !places.isEmpty else { return text }
        var new: [UInt8] = []
        var end = 0
        for place in places {
            new += bytes[end..<place]
            new += other.utf8
            end = place + word.count
        }
        return String(decoding: new + bytes[end...], as: UTF8.self)
    }

    /// Where `word` stands in `text` by itself.
    private static func places(of word: [UInt8], in text: [UInt8]) -> [Int] {
        guard let first = word.first, word.count <= text.count else { return [] }
        var found: [Int] = []
        var place = 0
        while place + word.count <= text.count {
            let end = place + word.count
            if text[place] == first, text[place..<end].elementsEqual(word),
                !goesOn(text, at: place - 1, -1), !goesOn(text, at: end, 1)
            {
                found.append(place)
                place = end
            } else {
                place += 1
            }
        }
        return found
    }

    /// Whether the byte at `place` belongs to the word beside it. A dot does if more follows.
    private static func goesOn(_ text: [UInt8], at place: Int, _ step: Int) -> Bool {
        guard text.indices.contains(place) else { return false }
        if text[place] == UInt8(ascii: ".") {
            let next = place + step
            return text.indices.contains(next) && isOfWord(text[next])
        }
        return isOfWord(text[place])
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: "_-+@".utf8.contains(byte)  // external: any byte of a text
        }
    }
}

extension Call {
    /// The call as it may be kept: without the user, what they said in it, and their devices.
    public func forgetting(_ gone: Forgotten) -> Call {
        var call = self
        if caller == gone.user { call.extendedData = nil }
        for place in call.participants.indices {
            call.participants[place].forget(gone)
        }
        if let receiver { call.receiver = gone.replacing(receiver) }
        if let end {
            let by = end.by.map { gone.replacing($0) }
            let said = end.by == gone.user ? nil : end.extendedData
            call.end = End(end.reason, detail: end.detail, by: by, extendedData: said)
        }
        if !views.isEmpty { call.views = views.compactMap { forgetting(gone, $0) } }
        call.transfers = transfers.map { transfer in
            Transfer(
                to: gone.replacing(transfer.to), by: gone.replacing(transfer.by),
                extendedData: transfer.by == gone.user ? nil : transfer.extendedData,
                isPending: transfer.isPending)
        }
        call.removed = removed.map { gone.replacing($0) }
        call.returns = returns.map { Return(gone.replacing($0.user), firstAt: $0.firstAt) }
        call.forks = forks.map { fork in
            Fork(
                by: gone.replacing(fork.by), waiting: fork.waiting.map { gone.replacing($0) },
                each: fork.each, until: fork.until)
        }
        return call
    }

    /// What others see instead of the user's texts goes with these.
    private func forgetting(_ gone: Forgotten, _ view: View) -> View? {
        let author: UserID? =
            switch view.owner {
            case .call: caller
            case .participant(let user): user
            case .end: end?.by
            case .transfer: transfer(to: view.receiver)?.by
            }
        guard author != gone.user else { return nil }
        return View(receiver: gone.replacing(view.receiver), owner: view.owner, text: view.text)
    }
}

extension Participant {
    fileprivate mutating func forget(_ gone: Forgotten) {
        invitedBy = invitedBy.map { gone.replacing($0) }
        guard user == gone.user else { return }
        user = gone.substitute
        (extendedData, device, policyNote) = (nil, nil, nil)
    }
}
