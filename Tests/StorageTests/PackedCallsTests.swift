// Ended calls come out of their bytes as they went in.

import CallModel
import Testing

@testable import Storage

extension Dice {
    /// Any call that can be packed.
    fileprivate mutating func packable() -> Call {
        var call = call()
        call.state = .ended
        call.end = end()
        (call.items, call.views, call.mediaAlarm, call.idleAlarm) = ([], [], nil, nil)
        call.returns = []
        for index in call.participants.indices {
            call.participants[index].asking = .nothing
            call.participants[index].policyNote = nil
            call.participants[index].begunBy = 0
            call.participants[index].deadlineAt = nil
            call.participants[index].deliveryAlarm = nil
            call.participants[index].policyAlarm = nil
        }
        return call
    }
}

@Suite struct PackedCallsTests {
    private func comesBack(_ call: Call) -> Bool {
        var packed = PackedCalls()
        let place = packed.insert(call)
        return packed[place] == call && packed.id(at: place) == call.id
            && packed.users(at: place) == call.participants.map(\.user)
    }

    @Test(arguments: 1...UInt64(200))
    func anyCallComesBack(seed: UInt64) {
        var dice = Dice(seed: seed)
        let call = dice.packable()
        #expect(CallBytes.canWrite(call))
        #expect(comesBack(call))
    }

    @Test func everyWordComesBack() {
        var call = ended(ringingCall(1), at: start + 1)
        for reason in EndReason.allCases {
            call.end = Call.End(reason, detail: .mixed)
            #expect(comesBack(call))
        }
        for media in Call.Media.allCases {
            call.media = media
            #expect(comesBack(call))
        }
        for role in Participant.Role.allCases {
            for state in Participant.State.allCases {
                (call.participants[1].role, call.participants[1].state) = (role, state)
                #expect(comesBack(call))
            }
        }
        for reason in Participant.Reason.allCases.map(Optional.some) + [nil] {
            call.participants[1].reason = reason
            #expect(comesBack(call))
        }
    }

    @Test(arguments: [0, 1, 15, 16, 252, 253, 254, 255, 256, 65_535, 65_536, 300_000])
    func textsOfEveryLengthComeBack(length: Int) {
        var call = ended(ringingCall(1), at: start + 1)
        call.extendedData = String(repeating: "ä", count: length / 2)
        call.participants[0].extendedData = String(repeating: "x", count: length)
        call.end = Call.End(.policy, extendedData: String(repeating: "y", count: length))
        #expect(comesBack(call))
    }

    @Test func whatFewCallsHaveIsKeptAsItIs() {
        let call = ended(ringingCall(1), at: start + 1)
        #expect(CallBytes.canWrite(call))
        let changes: [(inout Call) -> Void] = [
            { $0.state = .active }, { $0.end = nil }, { $0.participants = [] },
            { $0.items = [Call.Item(key: "k", value: "v")] },
            { $0.views = [Call.View(receiver: UserID("ann"), owner: .call, text: nil)] },
            { $0.mediaAlarm = start }, { $0.idleAlarm = start },
            { $0.participants[1].deadlineAt = start },
            { $0.participants[1].deliveryAlarm = start },
            { $0.participants[1].policyAlarm = start },
            { $0.participants[1].asking = .deciding },
            { $0.participants[1].begunBy = 1 },
            { $0.returns = [Call.Return(UserID("ann"), firstAt: start)] },
            { $0.participants[1].policyNote = PolicyNote(plugin: "p", extendedData: nil) },
        ]
        for (number, change) in changes.enumerated() {
            var other = call
            change(&other)
            #expect(!CallBytes.canWrite(other), "change \(number)")
            #expect(comesBack(other), "change \(number)")
        }
    }

    @Test(arguments: 1...UInt64(4))
    func manyComeAndGo(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        var packed = PackedCalls()
        var model: [(place: Int32, call: Call)] = []
        for _ in 0..<3_000 {
            if dice.chance(model.count > 300 ? 30 : 55) {
                var call = dice.packable()
                // Some fill most of a piece of memory, and some are larger than one.
                if dice.chance(2) {
                    call.extendedData = String(repeating: "z", count: dice.number(1...90_000))
                }
                model.append((packed.insert(call), call))
            } else if dice.chance(30), !model.isEmpty {
                let changed = dice.number(0...model.count - 1)
                model[changed].call = dice.packable()
                packed.replace(at: model[changed].place, with: model[changed].call)
            } else if !model.isEmpty {
                // The oldest goes first, mostly.
                let gone = dice.chance(80) ? 0 : dice.number(0...model.count - 1)
                packed.remove(at: model.remove(at: gone).place)
            }
            if let any = model.randomElement(using: &dice.generator) {
                #expect(packed[any.place] == any.call)
            }
        }
        for (place, call) in model { #expect(packed[place] == call) }
        let (pieces, memory) = (packed.pieceCount, packed.memory)
        #expect(memory >= pieces * 65_536)
        for (place, _) in model { packed.remove(at: place) }
        #expect(pieces > 3 && packed.pieceCount == 1, "memory of what is forgotten is let go")
        #expect(packed.memory < 3 * 65_536 && packed.memory < memory)
    }
}
