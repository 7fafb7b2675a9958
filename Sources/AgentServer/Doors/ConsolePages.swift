// The files of the console, as they are in the executable.

import EventLoop
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
        _ = try? WorkerThread(name: "pages", yields: true) { _ = made.files.count }
    }

    /// The file that `request` asks for.
    static func answer(to request: HTTPRequest) -> HTTPResponse {
        guard [.get, .head].contains(request.method) else { return onlyReading() }
        let path = request.target.rawPath
        if SiteDesk.serves(path) { return HelpPage.withoutSite(at: path, among: made.help) }
        return made.files[path]?.response(to: request, headers: [:])
            ?? HTTPResponse(404, text: "not found\n")
    }

    /// What is said to other methods.
    static func onlyReading() -> HTTPResponse {
        HTTPResponse(
            405, headers: ["Allow": "GET, HEAD"], text: "only GET and HEAD are allowed\n")
    }

    /// What is served by its path, and the pages of the help that are in the executable.
    private static let made: (files: [String: WebFile], help: [(name: String, title: String)]) = {
        let console = WebFiles.console
        let help = console.filter { $0.path.hasPrefix(helpRoot) }.map { path, file in
            let title = HelpPage.title(of: String(decoding: file.bytes, as: UTF8.self))
            return (name: String(path.dropFirst(helpRoot.count)), title: title)
        }
        let pages = console.map { path, file in
            guard path.hasPrefix(helpRoot) else { return (path, file) }
            let page = HelpPage.document(String(decoding: file.bytes, as: UTF8.self), among: help)
            return (path, WebFile(type: "text/html; charset=utf-8", bytes: Array(page.utf8)))
        }
        return (Dictionary(uniqueKeysWithValues: pages), help)
    }()

    private static let helpRoot = "/help/"
}
