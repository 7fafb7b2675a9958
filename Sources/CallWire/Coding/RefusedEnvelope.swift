// What is found of a message that is JSON but more than the reader takes.

import CallModel
import JSON

/// Looks for the id of a refused message and for the field at fault, so that the refusal finds its
/// request. It goes by brackets and quotes alone: what else is wrong with the text does not matter.
struct RefusedEnvelope {
    /// `id` as it stands in the message; nil: there is none.
    private(set) var id: UnsafeRawBufferPointer?
    /// The field at fault as `detail.field` names it; nil: a name in it is at fault.
    var field: String? { (member == "data" ? dataMember : nil) ?? member }

    /// The last name of the outermost object before the fault, and the last one in `data`.
    private var member: String?
    private var dataMember: String?

    /// Looks through `message`, which the reader refused at the byte `fault`.
    init(_ message: UnsafeRawBufferPointer, fault: Int) {
        var depth = 0
        var index = 0
        while index < message.count {
            let start = index
            index += 1
            switch message[start] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): if start < fault { note(nil, at: depth) }
            case UInt8(ascii: "\""):
                index = Self.endOfString(in: message, from: start)
                guard let rest = Self.rest(of: message, behindColonAt: index) else { continue }
                let name = message[start + 1..<index - 1]
                if index <= fault { note(name, at: depth) }
                if depth == 1, name.elementsEqual("id".utf8) { id = Self.value(at: rest) }
            default: break  // external: any byte of a message
            }
        }
    }

    private static func value(at rest: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var reader = JSONReader(rest)
        return try? reader.readRaw()
    }

    private mutating func note(_ name: Slice<UnsafeRawBufferPointer>?, at depth: Int) {
        let text = name.map { String(decoding: $0.prefix(Self.longestName), as: UTF8.self) }
        if depth == 1 { (member, dataMember) = (text, nil) }
        if depth == 2 { dataMember = text }
    }

    /// No name of the protocol is longer; an unknown field's is cut.
    private static let longestName = 64

    /// The index behind the string that begins at `start`.
    private static func endOfString(in message: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start + 1
        while index < message.count, message[index] != UInt8(ascii: "\"") {
            index += message[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, message.count)
    }

    /// What follows the colon at `index`, or white space and a colon; nil: there is none.
    private static func rest(
        of message: UnsafeRawBufferPointer, behindColonAt index: Int
    ) -> UnsafeRawBufferPointer? {
        let rest = message[index...].drop { " \n\r\t".utf8.contains($0) }
        guard rest.first == UInt8(ascii: ":") else { return nil }
        return UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    }
}
