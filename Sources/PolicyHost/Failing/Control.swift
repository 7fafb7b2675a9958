// Plugins that are asked once more, beside those that are in force.

/// A generation that is asked again what the host has decided, without any effect: whether it
/// fails where the one in force does. The module that keeps records of decisions knows how
/// (`Replay`).
public protocol Control: AnyObject {
    /// What is asked; it is used for nothing else.
    var generation: Generation { get }
    /// Processor time of all its runs, in nanoseconds.
    var spent: UInt64 { get }

    /// What each plugin says to the question of `record`; nil when its input was not kept, or when
    /// that took more than `time` nanoseconds of processor time and there is no answer.
    func answers(to record: DecisionRecord, within time: UInt64) -> [DecisionRecord.Asked]?
}
