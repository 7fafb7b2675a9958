// Self-signed certificates, made for one test.
import COpenSSL
import EventLoop
import Glibc
import Testing

/// A certificate and its key as PEM files in a folder.
struct TestCertificate {
    let certificate: String
    let key: String

    /// - Parameters:
    ///   - names: as OpenSSL writes them, such as `DNS:localhost,IP:127.0.0.1`.
    ///   - passPhrase: encrypts the key.
    init(
        _ stem: String, in folder: Folder, names: String = "DNS:localhost,IP:127.0.0.1",
        passPhrase: String? = nil
    ) throws {
        certificate = "\(folder.path)/\(stem).crt"
        key = "\(folder.path)/\(stem).key"
        let pair = try #require(Self.makeKey())
        defer { EVP_PKEY_free(pair) }
        let made = try #require(Self.sign(pair, names))
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
        #expect(body(file) == 1)
    }

    func serverContext() throws -> TLSContext {
        try TLSContext.server(certificate: certificate, key: key)
    }

    func clientContext() throws -> TLSContext { try TLSContext.client(authorities: certificate) }
}

/// A client by OpenSSL alone, blocking, that offers what our own client never would.
struct ForeignClient: Sendable {
    var newestVersion = TLS1_3_VERSION
    /// Protocol names, each with its length before it.
    var protocols: [UInt8] = []

    /// Returns the version and the chosen protocol, or OpenSSL's words for the failure.
    func shakeHands(port: UInt16) -> String {
        let context = SSL_CTX_new(TLS_client_method())
        defer { SSL_CTX_free(context) }
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, 0, nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(newestVersion), nil)
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
        if !protocols.isEmpty {
            SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count))
        }
        guard let descriptor = try? bareConnection(to: .tcp(host: "127.0.0.1", port: port)) else {
            return "not connected"
        }
        defer { close(descriptor) }
        let session = SSL_new(context)
        defer { SSL_free(session) }
        SSL_set_fd(session, descriptor)
        guard SSL_connect(session) == 1 else {
            return ERR_reason_error_string(ERR_get_error()).map { String(cString: $0) } ?? "?"
        }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(session, &name, &length)
        let chosen = UnsafeBufferPointer(start: name, count: Int(length))
        let version = String(cString: SSL_get_version(session))
        return "\(version) \(String(decoding: chosen, as: UTF8.self))"
    }
}
