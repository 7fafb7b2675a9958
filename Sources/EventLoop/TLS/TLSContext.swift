// Certificates, keys and authorities for TLS, loaded once and shared by many connections.
import COpenSSL
import CUV
import Glibc

/// What TLS connections of one kind share. Immutable: to reload, make a new one; connections that
/// began with the old one go on with it.
///
/// TLS 1.2 with forward secrecy and TLS 1.3; ALPN names http/1.1 only.
public final class TLSContext: @unchecked Sendable {
    let context: OpaquePointer

    private init(_ context: OpaquePointer?) throws(EventLoopError) {
        guard let context else {
            throw EventLoopError(code: -ENOMEM, doing: "making", "a TLS context")
        }
        self.context = context
    }

    deinit { SSL_CTX_free(context) }

    /// When the certificate runs out, in seconds since 1970 UTC; nil: there is none.
    public var expiresAt: Int64? { moment(X509_get0_notAfter) }

    /// From when on the certificate counts, in seconds since 1970 UTC; nil: there is none.
    public var validFrom: Int64? { moment(X509_get0_notBefore) }

    /// Why clients refuse the certificate at this moment; nil: its time is right.
    public var untimely: String? {
        let now = Clock.wallMilliseconds() / 1_000
        if let end = expiresAt, end < now { return "has run out: no client connects" }
        if let begin = validFrom, begin > now { return "is not valid yet: no client connects" }
        return nil
    }

    /// The SHA-256 digest of the certificate; nil: there is none.
    public var fingerprint: [UInt8]? {
        Self.digest { cossl_tls_own_fingerprint(context, $0) }
    }

    /// The digest that `write` writes; nil: it writes none.
    static func digest(_ write: (UnsafeMutablePointer<UInt8>?) -> Int32) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: 32)
        let isMade = digest.withUnsafeMutableBufferPointer { write($0.baseAddress) == 1 }
        return isMade ? digest : nil
    }

    private func moment(
        _ read: (OpaquePointer?) -> UnsafePointer<ASN1_TIME>?
    ) -> Int64? {
        guard let certificate = SSL_CTX_get0_certificate(context) else { return nil }
        var moment = tm()
        guard ASN1_TIME_to_tm(read(certificate), &moment) == 1 else { return nil }
        return Int64(timegm(&moment))
    }

    /// For listeners.
    ///
    /// - Parameters:
    ///   - certificate: the path of a PEM file: the certificate, then those of its issuers.
    ///   - key: the path of a PEM file with the private key, not encrypted.
    /// - Throws: `tls` or `permissionDenied`, naming the file and what is wrong: missing, not
    ///   readable, too large, not PEM, encrypted, or a key that belongs to another certificate.
    public static func server(
        certificate: String, key: String
    ) throws(EventLoopError) -> TLSContext {
        let made = try TLSContext(cossl_tls_server())
        let chain = try open(certificate, "TLS certificate")
        let secret: Int32
        do throws(EventLoopError) {
            secret = try open(key, "TLS key")
        } catch {
            Glibc.close(chain)
            throw error
        }
        try check(cossl_tls_identify(made.context, chain, secret), certificate, key)
        return made
    }

    /// What came of loading the files or texts of these names.
    private static func check(
        _ identity: cossl_identity, _ certificate: String, _ key: String
    ) throws(EventLoopError) {
        let words: String
        let subject: String
        switch identity {
        case COSSL_IDENTITY_LOADED: return
        case COSSL_IDENTITY_BAD_CERTIFICATE:
            (subject, words) = (certificate, "has no certificate in PEM form")
        case COSSL_IDENTITY_LONG_CHAIN:
            subject = certificate
            words =
                "has more certificates than clients take, 100 KiB: its own one and its issuers' do"
        case COSSL_IDENTITY_ENCRYPTED_KEY:
            (subject, words) = (key, "is encrypted; callagent needs the key without pass phrase")
        case COSSL_IDENTITY_MISMATCH:
            (subject, words) = (key, "does not belong to the certificate \(certificate)")
        default: (subject, words) = (key, "has no private key in PEM form")
        }
        ERR_clear_error()
        throw EventLoopError(.tls, subject, "TLS file \(subject) \(words)")
    }

    /// For outgoing connections: the peer's certificate must be issued by a trusted authority for
    /// the name that one connects to.
    ///
    /// - Parameter authorities: the path of a PEM file of trusted certificates; nil for the
    ///   system's.
    /// - Throws: `tls` or `permissionDenied`, naming the file.
    public static func client(
        authorities: String? = nil
    ) throws(EventLoopError) -> TLSContext {
        let made = try TLSContext(cossl_tls_client())
        guard let authorities else {
            SSL_CTX_set_default_verify_paths(made.context)
            return made
        }
        try made.trust(authorities)
        return made
    }

    /// For two processes that both show certificates of one authority: for the one that listens,
    /// and for the one that connects.
    ///
    /// - Parameters:
    ///   - authorities: the path of a PEM file of trusted certificates.
    ///   - certificate: the path of a PEM file: the certificate, then those of its issuers.
    ///   - key: the private key itself, in PEM, not encrypted.
    /// - Throws: `tls` or `permissionDenied`, naming the file; the key is never in the text.
    public static func mutual(
        authorities: String, certificate: String, key: String
    ) throws(EventLoopError) -> (accepting: TLSContext, connecting: TLSContext) {
        let accepting = try TLSContext(cossl_tls_server())
        let connecting = try TLSContext(cossl_tls_client())
        for made in [accepting, connecting] {
            try made.trust(authorities)
            let chain = try open(certificate, "TLS certificate")
            let identity = cossl_tls_identify_text(made.context, chain, key, key.utf8.count)
            try check(identity, certificate, "\(certificate) (its key)")
        }
        cossl_tls_require_certificate(accepting.context)
        return (accepting, connecting)
    }

    private func trust(_ authorities: String) throws(EventLoopError) {
        Glibc.close(try Self.open(authorities, "TLS authorities"))
        if SSL_CTX_load_verify_locations(context, authorities, nil) != 1 {
            ERR_clear_error()
            let text = "TLS file \(authorities) has no certificate in PEM form"
            throw EventLoopError(.tls, authorities, text)
        }
    }

    /// The largest file that is read, in bytes: OpenSSL would read any to its end.
    private static let fileMax = 1 << 20

    /// Opens a plain file, without waiting for anything else that has this name.
    private static func open(_ path: String, _ role: String) throws(EventLoopError) -> Int32 {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if file < 0 {
            let words = String(cString: strerror(errno))
            let kind: EventLoopError.Kind = errno == EACCES ? .permissionDenied : .tls
            throw EventLoopError(kind, path, "\(role) \(path): \(words)")
        }
        var status = stat()
        let isPlain = fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        if isPlain, status.st_size <= fileMax { return file }
        Glibc.close(file)
        let words =
            if isPlain {
                "it has \(status.st_size) bytes, and \(fileMax) are allowed"
            } else {
                status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : "it is no plain file"
            }
        throw EventLoopError(.tls, path, "\(role) \(path): \(words)")
    }
}
