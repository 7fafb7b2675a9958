// What every trigger does to a participant in every state, in every mode: the expected rows.

import CallModel
import Testing

/// One trigger's table: a row for each state, a column for each group of modes.
struct TransitionTable: Sendable, CustomTestStringConvertible {
    let trigger: String
    let meaning: String
    /// The modes of each column; `others`: those that no other column names.
    let columns: [[String]]
    /// By state, `-` for somebody who is not in the call: a new state, `=` for no change, or
    /// `!code` for a refusal and `?code` for an entry of `errors[]`.
    let rows: [(from: String, cells: [String])]

    var testDescription: String { trigger }

    /// What the trigger does to a participant in `state` of a call of `mode`.
    func cell(from state: String, mode: String) -> String? {
        let own = columns.firstIndex { $0.contains(mode) }
        guard let column = own ?? columns.firstIndex(of: ["others"]) else { return nil }
        return rows.first { $0.from == state }?.cells[column]
    }

    static let all: [TransitionTable] = text.split(separator: "\n\n").map { block in
        let lines = block.split(separator: "\n").map(cells)
        return TransitionTable(
            trigger: lines[0][0], meaning: lines[0][1],
            columns: lines[1].dropFirst().map { $0.split(separator: ",").map(String.init) },
            rows: lines.dropFirst(2).map { ($0[0], Array($0.dropFirst())) })
    }

    /// The parts of a line, which stand two or more spaces apart.
    private static func cells(_ line: Substring) -> [String] {
        var cells: [String] = []
        var rest = line.drop { $0 == " " }
        while !rest.isEmpty {
            let end = rest.firstRange(of: "  ")?.lowerBound ?? rest.endIndex
            cells.append(String(rest[..<end]))
            rest = rest[end...].drop { $0 == " " }
        }
        return cells
    }

