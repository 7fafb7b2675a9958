// How a store is kept.

import CallModel
import StoreContract

/// How a store on disk is opened.
public struct StoreOptions: Sendable {
    /// When a commit returns.
    public enum Synchronous: String, Sendable, CaseIterable {
        /// When the disk has it.
        case full = "FULL"
        /// When the system has it: a power cut may lose the last commits.
        case normal = "NORMAL"
        /// As normal, and a power cut may damage the file.
        case off = "OFF"
    }

    /// What is checked before a start, beyond the file's head.
    public enum Check: Sendable {
        /// Everything that a start reads, which is all but history. The cost grows with the live
        /// data only.
        case live
        /// The whole file.
        case whole
    }

    /// See `Synchronous`.
    public var synchronous = Synchronous.full
    /// See `Check`.
    public var check = Check.live
    /// See `StoreLimits`.
    public var limits = StoreLimits()
    /// Memory for database pages of the connection that writes, in KiB; one that reads has a
    /// quarter. With a quarter of it commits under load wait for the disk ten times as long.
    public var cacheKiB = 16_384
    /// For tests: makes file operations fail.
    public var faults: FaultPlan?

    /// The defaults.
    public init() {}
}
