// What is going to happen in a simulated world, in order of time.

import CallModel
import CallWire

/// One connection between a phone and the server.
struct LineID: Hashable {
    let number: Int
}

/// Something that happens at a moment.
enum Happening {
    /// A message arrives at the server.
    case toServer(LineID, [UInt8])
    /// A message arrives at a phone.
    case toPhone(LineID, [UInt8])
    /// The server notices that a line is gone.
    case lostAtServer(LineID)
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
    /// The disk is done with a commit, or failed to.
    case disk(life: Int, fails: Bool)
    /// The policies answer a question.
    case answer(life: Int, QuestionID, Answer)
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

/// A heap of happenings; those of one moment come in the order in which they were planned.
struct Agenda {
    private struct Entry {
        let at: Moment
        let order: Int
        let what: Happening

        func isBefore(_ other: Entry) -> Bool {
            at == other.at ? order < other.order : at < other.at
        }
    }

    private var heap: [Entry] = []
    private var planned = 0

    var isEmpty: Bool { heap.isEmpty }
    /// The moment of the next happening.
    var next: Moment? { heap.first?.at }

    mutating func plan(_ what: Happening, at moment: Moment) {
        heap.append(Entry(at: moment, order: planned, what: what))
        planned += 1
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the next happening.
    mutating func take() -> (at: Moment, what: Happening)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.at, first.what)
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
