// Requests and responses as they go over a link.

import ClusterCore
import WebProtocols

extension StreamRequest {
    /// What is asked, with these headers: names and values in turn.
    init(_ request: HTTPRequest, headers: [String] = []) {
        let query = request.target.rawQuery.map { "?" + $0 } ?? ""
        self.init(
            method: request.method.rawValue, target: request.target.rawPath + query,
            headers: headers, body: request.body)
    }
}

extension HTTPResponse {
    /// What another node has answered.
    init(_ reply: StreamReply) {
        var headers: HTTPHeaders = [:]
        for place in stride(from: 0, to: reply.headers.count, by: 2) {
            headers.append(reply.headers[place], reply.headers[place + 1])
        }
        self.init(HTTPStatus(rawValue: reply.status), headers: headers, body: reply.body)
    }
}
