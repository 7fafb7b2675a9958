// What a node of a cluster hears of its lease, and who hears it.

import CallModel
import ClusterCore
import ClusterStorage
import StoreContract

/// What a node hears of its lease.
enum MemberNews: Sendable {
    /// It owns from now on.
    case owns(Grant)
    /// Somebody wants it to give up to this node; empty: to any other one.
    case asked(to: String)
    /// For long enough more nodes have seen that one than see this owner.
    case outnumbered(by: String)
    /// It owns no more, and who does.
    case lost(to: Term)
    /// Another process of its name owns.
    case replaced(by: Term)
    /// Another owner than before was seen, while it waits.
    case sees(LeaseRow)
    /// The row was read while it waits, where the owner is reached, and who sees whom. Only of a
    /// node that has links.
    case looked(LeaseRow, owner: NodePlace, ClusterView)
    /// The digest of each node's certificate, read after this was asked for so many times; nil:
    /// the database does not answer.
    case fingerprints([String: [UInt8]]?, asked: Int)
    /// The generation in force is loaded here too, or why it cannot be.
    case warmed(WarmState)
    /// The database does not answer; nil: it does again.
    case trouble(StoreError?)
    /// The days of calls cannot be kept; nil: they can again.
    case days(StoreError?)
    /// What it sees of the cluster while it owns.
    case sight(ClusterSight)
    /// The database is at an earlier moment than it was.
    case setBack(SetBack)
}

/// Who hears the news, and what nobody has heard yet.
struct MemberEars: Sendable {
    var listener: (@Sendable (MemberNews) -> Void)?
    /// Whether `owns` is the last that it hears.
    var endsWhenItOwns = false
    var unheard: [MemberNews] = []

    mutating func hear(_ news: MemberNews) {
        guard let listener else { return keep(news) }
        if case .owns = news, endsWhenItOwns { self.listener = nil }
        listener(news)
    }

    /// Of each kind the last one, where it still matters to whoever listens next.
    private mutating func keep(_ news: MemberNews) {
        switch news {
        case .owns, .sees, .looked, .fingerprints, .warmed, .days, .sight: return
        case .outnumbered: break
        case .trouble: unheard.removeAll { if case .trouble = $0 { true } else { false } }
        case .asked: unheard.removeAll { if case .asked = $0 { true } else { false } }
        case .lost: unheard.removeAll { if case .lost = $0 { true } else { false } }
        case .replaced, .setBack: break
        }
        unheard.append(news)
    }
}
