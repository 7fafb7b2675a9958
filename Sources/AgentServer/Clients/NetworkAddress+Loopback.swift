// Who can reach an address.

import EventLoop

extension NetworkAddress {
    /// Whether only this machine can connect.
    var isLoopback: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _):
            host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}
