// The certificate that listeners show.

import EventLoop

/// PEM files of a certificate with its issuers, and of its private key.
public struct CertificateFiles: Sendable, Equatable {
    /// Path of the certificate.
    public var certificate: String
    /// Path of the key.
    public var key: String

    /// These files.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Loads what the files hold now.
    func load() throws(EventLoopError) -> TLSContext {
        try TLSContext.server(certificate: certificate, key: key)
    }
}

extension AgentOptions {
    /// What new connections are shown after a reload; nil: no TLS.
    ///
    /// - Throws: `configuration`, naming the file.
    public func loadCertificate() throws(AgentError) -> TLSContext? {
        do throws(EventLoopError) {
            return try tls?.load()
        } catch {
            throw .configuration("\(error)")
        }
    }
}

extension TLSContext {
    /// Why clients refuse the certificate of the listeners at this moment; nil: its time is right.
    public var warning: String? { untimely.map { "the certificate of tls \($0)" } }
}
