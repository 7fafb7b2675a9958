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
    private var slab = Slab<InviteQuestion>()
    /// By the places of the questions, which need not be copied to be found; 0: it is free.
    private var idsByPlace: [QuestionID] = []

    var isEmpty: Bool { slab.isEmpty }

    var ids: [QuestionID] { idsByPlace.filter { $0.value != 0 } }

    /// The question `id`; nil: it is not open.
    subscript(id: QuestionID) -> InviteQuestion? { find(id).flatMap { slab[$0] } }

    /// The question about the invitation of `invitee`.
    subscript(invitee: ParticipantKey) -> InviteQuestion? { find(invitee).flatMap { slab[$0] } }

    mutating func open(_ id: QuestionID, _ question: InviteQuestion) {
        precondition(find(question.invitee) == nil, "two questions about \(question.invitee)")
        let hash = question.invitee.hash
        let place = slab.insert(question)
        byID.insert(id.hash, place)
        byInvitee.insert(hash, place)
        if Int(place) == idsByPlace.count { idsByPlace.append(id) }
        idsByPlace[Int(place)] = id
    }

    /// Takes the question `id` out; nil: it is not open.
    mutating func close(_ id: QuestionID) -> InviteQuestion? { find(id).flatMap { close($0) } }

    /// Takes the question about the invitation of `invitee` out, and returns its id.
    mutating func close(
        about invitee: ParticipantKey
    ) -> (id: QuestionID, question: InviteQuestion)? {
        guard let place = find(invitee) else { return nil }
        let id = idsByPlace[Int(place)]
        return close(place).map { (id, $0) }
    }

    private func find(_ id: QuestionID) -> Int32? {
        byID.find(id.hash) { idsByPlace[Int($0)] == id }
    }

    private func find(_ invitee: ParticipantKey) -> Int32? {
        byInvitee.find(invitee.hash) { slab[$0]?.invitee == invitee }
    }

    private mutating func close(_ place: Int32) -> InviteQuestion? {
        guard let question = slab.remove(at: place) else { return nil }
        byID.remove(idsByPlace[Int(place)].hash, place)
        byInvitee.remove(question.invitee.hash, place)
        idsByPlace[Int(place)] = QuestionID(0)
        return question
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
