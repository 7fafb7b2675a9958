// How a plugin does, as its code of one generation.

/// What a plugin has met and what it is passed over for. Belongs to one generation: handlers of an
/// older one that still run say nothing about the code that has taken its place.
final class PluginHealth {
    /// What it is passed over for.
    var failing = FailureTable()
    /// Whom it has met.
    var pairs = RecentPairs()
}
