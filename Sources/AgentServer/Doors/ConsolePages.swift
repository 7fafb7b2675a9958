// The files of the console, as they are in the executable.

import CConsole
import EventLoop
import Outbound
import WebProtocols

/// Answers browsers with the console's files. They hold no data, so they need no token.
enum ConsolePages {
    /// The header fields of every response: nothing from elsewhere runs, and no page frames it.
    static let protection = ownFilesOnly(
        ["require-trusted-types-for 'script'", "trusted-types 'none'"],
        [
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        ])

    /// The header fields of pages that load and ask for nothing but their own server's files.
    ///
    /// - Parameters:
    ///   - policy: more of the content security policy.
    ///   - more: fields beside those that all such pages have.
    static func ownFilesOnly(_ policy: [String], _ more: HTTPHeaders) -> HTTPHeaders {
        let directives =
            policy + [
                "default-src 'none'", "script-src 'self'", "style-src 'self'",
                "img-src 'self' data:", "connect-src 'self'", "base-uri 'none'",
                "form-action 'none'", "frame-ancestors 'none'",
            ]
        var headers: HTTPHeaders = [
            "Content-Security-Policy": directives.joined(separator: "; "),
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        ]
        headers.append(more)
        return headers
    }

    /// Makes the pages of the help, which takes a while, on a thread of its own.
    static func prepare() {
        _ = try? WorkerThread(name: "pages", yields: true) { _ = files.count }
    }

    /// The file that `request` asks for.
    static func answer(to request: HTTPRequest) -> HTTPResponse {
        guard [.get, .head].contains(request.method) else { return onlyReading() }
        let path = request.target.rawPath
        if SiteDesk.serves(path) { return HelpPage.withoutSite(at: path, among: helpPages) }
        guard let file = files[path] else { return HTTPResponse(404, text: "not found\n") }
        var response = HTTPResponse(
            200,
            headers: [
                "Content-Type": file.type, "ETag": file.tag, "Cache-Control": "no-cache",
            ])
        if request.headers.hasAlready(tag: file.tag) {
            response.status = 304
        } else {
            response.body = file.body
        }
        return response
    }

    /// What is said to other methods.
    static func onlyReading() -> HTTPResponse {
        HTTPResponse(
            405, headers: ["Allow": "GET, HEAD"], text: "only GET and HEAD are allowed\n")
    }

    private struct File {
        let type: String
        let tag: String
        let body: [UInt8]
    }

    /// By path.
    private static let files: [String: File] = {
        let all = (0..<cconsole_count()).map { cconsole_at($0) }
        let help = helpPages
        return Dictionary(
            all.map { file in
                let path = String(cString: file.path)
                var type = String(cString: file.type)
                var body = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
                if path.hasPrefix(helpRoot) {
                    let text = String(decoding: body, as: UTF8.self)
                    body = Array(HelpPage.document(text, among: help).utf8)
                    type = "text/html; charset=utf-8"
                }
                return (path, File(type: type, tag: tag(of: body), body: body))
            }, uniquingKeysWith: { first, _ in first })
    }()

    private static let helpRoot = "/help/"

    /// The pages of the help that are in the executable.
    private static let helpPages: [(name: String, title: String)] = (0..<cconsole_count())
        .map { cconsole_at($0) }.filter { String(cString: $0.path).hasPrefix(helpRoot) }
        .map { file in
            let bytes = UnsafeBufferPointer(start: file.bytes, count: file.count)
            let title = HelpPage.title(of: String(decoding: bytes, as: UTF8.self))
            return (String(String(cString: file.path).dropFirst(helpRoot.count)), title)
        }

    private static func tag(of body: [UInt8]) -> String {
        let hash = HashFunction.sha256.hash(body).prefix(12).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "\"\(hash.joined())\""
    }
}