    private static let text = """
        add  the caller adds the user
        from         advanced,managed  others
        -            inviting          !wrong_mode
        inviting     ?already_in_call  !wrong_mode
        undelivered  ?already_in_call  !wrong_mode
        ringing      ?already_in_call  !wrong_mode
        accepting    ?already_in_call  !wrong_mode
        joined       ?already_in_call  !wrong_mode
        rejected     inviting          !wrong_mode
        cancelled    inviting          !wrong_mode
        timed_out    inviting          !wrong_mode
        left         inviting          !wrong_mode
        failed       inviting          !wrong_mode

        ringing  a device of the user shows the call
        from         others
        -            !not_invited
        inviting     ringing
        undelivered  ringing
        ringing      =
        accepting    =
        joined       =
        rejected     =
        cancelled    =
        timed_out    =
        left         =
        failed       =

        check  the delivery check, or the limit of an acknowledgement, is reached
        from         handshake  others
        -            =          =
        inviting     failed     undelivered
        undelivered  =          =
        ringing      =          =
        accepting    failed     failed
        joined       =          =
        rejected     =          =
        cancelled    =          =
        timed_out    =          =
        left         =          =
        failed       =          =

        deadline  the ring time is over
        from         handshake  others
        -            =          =
        inviting     failed     timed_out
        undelivered  failed     timed_out
        ringing      failed     timed_out
        accepting    =          =
        joined       =          =
        rejected     =          =
        cancelled    =          =
        timed_out    =          =
        left         =          =
        failed       =          =

        accept  the user accepts
        from         handshake          others
        -            !not_invited       !not_invited
        inviting     accepting          joined
        undelivered  accepting          joined
        ringing      accepting          joined
        accepting    !already_answered  !already_answered
        joined       !already_answered  !already_answered
        rejected     !already_answered  !already_answered
        cancelled    !cancelled         !cancelled
        timed_out    !expired           !expired
        left         !already_answered  !already_answered
        failed       !call_ended        !call_ended

        accept_ack  the caller acknowledges the user's accept
        from         handshake          others
        -            !not_invited       !wrong_mode
        inviting     !wrong_state       !wrong_mode
        undelivered  !wrong_state       !wrong_mode
        ringing      !wrong_state       !wrong_mode
        accepting    joined             !wrong_mode
        joined       !already_answered  !wrong_mode
        rejected     !wrong_state       !wrong_mode
        cancelled    !wrong_state       !wrong_mode
        timed_out    !wrong_state       !wrong_mode
        left         !wrong_state       !wrong_mode
        failed       !wrong_state       !wrong_mode

        reject  the user rejects
        from         others
        -            !not_invited
        inviting     rejected
        undelivered  rejected
        ringing      rejected
        accepting    !already_answered
        joined       !already_answered
        rejected     !already_answered
        cancelled    !cancelled
        timed_out    !expired
        left         !already_answered
        failed       !call_ended

        reject_busy  the user rejects as busy
        from         group        others
        -            !wrong_mode  !not_invited
        inviting     !wrong_mode  rejected
        undelivered  !wrong_mode  rejected
        ringing      !wrong_mode  rejected
        accepting    !wrong_mode  !already_answered
        joined       !wrong_mode  !already_answered
        rejected     !wrong_mode  !already_answered
        cancelled    !wrong_mode  !cancelled
        timed_out    !wrong_mode  !expired
        left         !wrong_mode  !already_answered
        failed       !wrong_mode  !call_ended

        cancel_one  the caller cancels, and names the user
        from         advanced           others
        -            !not_invited       =
        inviting     cancelled          cancelled
        undelivered  cancelled          cancelled
        ringing      cancelled          cancelled
        accepting    cancelled          cancelled
        joined       !already_answered  !already_answered
        rejected     !already_answered  =
        cancelled    !wrong_state       =
        timed_out    !wrong_state       =
        left         !wrong_state       !already_answered
        failed       !wrong_state       =

        cancel  the caller cancels the call
        from         others
        -            =
        inviting     cancelled
        undelivered  cancelled
        ringing      cancelled
        accepting    cancelled
        joined       !already_answered
        rejected     =
        cancelled    =
        timed_out    =
        left         !already_answered
        failed       =

        caller_lost  the caller is lost
        from         common,advanced,managed  handshake  others
        -            =                        =          =
        inviting     cancelled                =          =
        undelivered  cancelled                =          =
        ringing      cancelled                =          =
        accepting    cancelled                failed     =
        joined       =                        =          =
        rejected     =                        =          =
        cancelled    =                        =          =
        timed_out    =                        =          =
        left         =                        =          =
        failed       =                        =          =

        join  the user joins with the same device
        from         advanced,managed,group  others
        -            joined                  !wrong_mode
        inviting     joined                  !wrong_mode
        undelivered  joined                  !wrong_mode
        ringing      joined                  !wrong_mode
        accepting    joined                  !wrong_mode
        joined       !already_primary        !wrong_mode
        rejected     joined                  !wrong_mode
        cancelled    joined                  !wrong_mode
        timed_out    joined                  !wrong_mode
        left         joined                  !wrong_mode
        failed       joined                  !wrong_mode

        join_elsewhere  the user joins with another device
        from         advanced,managed,group  others
        -            joined                  !wrong_mode
        inviting     joined                  !wrong_mode
        undelivered  joined                  !wrong_mode
        ringing      joined                  !wrong_mode
        accepting    joined                  !wrong_mode
        joined       =                       !wrong_mode
        rejected     joined                  !wrong_mode
        cancelled    joined                  !wrong_mode
        timed_out    joined                  !wrong_mode
        left         joined                  !wrong_mode
        failed       joined                  !wrong_mode

        leave  the user leaves
        from         advanced,managed,group  others
        -            !not_invited            !wrong_mode
        inviting     !wrong_state            !wrong_mode
        undelivered  !wrong_state            !wrong_mode
        ringing      !wrong_state            !wrong_mode
        accepting    !wrong_state            !wrong_mode
        joined       left                    !wrong_mode
        rejected     !wrong_state            !wrong_mode
        cancelled    !wrong_state            !wrong_mode
        timed_out    !wrong_state            !wrong_mode
        left         !wrong_state            !wrong_mode
        failed       !wrong_state            !wrong_mode

        end  the user ends the call
        from         common,handshake  direct        others
        -            !wrong_mode       !not_invited  !not_invited
        inviting     !wrong_mode       rejected      !wrong_state
        undelivered  !wrong_mode       rejected      !wrong_state
        ringing      !wrong_mode       rejected      !wrong_state
        accepting    !wrong_mode       !wrong_state  !wrong_state
        joined       !wrong_mode       =             =
        rejected     !wrong_mode       !wrong_state  !wrong_state
        cancelled    !wrong_mode       !wrong_state  !wrong_state
        timed_out    !wrong_mode       !wrong_state  !wrong_state
        left         !wrong_mode       !wrong_state  !wrong_state
        failed       !wrong_mode       !wrong_state  !wrong_state

        end_by_caller  the caller ends the call
        from         common,handshake  direct     advanced,managed  others
        -            !wrong_mode       =          =                 !wrong_state
        inviting     !wrong_mode       cancelled  =                 !wrong_state
        undelivered  !wrong_mode       cancelled  =                 !wrong_state
        ringing      !wrong_mode       cancelled  =                 !wrong_state
        accepting    !wrong_mode       cancelled  =                 !wrong_state
        joined       !wrong_mode       =          =                 =
        rejected     !wrong_mode       =          =                 !wrong_state
        cancelled    !wrong_mode       =          =                 !wrong_state
        timed_out    !wrong_mode       =          =                 !wrong_state
        left         !wrong_mode       =          =                 =
        failed       !wrong_mode       =          =                 !wrong_state

        connect  a device of the user connects
        from         others
        -            =
        inviting     =
        undelivered  =
        ringing      =
        accepting    =
        joined       =
        rejected     =
        cancelled    =
        timed_out    =
        left         =
        failed       =

        lost  the user's last device says bye
        from         others
        -            =
        inviting     =
        undelivered  =
        ringing      =
        accepting    =
        joined       =
        rejected     =
        cancelled    =
        timed_out    =
        left         =
        failed       =

        forward  a policy sends the invitation on to another user
        from         others
        -            !not_invited
        inviting     cancelled
        undelivered  cancelled
        ringing      cancelled
        accepting    !call_ended
        joined       !call_ended
        rejected     !call_ended
        cancelled    !call_ended
        timed_out    !call_ended
        left         !call_ended
        failed       !call_ended
        """
}

