// The extended data of a busy rejection: `{"type": …, "reason": "busy", "callID": …}`.

extension Call {
    /// The default extended data of a rejection as busy. `type` is that of the invitation's data,
    /// and is left out when that had none (F61).
    public var busyText: String {
        let type = extendedData.flatMap { memberText("type", of: $0) }
        return String(unsafeUninitializedCapacity: (type?.utf8.count ?? 0) + 80) { buffer in
            var count = 0
            func put(_ bytes: some Collection<UInt8>) {
                count = buffer[count...].initialize(fromContentsOf: bytes)
            }
            func put(_ text: StaticString) {
                put(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            }
            put("{")
            if let type {
                put("\"type\":")
                put(type.utf8)
                put(",")
            }
            put("\"reason\":\"busy\",\"callID\":\"")
            id.writeDigits(to: UnsafeMutableBufferPointer(rebasing: buffer[count...]))
            count += 32
            put("\"}")
            return count
        }
    }
}

/// The raw text of the member `name` of the JSON object `text`, when it is a string, a number or
/// a literal; nil for anything else. The core reads no other JSON.
package func memberText(_ name: StaticString, of text: String) -> String? {
    var text = text
    return text.withUTF8 { memberText(name, of: $0) }
}

private func memberText(_ name: StaticString, of bytes: UnsafeBufferPointer<UInt8>) -> String? {
    let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    var depth = 0
    var index = 0
    var expectsKey = false
    while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            expectsKey = bytes[index] == UInt8(ascii: "{")
            index += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            depth -= 1
            index += 1
        case UInt8(ascii: ","):
            expectsKey = true
            index += 1
        case UInt8(ascii: "\""):
            guard let end = endOfString(bytes, from: index) else { return nil }
            if depth == 1, expectsKey, bytes[(index + 1)..<(end - 1)].elementsEqual(name) {
                return scalarText(bytes, after: end)
            }
            expectsKey = false
            index = end
        default: index += 1  // external: a byte
        }
    }
    return nil
}

private func endOfString(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var index = start + 1
    while index < bytes.count {
        if bytes[index] == UInt8(ascii: "\\") {
            index += 2
        } else if bytes[index] == UInt8(ascii: "\"") {
            return index + 1
        } else {
            index += 1
        }
    }
    return nil
}

private func scalarText(_ bytes: UnsafeBufferPointer<UInt8>, after end: Int) -> String? {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    guard let colon = bytes[end...].firstIndex(where: { !isSpace($0) }),
        bytes[colon] == UInt8(ascii: ":"),
        let start = bytes[(colon + 1)...].firstIndex(where: { !isSpace($0) })
    else { return nil }
    if bytes[start] == UInt8(ascii: "\"") {
        guard let end = endOfString(bytes, from: start) else { return nil }
        return text(bytes[start..<end])
    }
    let stop = bytes[start...].firstIndex { !isScalar($0) } ?? bytes.count
    guard stop > start else { return nil }
    return text(bytes[start..<stop])
}

/// A part of a text that begins and ends at ASCII, and so holds whole characters.
private func text(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self)
}

/// Whether a byte may be part of a number or literal. That is enough: a sender of invalid JSON gets
/// back nothing worse than it sent.
private func isScalar(_ byte: UInt8) -> Bool {
    switch UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte ? UInt8(ascii: "a") : byte {
    case UInt8(ascii: "a"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
        true
    default: false  // external: a byte of a client's text
    }
}
