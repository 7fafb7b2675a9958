// What plugins fetch from other servers (`http.get`, `http.post`).

import Outbound
import PolicyHost
import WebProtocols

/// The requests of plugins that are under way. Owner: the loop's thread.
final class PluginFetches {
    /// The longest response, in bytes.
    static let responseLimit = 262_144
    /// The longest request body, in bytes.
    static let bodyLimit = 262_144

    private let thread: OutboundThread
    private var waiting: [WaitID: UInt64] = [:]
    private var waits: [UInt64: WaitID] = [:]
    private var last: UInt64 = 0
    /// How many were begun.
    private(set) var begun: UInt64 = 0
    /// How many had no response.
    private(set) var failed: UInt64 = 0
    /// Gives a handler the answer that it waits for.
    var answer: (WaitID, WaitReply) -> Void = { _, _ in }

    init(_ thread: OutboundThread) { self.thread = thread }

    /// How many are under way.
    var count: Int { waiting.count }

    /// Sends the request of a handler.
    func begin(_ wait: WaitID, _ request: FetchRequest) {
        begun += 1
        do throws(OutboundFailure) {
            let request = try Self.request(for: request)
            last += 1
            waiting[wait] = last
            waits[last] = wait
            thread.add(.fetch(last, request))
        } catch {
            failed += 1
            answer(wait, .trouble(error.description))
        }
    }

    /// The handler does not wait any more.
    func abandon(_ wait: WaitID) {
        guard let number = waiting.removeValue(forKey: wait) else { return }
        waits[number] = nil
        thread.add(.cancelFetch(number))
    }

    /// A request has ended.
    func ended(_ number: UInt64, _ result: Result<OutboundResponse, OutboundFailure>) {
        guard let wait = waits.removeValue(forKey: number) else { return }
        waiting[wait] = nil
        switch result {
        case .success(let response): answer(wait, .fetched(FetchReply(response)))
        case .failure(let failure):
            failed += 1
            answer(wait, .trouble(failure.description))
        }
    }

    /// The request as the engine takes it.
    static func request(for asked: FetchRequest) throws(OutboundFailure) -> OutboundRequest {
        guard asked.body.count <= bodyLimit else {
            throw OutboundFailure(
                .tooLarge, "the body has \(asked.body.count) bytes, more than \(bodyLimit)")
        }
        let url: HTTPURL
        do throws(URLError) {
            url = try HTTPURL(asked.url)
        } catch {
            throw OutboundFailure(.malformed, "the address \(error)")
        }
        var request = OutboundRequest(asked.method, url, body: asked.body)
        request.headers = asked.headers
        request.timeout = asked.timeout
        request.connectTimeout = min(request.connectTimeout, asked.timeout)
        request.responseLimit = responseLimit
        request.addresses = asked.mayBeInternal ? .anywhere : .publicOnly
        return request
    }
}

extension FetchReply {
    fileprivate init(_ response: OutboundResponse) {
        self.init(status: response.status, headers: response.headers, body: response.body)
    }
}
