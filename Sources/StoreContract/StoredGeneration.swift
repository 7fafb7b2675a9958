// Plugin generations: sources by hash, the last ones, the active one.

import CallModel

/// A set of plugin and configuration files that was or may become active.
public struct StoredGeneration: Sendable, Equatable {
    /// One file.
    public struct File: Sendable, Equatable {
        /// Where it was read, as the host names it.
        public let path: String
        /// Its bytes.
        public let source: [UInt8]

        /// The file `path` with `source`.
        public init(path: String, source: [UInt8]) {
            self.path = path
            self.source = source
        }
    }

    /// The hash over all files, which names the generation.
    public let name: String
    /// The files in order of their paths.
    public let files: [File]

    /// The generation `name` of `files`.
    public init(name: String, files: [File]) {
        self.name = name
        self.files = files
    }
}

/// A change of the generations.
public enum GenerationChange: Sendable, Equatable {
    /// Becomes the active one; its sources are kept. Of the others the last ones are kept too.
    case activate(StoredGeneration, at: Moment)
    /// Was rolled back: a start does not take the same files again by itself (E54).
    case rollBack(name: String, at: Moment)
}

/// A kept generation without its sources.
public struct GenerationMark: Sendable, Equatable {
    /// The hash that names it.
    public let name: String
    /// When it last became active.
    public let activatedAt: Moment
    /// When it was rolled back, if it was and has not been activated since.
    public let rolledBackAt: Moment?
    /// Whether it is the active one.
    public let isActive: Bool

    /// The generation `name`, last activated at `activatedAt`.
    public init(name: String, activatedAt: Moment, rolledBackAt: Moment?, isActive: Bool) {
        self.name = name
        self.activatedAt = activatedAt
        self.rolledBackAt = rolledBackAt
        self.isActive = isActive
    }
}
