// The sizes that clients must keep to, and are told in the answer to `hello`.

import CallModel

/// Every limit of a client's message. One that is exceeded is a `bad_request` naming the field,
/// except extended data and signal data, which are `too_large` (D49).
public struct WireLimits: Sendable, Equatable {
    /// Bytes of one message after reassembly, and of one HTTP body (A18). The transport keeps it.
    public var messageBytes = 65_536
    /// UTF-8 bytes of `extended_data`, at most `extendedDataBytesMax`.
    public var extendedDataBytes = 2_048 {
        didSet { extendedDataBytes = min(extendedDataBytes, Self.extendedDataBytesMax) }
    }
    /// Bytes of the `data` of a signal, as it was written.
    public var signalBytes = 16_384
    /// UTF-8 bytes of an `id` that is text.
    public var idBytes = 64
    /// UTF-8 bytes of a `key`.
    public var keyBytes = 64
    /// UTF-8 bytes of the `kind` of a call.
    public var kindBytes = 32
    /// Ring time in milliseconds.
    public var timeout: ClosedRange<Milliseconds> = 1_000...600_000
    /// Delivery check in milliseconds (H91).
    public var deliveryCheck: ClosedRange<Milliseconds> = 1_000...30_000
    /// Entries of a list of users, keys or end reasons. The switchboard's own limits are lower;
    /// this one bounds the work that a request can cause.
    public var listEntries = 256
    /// Texts of one call (D43).
    public var items = 10
    /// UTF-8 bytes of the key or the value of an item (D43).
    public var itemBytes = 128
    /// UTF-8 bytes of each text of `push`.
    public var pushTextBytes = 4_096
    /// UTF-8 bytes of the `token` of `hello` or of a push registration.
    public var tokenBytes = 8_192
    /// Bytes of a push subscription, as it was written.
    public var subscriptionBytes = 4_096
    /// Calls of one page of `call.list`; a larger `limit` is clamped.
    public var pageCalls = 100
    /// Bytes at which a page of `call.list` stops (A18).
    public var pageBytes = 1 << 20
    /// Idempotency keys kept for one user; announced only, the switchboard keeps it.
    public var keys = 1_000

    /// No `extended_data` is longer than this, whatever the operator says.
    public static let extendedDataBytesMax = 8_192

    /// The limits of the protocol.
    public init() {}
}
