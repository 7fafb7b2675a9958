// A file of Lua, and what comes of running it.

import CLua

/// One source file, as it was when the generation was made.
public struct SourceFile: Sendable, Equatable {
    /// For people: the path below the folder of plugins, `busy.lua` or `reception/init.lua`.
    public let name: String
    /// The whole text.
    public let text: [UInt8]

    /// The file `name` containing `text`.
    public init(name: String, text: [UInt8]) {
        self.name = name
        self.text = text
    }
}

extension SourceFile {
    /// Runs the file in `vm` for at most `budget` nanoseconds; the outcome is valid as long as
    /// nothing else runs there.
    package func load(into vm: OpaquePointer?, budget: UInt64) -> callua_outcome {
        var outcome = callua_outcome()
        text.withUnsafeBufferPointer { bytes in
            callua_load(
                vm, "@" + name, callua_bytes(start: bytes.baseAddress, count: bytes.count), budget,
                &outcome)
        }
        return outcome
    }
}

extension callua_outcome {
    /// The message of a failure.
    package var message: String { value.string }
}

extension callua_bytes {
    package var string: String {
        String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
