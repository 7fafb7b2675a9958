// What people are called, on its way from tokens and the store to whoever is told.

import CallModel
import StoreContract

extension Exchange {
    /// A good token of `user` says what the user is called.
    func learn(_ name: PersonName, of user: UserID) {
        let changes = names.learn(name, of: user)
        if !changes.isEmpty { unconfirmed.keep(changes) }
    }

    /// What `user` is called is no longer known, except from the operator's file.
    public func forgetName(of user: UserID) {
        for change in names.set(nil, of: user) { queue.add(change) }
    }

    func loadNames() {
        if let page = names.nextPage { find(page, for: .names) }
    }

    func take(_ page: [StoredName]) {
        let gone = names.take(page)
        if !gone.isEmpty { unconfirmed.keep(gone) }
        loadNames()
    }

    /// What policies see of these users, with their names.
    public func named(_ facts: [UserFacts]) -> [UserFacts] {
        guard !names.isEmpty else { return facts }
        return facts.map { facts in
            var facts = facts
            facts.name = names.name(of: facts.user)
            return facts
        }
    }

    /// The question with the names of those whom it concerns.
    func named(_ question: Question) -> Question {
        guard !names.isEmpty else { return question }
        var question = question
        let known = Set(question.facts.map(\.user))
        let others = question.subject.others.filter { !known.contains($0) }
        question.facts = named(
            question.facts + others.map { UserFacts($0, calls: 0, devices: 0) })
        return question
    }

    func named(_ report: Report) -> Report {
        guard !names.isEmpty else { return report }
        var report = report
        report.facts = named(report.facts)
        return report
    }
}

extension Question.Subject {
    /// Whom it concerns who need not be in the call.
    fileprivate var others: [UserID] {
        switch self {
        case .dial(_, _, let invitees): invitees
        case .outgoingData(_, let texts): texts.map(\.receiver)
        case .join(_, let user): [user]
        case .invite, .incomingData, .token: []
        }
    }
}
