// A URL, taken apart by the same parser that will connect to it.

import CCurl

/// Why a text is no URL to send a request to.
public enum URLError: Error, Equatable, CustomStringConvertible {
    /// Not a URL at all; the text is libcurl's.
    case malformed(String)
    /// Another scheme than `http` and `https`.
    case scheme(String)
    /// A user or password before the host.
    case credentials

    /// One line, to follow the name of the URL's place.
    public var description: String {
        switch self {
        case .malformed(let why): "is no URL (\(why))"
        case .scheme(let scheme): "must begin with https://, not '\(scheme)://'"
        case .credentials: "must not hold a user or password"
        }
    }
}

/// An absolute `http` or `https` URL without credentials.
public struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// The whole URL, normalized.
    public let text: String
    /// `https`, else `http`.
    public let isSecure: Bool
    /// The host in lower case: a name or an address.
    public let host: String
    /// The port, also when it is the scheme's own.
    public let port: Int

    /// Scheme, host and port: what connections are made to. The port is left out if it is the
    /// scheme's own (RFC 6454 section 6.1).
    public var origin: String {
        let standard = isSecure ? 443 : 80
        return (isSecure ? "https://" : "http://") + host + (port == standard ? "" : ":\(port)")
    }

    /// The URL.
    public var description: String { text }

    /// Reads a URL.
    public init(_ text: String) throws(URLError) {
        guard !text.utf8.contains(0), let parts = curl_url() else { throw .malformed("a zero") }
        defer { curl_url_cleanup(parts) }
        let code = curl_url_set(parts, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME))
        guard code == CURLUE_OK else { throw .malformed(String(cString: curl_url_strerror(code))) }
        let scheme = Self.part(CURLUPART_SCHEME, of: parts) ?? ""
        guard scheme == "https" || scheme == "http" else { throw .scheme(scheme) }
        guard Self.part(CURLUPART_USER, of: parts) == nil,
            Self.part(CURLUPART_PASSWORD, of: parts) == nil
        else { throw .credentials }
        curl_url_set(parts, CURLUPART_FRAGMENT, nil, 0)
        isSecure = scheme == "https"
        host = (Self.part(CURLUPART_HOST, of: parts) ?? "").lowercased()
        // libcurl would convert other scripts by the locale of the process.
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw .malformed("write the host in ASCII, as xn--…")
        }
        guard !host.isEmpty else { throw .malformed("no host") }
        port = Self.part(CURLUPART_PORT, of: parts, CURLU_DEFAULT_PORT).flatMap { Int($0) } ?? 0
        self.text = Self.part(CURLUPART_URL, of: parts) ?? text
    }

    private static func part(
        _ part: CURLUPart, of parts: OpaquePointer, _ flags: Int32 = 0
    ) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(parts, part, &text, UInt32(flags)) == CURLUE_OK, let text
        else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
