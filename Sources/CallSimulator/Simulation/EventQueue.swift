// What is going to happen in a simulated world, in order of time.

import CallModel
import CallWire
import PolicyHost
import StoreContract

/// One connection between a phone and the server.
struct LineID: Hashable {
    let number: Int
}

/// Something that happens at a moment.
enum SimulatedEvent {
    /// A message arrives at the server.
    case toServer(LineID, [UInt8])
    /// A message arrives at a phone.
    case toPhone(LineID, [UInt8])
    /// The server notices that a line is gone, because it was silent since then; nil: because it is
    /// told so.
    case lostAtServer(LineID, silentSince: Moment?)
    /// A phone notices that its line is gone, and why if it was closed.
    case lostAtPhone(LineID, CloseCode?)
    /// An HTTP request arrives at the server.
    case request(HTTPCall)
    /// An HTTP response arrives at a phone.
    case response(HTTPCall, HTTPReply)
    /// A phone waits no longer for a response.
    case impatience(HTTPCall)
    /// A push arrives at a phone.
    case push(phone: Int)
    /// The disk is done with a commit.
    case disk(life: Int, StoreTicket, DiskOutcome)
    /// The store answers.
    case found(life: Int, StoreTicket, StoreAnswer)
    /// The server tries to open its store again.
    case reopen(life: Int)
    /// The server's turn ends, whatever came.
    case turn(life: Int)
    /// The policies answer a question.
    case answer(life: Int, QuestionID, Answer)
    /// A handler that was asked waits for something.
    case thinking(life: Int, QuestionID)
    /// The server's timer.
    case timer(life: Int, due: Moment)
    /// The server looks after its sessions.
    case housekeeping(life: Int)
    /// The server starts.
    case start(life: Int)
    /// A person does something with a phone.
    case act(phone: Int)
    /// A phone tries to connect.
    case connect(phone: Int)
}

/// What becomes of a commit.
enum DiskOutcome {
    case durable
    /// It is lost, and the server has to open the store again.
    case lost
    /// It is lost, and the server dies with it.
    case fatal
}

/// A request over HTTP, which may be tried more than once.
struct HTTPCall {
    let phone: Int
    let number: Int
    var attempt: Int
    let name: OperationName
    let body: [UInt8]
    let key: String?
    /// The session in which it was asked: another one knows better than the answer.
    let session: SessionID?
}

/// What will happen; of one moment in the order in which it was planned.
struct EventQueue {
    private var events = DeadlineHeap<SimulatedEvent>()

    var isEmpty: Bool { next == nil }
    /// The moment of the next event.
    var next: Moment? { events.first }

    mutating func plan(_ what: SimulatedEvent, at moment: Moment) {
        events.add(what, at: moment)
    }

    /// Takes the next event.
    mutating func take() -> (at: Moment, what: SimulatedEvent)? {
        guard let at = events.first, let what = events.popDue(at: at) else { return nil }
        return (at, what)
    }
}
