// Commits batches until somebody kills the process, and tells what was acknowledged.

import CallModel
import Glibc
import Storage
import StoreContract

/// The writer of the crash test.
///
/// Batch `n` holds call `n` live, ends call `n - 3`, keeps a reply under the key `n`, adds 1 to the
/// counter and opens job `n` while it finishes job `n - 2`. So whoever knows the number of the last
/// commit knows what the store must hold. Random filling makes batches of different size.
struct Writer {
    let store: Store
    var dice: SeededGenerator
    var number: Int64

    init(directory: String, seed: UInt64) throws {
        dice = SeededGenerator(seed: seed)
        store = try Store(in: StateDirectory(claiming: directory))
        let state = try store.restore(at: Moment(1))
        number = state.newestMoment?.milliseconds ?? 0
    }

    mutating func run() throws {
        while true {
            number += 1
            try store.commit(batch(), at: Moment(number))
            acknowledge()
        }
    }

    /// One write, so that the line is whole or absent.
    private func acknowledge() {
        let line = Array("\(number)\n".utf8)
        _ = write(1, line, line.count)
    }

    private mutating func batch() -> [StoreChange] {
        let reply = [UInt8](repeating: 65, count: Int.random(in: 0...6_000, using: &dice))
        let id = callID(number)
        var records: [StoreChange] = [
            .call(call(number)),
            .key(
                KeyEntry(
                    user: UserID("u\(number % 7)"), key: "k\(number)", at: Moment(number),
                    kept: KeptReply(bodyHash: UInt64(number), reply: reply))),
            .value(.increment(plugin: "p", key: "n", by: 1, expiresAt: nil)),
            .push(.add(JobID(number), PushJob(.invite, callID: id, user: UserID("bob")))),
        ]
        if number > 2 { records.append(.push(.finish(JobID(number - 2)))) }
        if number > 3 { records.append(.call(ended(number - 3))) }
        return records
    }

    private func callID(_ number: Int64) -> CallID { CallID(high: UInt64(number) << 16, low: 1) }

    private func call(_ number: Int64) -> Call {
        var call = Call(
            id: callID(number), mode: .advanced, kind: "audio", ringTime: 90_000,
            deliveryCheck: nil, createdAt: Moment(number))
        call.participants = [
            Participant(user: UserID("ann"), role: .caller, state: .joined, at: Moment(number)),
            Participant(user: UserID("bob"), role: .invitee, state: .ringing, at: Moment(number)),
        ]
        return call
    }

    private func ended(_ number: Int64) -> Call {
        var call = call(number)
        call.state = .ended
        call.endedAt = Moment(self.number)
        call.end = Call.End(.completed)
        return call
    }
}
