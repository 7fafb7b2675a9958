// One request inside libcurl: its options, and what arrived of the response.

import CCurl
import COpenSSL
import Glibc
import WebProtocols

/// An easy handle with everything its callbacks touch. Used by the engine's thread only.
final class Transfer {
    let queued: QueuedRequest
    let easy: UnsafeMutableRawPointer
    /// When it began, by CLOCK_MONOTONIC.
    let begunAt = SystemClock.monotonic
    private let connections: Connections
    private let headerLimit: Int
    private var fields: UnsafeMutablePointer<curl_slist>?
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    private var headers: [HTTPHeader] = []
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// Of a body in chunks: how much of it was there when libcurl read last, and how often in a row
    /// it has read without finding more.
    private var readBefore: curl_off_t = 0
    private var emptyReads = 0
    /// What libcurl skips in chunks, their extensions, has no end by itself. A wait is no reading.
    private static let emptyReadsMax = 64
    private var refused: String?
    /// A socket was made for it since it was sent last.
    private var hasOpened = false
    /// The ends of the connection over which it was sent last; nil: it was not.
    private var ends: Int?
    /// That had given an answer before.
    private var wasOnUsed = false
    /// It was sent again because its connection was closed.
    private var isRepetition: Bool
    private var hasAnswer = false
    /// Once it has ended because its connection or stream did: the server has probably not read it.
    /// Either that had given answers before, and was closed because nothing came any more; or only
    /// the stream ended, as after GOAWAY. A new connection that is closed is the work of a server
    /// in trouble.
    private(set) var wasOvertaken = false

    /// Prepares `easy`, which is fresh or reset, for the request. `rest` is what is left of its
    /// time, in milliseconds.
    init(
        _ queued: QueuedRequest, on easy: UnsafeMutableRawPointer, rest: Int64,
        _ options: HTTPEngine.Options, _ connections: Connections
    ) {
        self.queued = queued
        self.connections = connections
        self.easy = easy
        headerLimit = options.headerLimit
        isRepetition = queued.isRepetition
        errorText.pointee = 0
        setDestination(options)
        setTimes(rest)
        setContents(options)
        setCallbacks()
        watchConnection()
    }

    deinit {
        curl_slist_free_all(fields)
        errorText.deallocate()
    }

    /// Whether the request can be written at all: nobody puts a line end into a header.
    static func check(_ request: OutboundRequest) throws(OutboundFailure) {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(isTokenByte) else {
            throw OutboundFailure(.malformed, "the method is no token")
        }
        for field in request.headers {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(isTokenByte) else {
                throw OutboundFailure(.malformed, "a header name is no token")
            }
            let isClean = field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            guard isClean else {
                throw OutboundFailure(.malformed, "the value of \(field.name) holds a control")
            }
        }
    }

    /// RFC 9110 section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    // MARK: Options

    private func setDestination(_ options: HTTPEngine.Options) {
        let url = queued.request.url
        ccurl_set_pointer(easy, CURLOPT_URL, url.text)
        ccurl_set_pointer(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // HTTP/2 where TLS agrees on it. A request waits for a connection that is being made rather
        // than making another one, because one carries many requests. Without TLS it does not, and
        // the wait would last until the first answer.
        ccurl_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        ccurl_set_long(easy, CURLOPT_PIPEWAIT, url.isSecure ? 1 : 0)
        ccurl_set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        if let file = options.trustFile { ccurl_set_pointer(easy, CURLOPT_CAINFO, file) }
        // Where a folder of certificates is named too, as Debian does, libcurl 7.88 reads the file
        // of them all anew for every connection and keeps each: a megabyte and 25 ms.
        ccurl_set_pointer(easy, CURLOPT_CAPATH, nil)
        // With a proxy from the environment the guard could not check the address.
        ccurl_set_pointer(easy, CURLOPT_PROXY, "")
        ccurl_set_long(easy, CURLOPT_MAXAGE_CONN, options.idleSeconds)
        ccurl_set_long(easy, CURLOPT_MAXLIFETIME_CONN, options.connectionSeconds)
        ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1)
        ccurl_set_long(easy, CURLOPT_TCP_KEEPIDLE, 30)
        ccurl_set_long(easy, CURLOPT_TCP_KEEPINTVL, 10)
    }

