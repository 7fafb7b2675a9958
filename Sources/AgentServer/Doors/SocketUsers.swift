// Who is at the other end of the operator's socket.

import AgentCore
import CallModel
import EventLoop
import Glibc
import WebProtocols

/// The users of this machine by their names. Owner: the loop's thread.
struct SocketUsers {
    /// The header by which a tool asks with a lower role than its user has.
    static let roleHeader = "X-Role"

    private var names: [UInt32: String] = [:]

    /// Whoever may open the socket is the operator, unless it asks as less than that.
    mutating func identity(
        of transport: Connection, _ request: HTTPRequest
    ) throws(Refusal) -> ManagementIdentity {
        var user = "socket"
        if let id = transport.peerUser { user = name(ofUser: id) }
        let identity = ManagementIdentity(user, .operator)
        guard let text = request.headers[Self.roleHeader] else { return identity }
        guard let role = ManagementIdentity.Role(rawValue: text) else {
            throw .bad(Self.roleHeader, "must be operator or viewer")
        }
        return identity.lowered(to: role)
    }

    /// The system may ask others for a name, and the loop would wait: it asks once for each user.
    private mutating func name(ofUser id: UInt32) -> String {
        if let known = names[id] { return known }
        let name = Self.name(ofUser: id)
        names[id] = name
        return name
    }

    /// `unix:ann`, or `unix:1000` where the system knows no name.
    private static func name(ofUser id: UInt32) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
            let code = buffer.baseAddress.map { getpwuid_r(id, &entry, $0, buffer.count, &found) }
            guard code == 0, found != nil, let name = found?.pointee.pw_name else {
                return "unix:\(id)"
            }
            return "unix:" + String(cString: name)
        }
    }
}
