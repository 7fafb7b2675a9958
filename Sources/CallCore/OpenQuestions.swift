// Questions about invitations that the policies have not answered.

import CallModel
import Collections

/// A question about an invitation.
struct InviteQuestion: Sendable {
    let invitee: ParticipantKey
    /// What a push shows if the devices are to ring.
    let push: PushText?
    /// Where the invitation is held, if it is (H89); else negative.
    var held: Int32 = -1
    /// Its place in `questionCounts` (G76); negative: it is not counted.
    var counted: Int32 = -1
    /// What happens when no plugin decides, in the settings of the moment when it was asked (G84);
    /// nil: in the settings of now.
    var standard: Settings.InviteDefault?
    /// The same for an answer that comes too late (F59).
    var whenLate: Settings.InviteDefault?
}

/// Open questions, found by their id and by their invitation. An invitation has one at most, so
/// that a late answer cannot decide twice.
struct OpenQuestions: Sendable {
    private var byID = HashIndex()
    private var byInvitee = HashIndex()
    private var slab = Slab<(id: QuestionID, question: InviteQuestion)>()

    var isEmpty: Bool { slab.isEmpty }

    var ids: [QuestionID] { slab.values.map(\.id) }

    /// The question `id`; nil: it is not open.
    subscript(id: QuestionID) -> InviteQuestion? {
        byID.find(id.hash) { slab[$0]?.id == id }.flatMap { slab[$0]?.question }
    }

    /// The question about the invitation of `invitee`.
    subscript(invitee: ParticipantKey) -> InviteQuestion? {
        find(invitee).flatMap { slab[$0]?.question }
    }

    mutating func open(_ id: QuestionID, _ question: InviteQuestion) {
        precondition(find(question.invitee) == nil, "two questions about \(question.invitee)")
        let place = slab.insert((id, question))
        byID.insert(id.hash, place)
        byInvitee.insert(question.invitee.hash, place)
    }

    /// Takes the question `id` out; nil: it is not open.
    mutating func close(_ id: QuestionID) -> InviteQuestion? {
        byID.find(id.hash) { slab[$0]?.id == id }.flatMap { close($0)?.question }
    }

    /// Takes the question about the invitation of `invitee` out, and returns its id.
    mutating func close(
        about invitee: ParticipantKey
    ) -> (id: QuestionID, question: InviteQuestion)? {
        find(invitee).flatMap { close($0) }
    }

    private func find(_ invitee: ParticipantKey) -> Int32? {
        byInvitee.find(invitee.hash) { slab[$0]?.question.invitee == invitee }
    }

    private mutating func close(_ place: Int32) -> (id: QuestionID, question: InviteQuestion)? {
        guard let entry = slab.remove(at: place) else { return nil }
        byID.remove(entry.id.hash, place)
        byInvitee.remove(entry.question.invitee.hash, place)
        return entry
    }
}

extension ParticipantKey {
    /// Seeded with the random half of the call's id: callers choose names, and must not be able to
    /// choose names that collide.
    fileprivate var hash: UInt32 { user.hash(call.low) }
}

extension QuestionID {
    /// Questions are numbered by the switchboard, so the hash needs no seed.
    fileprivate var hash: UInt32 { value.scattered }
}
