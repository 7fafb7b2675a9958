// What the file of a plugin declares at its top level.

import CallModel
import Configuration

/// What `plugin { … }` says.
struct Manifest: Equatable {
    var name = ""
    var version: String?
    var needs: [String] = []
    var after: [String] = []
    var isGuard = false
    var onError: OnError?
    var stateVersion: Int64 = 1
    var line: Int?
}

/// A timer declared at top level.
struct TimerDeclaration {
    enum Schedule: Equatable {
        /// `timer(name, fn)`: started by `later`.
        case started
        /// `every(period, name, fn)`.
        case every(Milliseconds)
        /// `at("09:00", name, fn)`: minutes of the local day.
        case daily(Int)
    }
    let schedule: Schedule
    let function: Int32
    let line: Int
}

/// A `test(…)` block.
package struct TestDeclaration {
    package let name: String
    package let function: Int32
    package let file: String
    package let line: Int
}

/// An object of the host that scripts hold.
enum HostObject {
    case hours(Hours, zone: TimeZoneRules)
    case accounts(Accounts, list: [String])
}
