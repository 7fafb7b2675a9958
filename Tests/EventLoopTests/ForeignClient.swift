// A TLS client that nobody here wrote.
import COpenSSL
import EventLoop
import Glibc

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
