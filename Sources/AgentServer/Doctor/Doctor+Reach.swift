// Checks whether push services and webhook receivers can be reached from this machine.

import EventLoop
import Outbound

extension Doctor {
    /// Connects to every push service and webhook receiver, all at once, and sends nothing.
    mutating func examineReach() {
        guard let plan = try? OutboundPlan(configuration) else { return }
        var failures: [String: EventLoopError] = [:]
        let all = Set(plan.places)
        do throws(EventLoopError) {
            failures = try Self.failures(of: all)
        } catch {
            return note(.warning("\(error)", "look again"))
        }
        // One server may be several receivers.
        for origin in Set(all.map(\.origin)).sorted() {
            guard let error = failures[origin] else {
                note(.good("\(origin) can be reached"))
                continue
            }
            note(
                .warning(
                    "\(origin) cannot be reached from here: \(error)",
                    "check its name, the firewall and the network; pushes and events for it wait"))
        }
    }

    /// Milliseconds for finding the name, connecting and TLS.
    private static let patience: Int64 = 3_000

    private static func failures(
        of places: Set<HTTPURL>
    ) throws(EventLoopError) -> [String: EventLoopError] {
        let loop = try EventLoop()
        defer { loop.close() }
        let trust = try TLSContext.client()
        var failures: [String: EventLoopError] = [:]
        var open = places.count
        for place in places {
            var options = Connector.Options()
            options.timeout = patience
            options.tls = place.isSecure ? trust : nil
            let endpoint = NetworkAddress.tcp(host: place.host, port: UInt16(clamping: place.port))
            Connector.connect(to: endpoint, on: loop, options: options) { result in
                switch result {
                case .success(let connection): connection.abort()
                case .failure(let error): failures[place.origin] = error
                }
                open -= 1
                if open == 0 { loop.stop() }
            }
        }
        if open > 0 { loop.run() }
        return failures
    }
}

extension OutboundPlan {
    /// The push services and receivers. Subscriptions of browsers name their own.
    fileprivate var places: [HTTPURL] {
        var all = webhooks.map(\.url)
        if let apns = push.apns { all.append(apns.production) }
        if let fcm = push.fcm { all += [fcm.service, fcm.tokenURL] }
        if let gateway = push.webhook { all.append(gateway.url) }
        return all
    }
}
