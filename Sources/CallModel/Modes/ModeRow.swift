// A mode as calls and tables hold it.

/// A row of the table of modes. A call keeps the row that it began with, over reloads and restarts,
/// so a row never changes; calls of one mode share it.
public struct ModeRow: Sendable, Equatable {
    private final class Box: Sendable {
        let mode: Mode
        /// Its place in `Mode.all`; nil: it is an operator's own, or a built-in one under other
        /// limits.
        let place: UInt8?

        init(_ mode: Mode) {
            self.mode = mode
            place = Mode.all.firstIndex(of: mode).map { UInt8($0) }
        }
    }

    private let box: Box

    /// The row of `mode`.
    public init(_ mode: Mode) { box = Box(mode) }

    /// The row of `modes` that is called `name` on the wire; nil: there is none.
    public init?(named name: String, in modes: [ModeRow] = ModeRow.all) {
        guard let row = modes.first(where: { $0.name == name }) else { return nil }
        self = row
    }

    /// What it says.
    public var mode: Mode { _read { yield box.mode } }
    /// Whether it has all of `features`; to ask the mode for that would copy it.
    public func allows(_ features: Mode.Features) -> Bool { box.mode.has(features) }
    /// The mode's name on the wire.
    public var name: String { box.mode.name }
    /// Its place in `Mode.all`, if it is a row of that table.
    public var place: UInt8? { box.place }

    /// Whether all parameters are equal; at once where both share them.
    public static func == (left: ModeRow, right: ModeRow) -> Bool {
        left.box === right.box || left.box.mode == right.box.mode
    }
}

/// The built-in modes by their names, for whoever places calls.
extension ModeRow {
    /// Every built-in mode, in the order of `Mode.all`.
    public static let all = Mode.all.map { ModeRow($0) }

    /// ZIM's common mode: ends when every invitee has answered.
    public static let common = all[0]
    /// ZIM's advanced mode: add, join, leave; lives until ended or the last one leaves.
    public static let advanced = all[1]
    /// ZEGOCLOUD's call demo: busy users reject by themselves.
    public static let managed = all[2]
    /// Sendbird's direct call: one to one, media phases, hold, items.
    public static let direct = all[3]
    /// CometChat's ringing, one to one.
    public static let ringing = all[4]
    /// CometChat's ringing of a group.
    public static let group = all[5]
    /// Agora's call invitation: delivery and accept are acknowledged.
    public static let handshake = all[6]
}
