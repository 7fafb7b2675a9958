// The machine on which the process runs.

import Glibc

enum Machine {
    /// How it calls itself.
    static let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let start = buffer.baseAddress, gethostname(start, buffer.count - 1) == 0 else {
            return "?"
        }
        buffer[buffer.count - 1] = 0
        return String(cString: start)
    }
}
