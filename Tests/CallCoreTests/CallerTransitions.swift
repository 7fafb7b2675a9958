// What every trigger does to the caller and to a joiner: the expected rows.

/// alice, who made the call; bob rings, or has joined. Who is pending here has left and was invited
/// again.
let callerTransitions = """
    add  bob adds the caller
    from                                                advanced,managed  others
    inviting/undelivered/ringing/accepting, bob rings   !wrong_state      !wrong_mode
    joined/rejected/cancelled/timed_out, bob rings      !wrong_state      !wrong_mode
    left/failed, bob rings                              !wrong_state      !wrong_mode
    inviting/undelivered/ringing/accepting, bob joined  ?already_in_call  !wrong_mode
    joined, bob joined                                  ?already_in_call  !wrong_mode
    rejected/cancelled/timed_out/left, bob joined       inviting          !wrong_mode
    failed, bob joined                                  inviting          !wrong_mode

    ringing  a device of the caller shows the call
    from                                         others
    inviting/undelivered                         ringing
    ringing/accepting/joined/rejected/cancelled  =
    timed_out/left/failed                        =

    check  the delivery check, or the limit of an acknowledgement, is reached
    from                               common,managed    handshake         others
    inviting, bob rings                undelivered       failed            undelivered
    inviting, bob joined               undelivered       failed (settled)  undelivered
    undelivered/ringing/joined         =                 =                 =
    rejected/cancelled/timed_out/left  =                 =                 =
    failed                             =                 =                 =
    accepting, bob rings               failed            failed            failed
    accepting, bob joined              failed (settled)  failed (settled)  failed

    deadline  the ring time is over
    from                              common,managed       handshake         others
    inviting/undelivered, bob rings   timed_out            failed            timed_out
    ringing, bob rings                timed_out            failed            timed_out
    inviting/undelivered, bob joined  timed_out (settled)  failed (settled)  timed_out
    ringing, bob joined               timed_out (settled)  failed (settled)  timed_out
    accepting/joined/rejected         =                    =                 =
    cancelled/timed_out/left/failed   =                    =                 =

    accept  the caller accepts
    from                              common             handshake          others
    inviting/undelivered, bob rings   joined             accepting          joined
    ringing, bob rings                joined             accepting          joined
    inviting/undelivered, bob joined  joined (settled)   accepting          joined
    ringing, bob joined               joined (settled)   accepting          joined
    accepting/rejected/left           !already_answered  !already_answered  !already_answered
    joined                            !already_joined    !already_joined    !already_joined
    cancelled                         !cancelled         !cancelled         !cancelled
    timed_out                         !expired           !expired           !expired
    failed                            !call_ended        !call_ended        !call_ended

    acknowledges  the caller acknowledges an accept of bob
    from                                                handshake          others
    inviting/undelivered/ringing/accepting, bob rings   !wrong_state       !wrong_mode
    joined/rejected/cancelled/timed_out, bob rings      !wrong_state       !wrong_mode
    left/failed, bob rings                              !wrong_state       !wrong_mode
    inviting/undelivered/ringing/accepting, bob joined  !already_answered  !wrong_mode
    joined/rejected/cancelled/timed_out, bob joined     !already_answered  !wrong_mode
    left/failed, bob joined                             !already_answered  !wrong_mode

    reject  the caller rejects
    from                                      common,managed,handshake  others
    inviting/undelivered/ringing, bob rings   rejected                  rejected
    inviting/undelivered/ringing, bob joined  rejected (settled)        rejected
    accepting/joined/rejected/left            !already_answered         !already_answered
    cancelled                                 !cancelled                !cancelled
    timed_out                                 !expired                  !expired
    failed                                    !call_ended               !call_ended

    reject_busy  the caller rejects as busy
    from                              common,managed,handshake  group        others
    inviting/undelivered, bob rings   rejected                  !wrong_mode  rejected
    ringing, bob rings                rejected                  !wrong_mode  rejected
    inviting/undelivered, bob joined  rejected (settled)        !wrong_mode  rejected
    ringing, bob joined               rejected (settled)        !wrong_mode  rejected
    accepting/joined/rejected/left    !already_answered         !wrong_mode  !already_answered
    cancelled                         !cancelled                !wrong_mode  !cancelled
    timed_out                         !expired                  !wrong_mode  !expired
    failed                            !call_ended               !wrong_mode  !call_ended

    cancels  the caller cancels the call
    from                                             others
    inviting/undelivered/ringing/accepting/rejected  !wrong_state
    timed_out/left/failed                            !wrong_state
    joined, bob rings                                cancelled (cancelled)
    joined, bob joined                               !already_answered
    cancelled                                        !cancelled

    cancels_one  the caller cancels, and names bob
    from                            advanced           managed            others
    inviting/undelivered/ringing    !wrong_state       !wrong_state       !wrong_state
    accepting/rejected/timed_out    !wrong_state       !wrong_state       !wrong_state
    left/failed                     !wrong_state       !wrong_state       !wrong_state
    joined, bob rings               =                  = (settled)        cancelled (cancelled)
    joined, bob joined              !already_answered  !already_answered  !already_answered
    cancelled                       !cancelled         !cancelled         !cancelled

    cancel_one  bob cancels, and names the caller
    from                              advanced           managed              others
    inviting/undelivered, bob rings   !wrong_state       !wrong_state         !not_inviter
    ringing/accepting, bob rings      !wrong_state       !wrong_state         !not_inviter
    joined/rejected, bob rings        !wrong_state       !wrong_state         !not_inviter
    inviting/undelivered, bob joined  cancelled          cancelled (settled)  !not_inviter
    ringing/accepting, bob joined     cancelled          cancelled (settled)  !not_inviter
    joined/rejected, bob joined       !already_answered  !already_answered    !not_inviter
    cancelled/timed_out/left/failed   !wrong_state       !wrong_state         !not_inviter

    join  the caller joins with the same device
    from                                             advanced,managed,group  others
    inviting/undelivered/ringing/accepting/rejected  joined                  !wrong_mode
    cancelled/timed_out/left/failed                  joined                  !wrong_mode
    joined                                           !already_primary        !wrong_mode

    join_elsewhere  the caller joins with another device
    from                                             advanced,managed,group  others
    inviting/undelivered/ringing/accepting/rejected  joined                  !wrong_mode
    cancelled/timed_out/left/failed                  joined                  !wrong_mode
    joined                                           =                       !wrong_mode

    leave  the caller leaves
    from                          advanced,group    managed           others
    inviting/undelivered/ringing  !wrong_state      !wrong_state      !wrong_mode
    accepting/rejected/cancelled  !wrong_state      !wrong_state      !wrong_mode
    timed_out/left/failed         !wrong_state      !wrong_state      !wrong_mode
    joined, bob rings             left (last_left)  left (cancelled)  !wrong_mode
    joined, bob joined            left              left (last_left)  !wrong_mode

    end  the caller ends the call
    from                 common,handshake  advanced,managed  direct                 others
    inviting             !wrong_mode       !wrong_state      rejected               !wrong_state
    undelivered/ringing  !wrong_mode       !wrong_state      rejected               !wrong_state
    accepting/rejected   !wrong_mode       !wrong_state      !wrong_state           !wrong_state
    cancelled/timed_out  !wrong_mode       !wrong_state      !wrong_state           !wrong_state
    left/failed          !wrong_mode       !wrong_state      !wrong_state           !wrong_state
    joined, bob rings    !wrong_mode       = (cancelled)     cancelled (cancelled)  !wrong_state
    joined, bob joined   !wrong_mode       = (completed)     = (not_connected)      = (completed)

    adds  the caller adds somebody
    from                                             advanced,managed  others
    inviting/undelivered/ringing/accepting/rejected  !wrong_state      !wrong_mode
    cancelled/timed_out/left/failed                  !wrong_state      !wrong_mode
    joined                                           =                 !wrong_mode

    media_failed  the caller reports that its media failed
    from                                             direct                others
    inviting/undelivered/ringing/accepting/rejected  !wrong_state          =
    cancelled/timed_out/left/failed                  !wrong_state          =
    joined, bob rings                                failed (dial_failed)  =
    joined, bob joined                               = (not_connected)     =

    connect  a device of the caller connects
    from                                           others
    inviting/undelivered/ringing/accepting/joined  =
    rejected/cancelled/timed_out/left/failed       =

    lost  the caller's last device says bye
    from                              common,advanced,managed  handshake  direct             others
    inviting/undelivered, bob rings   cancelled (cancelled)    =          =                  =
    ringing/joined, bob rings         cancelled (cancelled)    =          =                  =
    inviting/undelivered, bob joined  =                        =          =                  =
    ringing/accepting, bob joined     =                        =          =                  =
    joined, bob joined                =                        =          = (not_connected)  =
    accepting, bob rings              cancelled (cancelled)    failed     =                  =
    rejected/cancelled/timed_out      =                        =          =                  =
    left/failed                       =                        =          =                  =

    forward  a policy sends the caller's invitation on to another user
    from                                                others
    inviting/undelivered/ringing                        cancelled
    accepting/joined/rejected/cancelled/timed_out/left  !call_ended
    failed                                              !call_ended

    finish  a policy or the operator ends the call
    from                                           others
    inviting/undelivered/ringing/accepting/joined  = (policy)
    rejected/cancelled/timed_out/left/failed       = (policy)

    bob_accepts  bob accepts
    from                              common             managed            others
    inviting/undelivered, bob rings   =                  =                  =
    ringing/accepting, bob rings      =                  =                  =
    inviting/undelivered, bob joined  !already_answered  !already_answered  !already_answered
    ringing/accepting, bob joined     !already_answered  !already_answered  !already_answered
    joined/rejected, bob joined       !already_answered  !already_answered  !already_answered
    cancelled/timed_out, bob joined   !already_answered  !already_answered  !already_answered
    left/failed, bob joined           !already_answered  !already_answered  !already_answered
    joined, bob rings                 = (settled)        =                  =
    rejected/cancelled, bob rings     = (settled)        = (settled)        =
    timed_out/left/failed, bob rings  = (settled)        = (settled)        =

    bob_rejects  bob rejects
    from                                                advanced           others
    inviting/undelivered/ringing/accepting, bob rings   =                  =
    inviting/undelivered/ringing/accepting, bob joined  !already_answered  !already_answered
    joined/rejected/cancelled/timed_out, bob joined     !already_answered  !already_answered
    left/failed, bob joined                             !already_answered  !already_answered
    joined, bob rings                                   =                  = (rejected)
    rejected/cancelled/timed_out/left, bob rings        = (rejected)       = (rejected)
    failed, bob rings                                   = (rejected)       = (rejected)

    bob_leaves  bob leaves
    from                               advanced,group  managed        others
    inviting/undelivered, bob rings    !wrong_state    !wrong_state   !wrong_mode
    ringing/accepting, bob rings       !wrong_state    !wrong_state   !wrong_mode
    joined/rejected, bob rings         !wrong_state    !wrong_state   !wrong_mode
    cancelled/timed_out, bob rings     !wrong_state    !wrong_state   !wrong_mode
    left/failed, bob rings             !wrong_state    !wrong_state   !wrong_mode
    inviting/undelivered, bob joined   = (last_left)   =              !wrong_mode
    ringing/accepting, bob joined      = (last_left)   =              !wrong_mode
    joined, bob joined                 =               = (last_left)  !wrong_mode
    rejected/cancelled, bob joined     = (last_left)   = (last_left)  !wrong_mode
    timed_out/left/failed, bob joined  = (last_left)   = (last_left)  !wrong_mode

    bob_ends  bob ends the call
    from                              common,handshake  direct             others
    inviting/undelivered, bob rings   !wrong_mode       =                  !wrong_state
    ringing/accepting, bob rings      !wrong_mode       =                  !wrong_state
    inviting/undelivered, bob joined  !wrong_mode       = (not_connected)  = (completed)
    ringing/accepting, bob joined     !wrong_mode       = (not_connected)  = (completed)
    joined/rejected, bob joined       !wrong_mode       = (not_connected)  = (completed)
    cancelled/timed_out, bob joined   !wrong_mode       = (not_connected)  = (completed)
    left/failed, bob joined           !wrong_mode       = (not_connected)  = (completed)
    joined, bob rings                 !wrong_mode       = (rejected)       !wrong_state
    rejected/cancelled, bob rings     !wrong_mode       = (rejected)       !wrong_state
    timed_out/left/failed, bob rings  !wrong_mode       = (rejected)       !wrong_state
    """

