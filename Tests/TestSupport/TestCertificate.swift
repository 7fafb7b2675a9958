// Self-signed certificates, made for one test.
import COpenSSL
import EventLoop
import Glibc

/// A certificate and its key as PEM files in a folder.
public struct TestCertificate {
    /// The path of the certificate.
    public let certificate: String
    /// The path of its key.
    public let key: String

    /// Makes one that is good for an hour.
    ///
    /// - Parameters:
    ///   - names: as OpenSSL writes them, such as `DNS:localhost,IP:127.0.0.1`.
    ///   - passPhrase: encrypts the key.
    public init(
        _ stem: String, in folder: TemporaryFolder, names: String = "DNS:localhost,IP:127.0.0.1",
        passPhrase: String? = nil
    ) throws {
        certificate = "\(folder.path)/\(stem).crt"
        key = "\(folder.path)/\(stem).key"
        guard let pair = Self.makeKey() else { throw Failure(what: "no key was made") }
        defer { EVP_PKEY_free(pair) }
        guard let made = Self.sign(pair, names) else { throw Failure(what: "nothing was signed") }
        defer { X509_free(made) }
        try Self.write(certificate) { PEM_write_bio_X509($0, made) }
        try Self.write(key) { file in
            let cipher = passPhrase == nil ? nil : EVP_aes_256_cbc()
            return (passPhrase ?? "").withCString { text in
                let bytes = UnsafeMutableRawPointer(mutating: text)
                return PEM_write_bio_PKCS8PrivateKey(
                    file, pair, cipher, text, Int32(strlen(text)), nil, bytes)
            }
        }
    }

    /// Why there is no certificate.
    public struct Failure: Error {
        /// What OpenSSL did not do.
        public let what: String
    }

    private static func makeKey() -> OpaquePointer? {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var pair: OpaquePointer?
        EVP_PKEY_keygen_init(context)
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        EVP_PKEY_keygen(context, &pair)
        return pair
    }

    private static func sign(_ pair: OpaquePointer, _ names: String) -> OpaquePointer? {
        let made = X509_new()
        X509_set_version(made, 2)
        var serial = Int64.random(in: 1...Int64.max)
        ASN1_INTEGER_set_int64(X509_get_serialNumber(made), serial)
        serial = 0
        X509_gmtime_adj(X509_getm_notBefore(made), -60)
        X509_gmtime_adj(X509_getm_notAfter(made), 3_600)
        X509_set_pubkey(made, pair)
        let subject = X509_get_subject_name(made)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, "callagent test", -1, -1, 0)
        X509_set_issuer_name(made, subject)
        let extensions = [
            (NID_subject_alt_name, names), (NID_basic_constraints, "critical,CA:TRUE"),
        ]
        for (kind, value) in extensions {
            let entry = X509V3_EXT_conf_nid(nil, nil, kind, value)
            X509_add_ext(made, entry, -1)
            X509_EXTENSION_free(entry)
        }
        return X509_sign(made, pair, EVP_sha256()) > 0 ? made : nil
    }

    private static func write(_ path: String, _ body: (OpaquePointer?) -> Int32) throws {
        let file = BIO_new_file(path, "w")
        defer { BIO_free(file) }
        guard body(file) == 1 else { throw Failure(what: "cannot write \(path)") }
    }

    /// For listeners.
    public func serverContext() throws -> TLSContext {
        try TLSContext.server(certificate: certificate, key: key)
    }

    /// For connections that trust nobody else.
    public func clientContext() throws -> TLSContext {
        try TLSContext.client(authorities: certificate)
    }
}
