// Questions about invitations that the policies have not answered.

import CallModel
import Collections

/// A question about an invitation.
struct InviteQuestion: Sendable {
    /// Whose invitation.
    let invitee: ParticipantKey
    /// What a push shows if the devices are to ring.
    let push: PushText?
    /// Where the invitation is held, if it is (H89); else negative.
    let held: Int32
    /// Where the question is counted; negative: nowhere.
    let counted: Int32
    /// What becomes of it when no plugin decides, and when the answer is late, as the operator
    /// had it when it was asked (G84); nil: as he has it now.
    var standard: Settings.InviteDefault?
    var whenLate: Settings.InviteDefault?

    /// A question about the invitation of `invitee`, which is held at `held`.
    init(
        invitee: ParticipantKey, push: PushText?, held: Int32 = -1, counted: Int32 = -1
    ) {
        self.invitee = invitee
        self.push = push
        self.held = held
        self.counted = counted
    }
}

/// Open questions, at most one about each invitation, found by their id and by that.
struct OpenQuestions: Sendable {
    private var byID = HashIndex()
    private var byInvitee = HashIndex()
    private var slab = Slab<(id: QuestionID, question: InviteQuestion)>()

    /// No questions.
    init() {}

    /// Whether no question is open.
    var isEmpty: Bool { slab.isEmpty }

    /// The ids of all.
    var ids: [QuestionID] { slab.values.map(\.id) }

    /// The question `id`; nil: it is not open.
    subscript(id: QuestionID) -> InviteQuestion? {
        byID.find(id.hash) { slab[$0]?.id == id }.flatMap { slab[$0]?.question }
    }

    /// The question about the invitation of `invitee`.
    subscript(invitee: ParticipantKey) -> InviteQuestion? {
        find(invitee).flatMap { slab[$0]?.question }
    }

    /// Whether there is a question about the invitation of `invitee`.
    func contains(_ invitee: ParticipantKey) -> Bool { find(invitee) != nil }

    /// Adds the question `id`.
    mutating func open(_ id: QuestionID, _ question: InviteQuestion) {
        precondition(!contains(question.invitee), "two questions about \(question.invitee)")
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
    /// A hash of the user that the random half of the call's id decides.
    fileprivate var hash: UInt32 { user.hash(call.low) }
}

extension QuestionID {
    /// Questions are numbered.
    fileprivate var hash: UInt32 { value.scattered }
}
