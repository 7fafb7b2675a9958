// A call as handlers see it: written once per event, read field by field in Lua.

import CLua
import CallModel
import Lua

/// What a snapshot is made of.
struct CallView {
    let call: Call
    let facts: [UserFacts]
    let now: Moment
    /// Whose invitation it is about.
    var callee: UserID?
    /// Who would see the data that is shaped.
    var receiver: UserID?
    /// Who sent the data that is shaped.
    var sender: UserID?
    /// For `on.dial`: who asks, which in a call under way need not be its caller.
    var asker: UserID?
    /// For `on.dial`: the users to be invited.
    var invitees: [UserID]?

    /// What is known of `user`.
    func facts(of user: UserID) -> UserFacts {
        facts.first { $0.user == user } ?? UserFacts(user, calls: 0, devices: 0)
    }

    /// What is known of the participant at `index`: usually it stands at the same place.
    func facts(of user: UserID, near index: Int) -> UserFacts {
        if index < facts.count, facts[index].user == user { return facts[index] }
        return facts(of: user)
    }

    /// Time until the deadline of the invitation, or of the latest one. Where time begins with
    /// what a device acknowledges (`handshake`), all of it remains until then.
    func remaining(at moment: Moment) -> Milliseconds {
        var latest: Moment?
        var isUntold = false
        call.participants.withUnsafeBufferPointer { people in
            for index in people.indices {
                if let callee, people[index].user != callee { continue }
                guard let deadline = people[index].deadlineAt else {
                    isUntold = isUntold || people[index].state.mayAnswer
                    continue
                }
                latest = latest.map { max($0, deadline) } ?? deadline
            }
        }
        return latest.map { max(0, $0 - moment) } ?? (isUntold ? call.ringTime : 0)
    }
}

extension PlainWriter {
    /// Writes a call as `PLAIN_CALL`.
    func call(_ view: CallView, modeName: String) {
        tag(PLAIN_CALL)
        let lengthPlace = count
        length(0)
        let start = count
        word(view.call.id.high)
        word(view.call.id.low)
        let table = count
        for _ in 0..<PLAIN_CALL_FIELDS { length(0) }
        fields(of: view, modeName: modeName, start: start, table: table)
        setCount(count - start, at: lengthPlace)
    }

    /// Writes the values; `mark` is told before each which field it is, or where it stands.
    private func fields(of view: CallView, modeName: String, start: Int, table: Int) {
        func mark(_ field: Int, _ place: Int? = nil) {
            setCount(place ?? count - start, at: table + 4 * field)
        }
        let call = view.call
        mark(PLAIN_CALL_MODE)
        text(modeName)
        mark(PLAIN_CALL_KIND)
        text(call.kind)
        people(of: view, start: start, mark: mark)
        mark(PLAIN_CALL_TIMEOUT)
        seconds(call.ringTime)
        mark(PLAIN_CALL_REMAINING)
        seconds(view.remaining(at: view.now))
        if let data = view.extendedData {
            mark(PLAIN_CALL_EXTENDED_RAW)
            text(data)
        }
        if !call.items.isEmpty {
            mark(PLAIN_CALL_ITEMS)
            items(call.items)
        }
        mark(PLAIN_CALL_GROUP)
        bool(call.isGroup)
    }

    /// Writes every user once; the fields and lists say where. The participants are looked at in
    /// their place, because copying one costs more than writing it.
    private func people(of view: CallView, start: Int, mark: (Int, Int?) -> Void) {
        view.call.participants.withUnsafeBufferPointer { people in
            places.removeAll(keepingCapacity: true)
            for index in people.indices {
                places.append(count - start)
                user(view.facts(of: people[index].user, near: index))
            }
            mark(PLAIN_CALL_CALLER, places[0])
            if let callee = place(of: view.callee, in: people) {
                mark(PLAIN_CALL_CALLEE, places[callee])
                if let inviter = place(of: people[callee].invitedBy, in: people) {
                    mark(PLAIN_CALL_INVITER, places[inviter])
                }
                let transfer = view.call.transfer(to: people[callee].user)
                if let transferor = place(of: transfer?.by, in: people) {
                    mark(PLAIN_CALL_TRANSFERRED_BY, places[transferor])
                }
            }
            if let asker = place(of: view.asker, in: people) {
                mark(PLAIN_CALL_INVITER, places[asker])
            }
            mark(PLAIN_CALL_USERS, nil)
            listPlaces(of: people.indices) { people[$0].state.isLive }
            if view.invitees == nil {
                mark(PLAIN_CALL_INVITEES, nil)
                listPlaces(of: people.indices) { people[$0].role == .invitee }
            }
        }
        if let receiver = view.receiver {
            mark(PLAIN_CALL_RECEIVER, nil)
            user(view.facts(of: receiver))
        } else if let group = view.call.receiver {
            mark(PLAIN_CALL_RECEIVER, nil)
            text(group.text)
        }
        if let sender = view.sender {
            mark(PLAIN_CALL_SENDER, nil)
            user(view.facts(of: sender))
        }
        if let invitees = view.invitees {
            mark(PLAIN_CALL_INVITEES, nil)
            list(invitees.count)
            for invitee in invitees { user(view.facts(of: invitee)) }
        }
    }

    private func place(of user: UserID?, in people: UnsafeBufferPointer<Participant>) -> Int? {
        guard let user else { return nil }
        for index in people.indices where people[index].user == user { return index }
        return nil
    }

    private func listPlaces(of indices: Range<Int>, where isListed: (Int) -> Bool) {
        tag(PLAIN_PLACES)
        let lengthPlace = count
        length(0)
        var listed = 0
        for index in indices where isListed(index) {
            length(places[index])
            listed += 1
        }
        setCount(listed, at: lengthPlace)
    }

    private func items(_ items: [Call.Item]) {
        table(items.count)
        for item in items {
            text(item.key)
            text(item.value)
        }
    }

    /// Writes a span as a number of seconds.
    func seconds(_ span: Milliseconds) {
        if span % 1000 == 0 { integer(span / 1000) } else { number(Double(span) / 1000) }
    }
}

extension CallView {
    /// The invitation's extended data as the account that is asked sees it.
    var extendedData: String? {
        guard let viewer = callee ?? receiver else { return call.extendedData }
        return call.extendedData(of: .call, for: viewer)
    }
}
