// Which push services are not believed when they call tokens dead.

/// What services said of tokens lately. One that calls the tokens of many users dead is itself in
/// trouble more probably than all their phones: to believe it would silence these for good.
struct DoubtedServices {
    private struct Answer {
        let at: Int64
        let user: Int
        let isDead: Bool
    }

    /// The newest answers of one service.
    private struct Answers {
        private var newest: [Answer] = []
        private var next = 0

        mutating func add(_ answer: Answer) {
            guard newest.count == answersMax else { return newest.append(answer) }
            newest[next] = answer
            next = (next + 1) % answersMax
        }

        /// How many users had a dead token lately, each counted once.
        func dead(at now: Int64) -> Int {
            let late = newest.filter { $0.isDead && (0..<period).contains(now - $0.at) }
            return Set(late.map(\.user)).count
        }
    }

    /// Answers of a service that are looked at.
    private static let answersMax = 40
    /// A service is not believed that called the tokens of so many users dead in them, within …
    private static let deadUsers = 20
    /// … so many milliseconds.
    private static let period: Int64 = 3_600_000
    /// Services of browsers, which users name.
    private static let browsersMax = 1_000

    private var own: [PushCarrier: Answers] = [:]
    private var browsers: [String: Answers] = [:]

    /// A service took a push.
    mutating func noteDelivered(to notice: PushNotice, at origin: String, _ now: Int64) {
        note(notice, origin, now, isDead: false)
    }

    /// Whether a service is believed that calls the token of a push dead.
    mutating func believes(_ notice: PushNotice, at origin: String, _ now: Int64) -> Bool {
        note(notice, origin, now, isDead: true)
        let provider = notice.target.provider
        let answers = provider == .web ? browsers[origin] : own[Self.service(provider)]
        return (answers?.dead(at: now) ?? 0) < Self.deadUsers
    }

    private mutating func note(
        _ notice: PushNotice, _ origin: String, _ now: Int64, isDead: Bool
    ) {
        let answer = Answer(at: now, user: notice.user.hashValue, isDead: isDead)
        let provider = notice.target.provider
        guard provider == .web else {
            return own[Self.service(provider), default: Answers()].add(answer)
        }
        if browsers[origin] == nil, browsers.count >= Self.browsersMax { browsers = [:] }
        browsers[origin, default: Answers()].add(answer)
    }

    private static func service(_ provider: PushCarrier) -> PushCarrier {
        provider == .apnsVoIP ? .apns : provider
    }
}