// MARK: The page of the documentation

extension TransitionTable {
    static let states = ["-"] + Participant.State.allCases.map(\.rawValue)

    /// The page `Transitions.md` of the documentation.
    static var page: String {
        let head = """
            # Transitions

            What every trigger does to a participant in every state, in every mode.

            ## Overview

            This page is written by a test from the table that the core is checked against. A
            participant in the state `-` is not in the call; `=` means no change, `!` a refusal
            and `?` an entry of `errors[]`.

            Where each state leads, in some mode:

            ```
            \(diagram)
            ```

            """
        return head + "\n" + all.map(\.section).joined(separator: "\n")
    }

    /// One line for each state: the states it leads to, and by what.
    private static var diagram: String {
        states.map { from in
            let successors = states.compactMap { to -> String? in
                let triggers = all.filter { $0.leads(from: from, to: to) }.map(\.trigger)
                return triggers.isEmpty ? nil : "→ \(to) (\(triggers.joined(separator: ", ")))"
            }
            let name = from + String(repeating: " ", count: 12 - from.count)
            let gap = "\n" + String(repeating: " ", count: 12)
            return successors.isEmpty ? name : name + successors.joined(separator: gap)
        }.joined(separator: "\n")
    }

    private func leads(from: String, to: String) -> Bool {
        rows.contains { $0.from == from && $0.cells.contains(to) }
    }

    private var section: String {
        let heads = columns.map { $0.joined(separator: ", ") }
        var lines = ["## \(trigger): \(meaning)", ""]
        lines.append("| from | " + heads.joined(separator: " | ") + " |")
        lines.append(String(repeating: "|---", count: heads.count + 1) + "|")
        for row in rows {
            lines.append("| \(row.from) | " + row.cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