/// dave, who joins by the call's id; bob rings, or has joined.
let joinerTransitions = """
    add  bob adds the user
    from                      advanced,managed  others
    -/joined/left, bob rings  !wrong_state      !wrong_mode
    -/left, bob joined        inviting          !wrong_mode
    joined, bob joined        ?already_in_call  !wrong_mode

    ringing  a device of the user shows the call
    from         others
    -            !not_invited
    joined/left  =

    check  the delivery check, or the limit of an acknowledgement, is reached
    from           others
    -/joined/left  =

    deadline  the ring time is over
    from           others
    -/joined/left  =

    accept  the user accepts
    from    others
    -       !not_invited
    joined  !already_joined
    left    !already_answered

    acknowledges  the user acknowledges an accept of bob
    from         handshake     others
    -            !not_invited  !wrong_mode
    joined/left  !not_inviter  !wrong_mode

    reject  the user rejects
    from         others
    -            !not_invited
    joined/left  !already_answered

    reject_busy  the user rejects as busy
    from         group        others
    -            !wrong_mode  !not_invited
    joined/left  !wrong_mode  !already_answered

    cancels  the user cancels the call
    from         others
    -            !not_invited
    joined/left  !not_inviter

    cancels_one  the user cancels, and names bob
    from                advanced,managed   others
    -                   !not_invited       !not_invited
    joined, bob rings   !not_inviter       !not_inviter
    joined, bob joined  !already_answered  !not_inviter
    left                !wrong_state       !not_inviter

    cancel_one  bob cancels, and names the user
    from                 advanced,managed   others
    -/joined, bob rings  !wrong_state       !not_inviter
    -, bob joined        !not_invited       !not_inviter
    joined, bob joined   !already_answered  !not_inviter
    left                 !wrong_state       !not_inviter

    join  the user joins
    from    advanced,managed,group  others
    -/left  joined                  !wrong_mode
    joined  !already_primary        !wrong_mode

    join_elsewhere  the user joins with another device
    from    advanced,managed,group  others
    -/left  joined                  !wrong_mode
    joined  =                       !wrong_mode

    leave  the user leaves
    from    advanced,managed,group  others
    -       !not_invited            !wrong_mode
    joined  left                    !wrong_mode
    left    !wrong_state            !wrong_mode

    end  the user ends the call
    from    common,handshake  direct             others
    -       !wrong_mode       !not_invited       !not_invited
    joined  !wrong_mode       = (not_connected)  = (completed)
    left    !wrong_mode       !wrong_state       !wrong_state

    adds  the user adds somebody
    from    advanced,managed  others
    -       !not_invited      !wrong_mode
    joined  =                 !wrong_mode
    left    !wrong_state      !wrong_mode

    media_failed  the user reports that its media failed
    from    direct             others
    -       !not_invited       !not_invited
    joined  = (not_connected)  =
    left    !wrong_state       =

    connect  a device of the user connects
    from           others
    -/joined/left  =

    lost  the user's last device says bye
    from    direct             others
    -/left  =                  =
    joined  = (not_connected)  =

    forward  a policy sends the user's invitation on to another user
    from         others
    -            !not_invited
    joined/left  !call_ended

    finish  a policy or the operator ends the call
    from           others
    -/joined/left  = (policy)

    bob_accepts  bob accepts
    from                       common             others
    -/joined/left, bob rings   = (settled)        =
    -/joined/left, bob joined  !already_answered  !already_answered

    bob_rejects  bob rejects
    from                common,handshake   advanced           managed            others
    -, bob rings        = (rejected)       =                  = (rejected)       = (rejected)
    -, bob joined       !already_answered  !already_answered  !already_answered  !already_answered
    joined, bob joined  !already_answered  !already_answered  !already_answered  !already_answered
    left, bob joined    !already_answered  !already_answered  !already_answered  !already_answered
    joined, bob rings   = (settled)        =                  =                  =
    left, bob rings     = (settled)        =                  = (settled)        =

    bob_leaves  bob leaves
    from                      advanced,group  managed        others
    -/joined/left, bob rings  !wrong_state    !wrong_state   !wrong_mode
    -/left, bob joined        =               = (last_left)  !wrong_mode
    joined, bob joined        =               =              !wrong_mode

    bob_ends  bob ends the call
    from                       common,handshake  direct             others
    -, bob rings               !wrong_mode       = (rejected)       !wrong_state
    -/joined/left, bob joined  !wrong_mode       = (not_connected)  = (completed)
    joined/left, bob rings     !wrong_mode       =                  !wrong_state
    """