    private func setTimes(_ rest: Int64) {
        let connect = min(queued.request.connectTimeout, rest)
        ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(max(rest, 1)))
        ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(max(connect, 1)))
        ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        // Otherwise the end of a request would wait for a resolver that does not answer.
        ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    }

    private func setContents(_ options: HTTPEngine.Options) {
        let request = queued.request
        ccurl_set_pointer(easy, CURLOPT_USERAGENT, options.userAgent)
        // libcurl 7.88 hands out a header in pieces of its buffer, and for the second one it waits
        // until the socket has news, or for seconds. So one holds all, with the status line.
        ccurl_set_long(easy, CURLOPT_BUFFERSIZE, options.headerLimit + 1_024)
        ccurl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.responseLimit))
        switch request.method {
        case "GET" where request.body.isEmpty: ccurl_set_long(easy, CURLOPT_HTTPGET, 1)
        case "HEAD": ccurl_set_long(easy, CURLOPT_NOBODY, 1)
        default:
            ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count))
            request.body.withUnsafeBytes { bytes in
                var none: UInt8 = 0
                ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? .init(&none))
            }
            ccurl_set_pointer(easy, CURLOPT_CUSTOMREQUEST, request.method)
            // libcurl would name a form otherwise, and wait for "100 Continue".
            addField("Expect:")
            if !has("content-type") { addField("Content-Type:") }
        }
        for field in request.headers {
            addField(field.value.isEmpty ? field.name + ";" : field.name + ": " + field.value)
        }
        ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, fields)
    }

    private func has(_ name: String) -> Bool {
        queued.request.headers.contains { $0.name.lowercased() == name }
    }

    private func addField(_ line: String) {
        if let longer = curl_slist_append(fields, line) { fields = longer }
    }

    private func setCallbacks() {
        let me = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_pointer(easy, CURLOPT_PRIVATE, me)
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        ccurl_set_pointer(easy, CURLOPT_WRITEDATA, me)
        ccurl_set_reader(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, owner in
            transfer(owner)?.take(body: bytes, size * count) ?? 0
        }
        ccurl_set_pointer(easy, CURLOPT_HEADERDATA, me)
        ccurl_set_reader(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, owner in
            transfer(owner)?.take(header: bytes, size * count) ?? 0
        }
        ccurl_set_progress(
            easy, { owner, _, read, _, _ in transfer(owner)?.goesOn(read) == false ? 1 : 0 }, me)
        ccurl_set_socket_opener(
            easy,
            { owner, _, address in
                guard let address, let transfer = transfer(owner) else { return -1 }
                return transfer.openSocket(address)
            }, me)
        // A connection that another request made is reused without a new socket.
        ccurl_set_send_check(
            easy,
            { owner, address, _, port, own in
                guard let transfer = transfer(owner), let address, transfer.mayBegin(at: address)
                else { return CURL_PREREQFUNC_ABORT }
                let peer = IPAddress(String(cString: address))
                transfer.begins(Connections.ends(own: Int(own), peer: peer, port: Int(port)))
                return CURL_PREREQFUNC_OK
            }, me)
    }

    /// The connection that is made for this request may outlive it: it knows all of them instead.
    private func watchConnection() {
        ccurl_set_socket_closer(
            easy,
            { owner, socket in
                guard let owner else { return -1 }
                return Unmanaged<Connections>.fromOpaque(owner).takeUnretainedValue().close(socket)
            }, Unmanaged.passUnretained(connections).toOpaque())
        ccurl_set_tls_watcher(
            easy,
            { _, context, gate in
                if let context, let gate {
                    cossl_tls_watch(
                        OpaquePointer(context), gate.assumingMemoryBound(to: cossl_tls_gate.self))
                }
                return CURLE_OK
            }, connections.gate)
    }

    // MARK: Callbacks

    private func take(body bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard body.count + count <= queued.request.responseLimit else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    /// One line, with its end. A status line begins the header of the next response: interim ones
    /// come first.
    private func take(header bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        hasAnswer = true
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        if line.starts(with: "HTTP/".utf8) {
            headers.removeAll(keepingCapacity: true)
            return count
        }
        headerBytes += count
        guard headerBytes <= headerLimit else {
            isTooLarge = true
            return 0
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return count }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let value = String(decoding: line[(colon + 1)...].trimmingWhitespace(), as: UTF8.self)
        headers.append(HTTPHeader(name, value))
        if name == "transfer-encoding" { ccurl_set_long(easy, CURLOPT_NOPROGRESS, 0) }
        return count
    }

    /// libcurl has read from a body in chunks, of which `read` bytes have come so far.
    private func goesOn(_ read: curl_off_t) -> Bool {
        emptyReads = read == readBefore ? emptyReads + 1 : 0
        readBefore = read
        isTooLarge = isTooLarge || emptyReads > Self.emptyReadsMax
        return !isTooLarge
    }

    /// The declared type of the address is too short for IPv6, so it is read where it stands.
    private func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
        let address = IPAddress(socketAddress: UnsafeRawPointer(target) + offset)
        guard let address, queued.request.addresses.admits(address) else {
            noteRefusal()
            return -1
        }
        let kind = target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let opened = socket(target.pointee.family, kind, target.pointee.protocol)
        guard opened >= 0 else { return -1 }
        connections.noteOpened(opened, isSecure: queued.request.url.isSecure)
        hasOpened = true
        // Notices a peer that vanished within the time of one request.
        var patience = Int32(10_000)
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(opened, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &patience, size)
        return opened
    }

    /// Whether it may be sent to this address, the first time or once more: libcurl by itself sends
    /// a request up to six times when connections end that others used too. A stream that the
    /// server refused unread, on a connection that goes on, does not count.
    private func mayBegin(at address: UnsafePointer<CChar>) -> Bool {
        guard queued.request.addresses.isOff || admits(address) else { return false }
        guard let ends, connections.isLost(ends) else { return true }
        guard wasOnUsed, !isRepetition else { return false }
        isRepetition = true
        return true
    }

    /// It is sent now, over the connection between these ends.
    private func begins(_ ends: Int) {
        if hasOpened { connections.noteNew(ends) }
        (hasOpened, self.ends) = (false, ends)
        let version = connections.version(over: ends)
        wasOnUsed = version != nil
        // If libcurl repeats it over HTTP/1.1, then not over the next of those that were idle.
        if version == 1 { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
    }

    private func admits(_ text: UnsafePointer<CChar>) -> Bool {
        if let address = IPAddress(String(cString: text)),
            queued.request.addresses.admits(address)
        {
            return true
        }
        noteRefusal()
        return false
    }

    private func noteRefusal() {
        refused = "\(queued.request.url.host) leads to an address that is not public"
    }

    // MARK: The end

    /// The result, when libcurl says that the request is over.
    ///
    /// - Parameter isCutOff: a connection was cut off just now because it gave too much.
    func finish(
        _ code: CURLcode, isCutOff: Bool
    ) -> Result<OutboundResponse, OutboundFailure> {
        guard code == CURLE_OK else {
            var failure = failure(code)
            if isCutOff, failure.kind == .connectionLost { failure.kind = .tooLarge }
            if failure.kind == .connectionLost, !isRepetition, !hasAnswer, let ends {
                wasOvertaken = wasOnUsed || !connections.isLost(ends)
            }
            return .failure(failure)
        }
        let isSecond = ccurl_get_long(easy, CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0
        if ccurl_get_socket(easy) >= 0, let ends {
            connections.noteAnswer(over: ends, version: isSecond ? 2 : 1)
        }
        return .success(
            OutboundResponse(
                status: ccurl_get_long(easy, CURLINFO_RESPONSE_CODE), headers: headers, body: body,
                version: isSecond ? 2 : 1))
    }

    /// The ends of the connection that it was sent on; nil: it was not, or an answer has begun.
    var unanswered: Int? {
        ccurl_get_long(easy, CURLINFO_RESPONSE_CODE) == 0 ? ends : nil
    }

    private func failure(_ code: CURLcode) -> OutboundFailure {
        if let refused { return OutboundFailure(.refusedAddress, refused) }
        if code == CURLE_ABORTED_BY_CALLBACK, !isTooLarge {
            // Its `mayBegin` said no to a repetition.
            return OutboundFailure(
                .connectionLost, "the connection was closed before an answer", mayHaveArrived: true)
        }
        let detail = errorText.pointee == 0 ? curl_easy_strerror(code) : UnsafePointer(errorText)
        return OutboundFailure(
            isTooLarge ? .tooLarge : OutboundFailure.Kind(code),
            detail.map { String(cString: $0) } ?? "",
            mayHaveArrived: ends != nil)
    }
}

/// The transfer behind a callback's pointer.
private func transfer(_ owner: UnsafeMutableRawPointer?) -> Transfer? {
    owner.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

extension OutboundFailure.Kind {
    /// What a code of libcurl means to us.
    fileprivate init(_ code: CURLcode) {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut
        case CURLE_COULDNT_RESOLVE_HOST: self = .unresolved
        case CURLE_COULDNT_CONNECT: self = .unreachable
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: self = .malformed
        case CURLE_FILESIZE_EXCEEDED: self = .tooLarge
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR:
            self = .tls
        default: self = .connectionLost  // external: a code of libcurl
        }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Without spaces, tabs and line ends on both sides.
    fileprivate func trimmingWhitespace() -> Self {
        func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D, 0x0A].contains(byte) }
        let rest = drop(while: isSpace)
        guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return rest.prefix(0) }
        return rest[...last]
    }
}
