// Files for browsers that are part of the program: the JavaScript client, the phone, the console.

import CWebTables
import CallWire
import WebProtocols

/// A file, ready to be served.
struct WebFile: Sendable {
    /// `Content-Type`.
    let type: String
    let bytes: [UInt8]
    /// Changes with the bytes.
    let tag: String

    init(type: String, bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
        tag = Self.tag(of: bytes)
    }

    /// FNV-1a, 64 bits, and the length: an entity tag protects nothing.
    private static func tag(of bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return "\"\(String(hash, radix: 16))-\(String(bytes.count, radix: 16))\""
    }

    /// The response to `request`, with further `headers`; 304 where the browser has these bytes.
    func response(to request: HTTPRequest, headers: HTTPHeaders) -> HTTPResponse {
        let isKnown = request.headers.hasAlready(tag: tag)
        var response = HTTPResponse(isKnown ? 304 : 200, headers: headers)
        response.headers.append("ETag", tag)
        // Asked for anew each time, and sent anew only where it has changed.
        response.headers.append("Cache-Control", "no-cache")
        guard !isKnown else { return response }
        response.headers.append("Content-Type", type)
        response.body = bytes
        return response
    }
}

/// All of them, by the path below which each group is served.
struct WebFiles: Sendable {
    /// The files of the client, by name.
    let client: [String: WebFile]
    /// The files of the phone, by whole path; its service worker is the client's.
    let phone: [String: WebFile]

    /// The files of the program.
    static let all = WebFiles()

    private init() {
        let sources = Self.files(web_client_files())
        var client = Dictionary(uniqueKeysWithValues: sources.map { ($0.path, $0.file) })
        var phone = Dictionary(
            uniqueKeysWithValues: Self.files(web_phone_files()).map { ($0.path, $0.file) })
        phone["/sw.js"] = client["sw.js"]
        let package = sources.map { (name: "package/\($0.path)", bytes: $0.file.bytes) }
        client["callagent-\(Agent.version).tgz"] = WebFile(
            type: "application/gzip", bytes: PackageArchive.make(of: package))
        (self.client, self.phone) = (client, phone)
    }

    /// The files of the console, by whole path.
    static var console: [(path: String, file: WebFile)] { files(web_console_files()) }

    private static func files(
        _ first: UnsafePointer<web_file>?
    ) -> [(path: String, file: WebFile)] {
        var files: [(path: String, file: WebFile)] = []
        var next = first
        while let entry = next?.pointee, let path = entry.path {
            let bytes = UnsafeBufferPointer(start: entry.bytes, count: entry.count)
            let file = WebFile(type: String(cString: entry.type), bytes: Array(bytes))
            files.append((String(cString: path), file))
            next = next?.advanced(by: 1)
        }
        return files
    }

    /// The file of the client that the request is for, if any: pages of every origin may have it.
    static func clientFile(of request: HTTPRequest) -> HTTPResponse? {
        let path = request.target.rawPath
        guard path.hasPrefix(HTTPRoute.clientFolder),
            case .clientFile(let name)? =
                try? HTTPRoute(method: request.method.rawValue, path: path)
        else { return nil }
        return all.client[name]?.response(to: request, headers: clientHeaders)
    }

    /// What is at `path` of the phone; nil: nothing.
    static func phoneFile(
        _ path: String, for request: HTTPRequest, isDevelopment: Bool
    ) -> HTTPResponse? {
        if path == phoneSettings { return settings(isDevelopment: isDevelopment) }
        return all.phone[path]?.response(to: request, headers: phoneHeaders)
    }

    /// What the phone must know before anybody has signed in.
    private static func settings(isDevelopment: Bool) -> HTTPResponse {
        HTTPResponse(
            200, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            body: Array(#"{"isDevelopment":\#(isDevelopment)}"#.utf8))
    }

    /// Where the phone's page learns how people sign in.
    static let phoneSettings = "/phone/server.json"

    /// Pages of every origin may load the client: it holds no data.
    static let clientHeaders: HTTPHeaders = [
        "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin",
        "X-Content-Type-Options": "nosniff",
    ]

    /// What the phone's page may do, and who may show it: nobody but itself.
    static let phoneHeaders: HTTPHeaders = [
        "Content-Security-Policy": """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
        connect-src 'self'; media-src 'self' blob:; worker-src 'self'; manifest-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types callagent
        """,
        "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
        "Permissions-Policy": "camera=(self), microphone=(self), display-capture=(self)",
    ]
}
