// What every trigger does to an invitee: the expected rows.

/// bob, whom alice has invited; carol rings too.
let inviteeTransitions = """
    add  the caller adds the user
    from                                           advanced,managed  others
    -/rejected/cancelled/timed_out/left/failed     inviting          !wrong_mode
    inviting/undelivered/ringing/accepting/joined  ?already_in_call  !wrong_mode

    ringing  a device of the user shows the call
    from                                         others
    -                                            !not_invited
    inviting/undelivered                         ringing
    ringing/accepting/joined/rejected/cancelled  =
    timed_out/left/failed                        =

    check  the delivery check, or the limit of an acknowledgement, is reached
    from                                             handshake  others
    -/undelivered/ringing/joined/rejected/cancelled  =          =
    timed_out/left/failed                            =          =
    inviting                                         failed     undelivered
    accepting                                        failed     failed

    deadline  the ring time is over
    from                                             handshake  others
    -/accepting/joined/rejected/cancelled/timed_out  =          =
    left/failed                                      =          =
    inviting/undelivered/ringing                     failed     timed_out

    accept  the user accepts
    from                            handshake          others
    -                               !not_invited       !not_invited
    inviting/undelivered/ringing    accepting          joined
    accepting/joined/rejected/left  !already_answered  !already_answered
    cancelled                       !cancelled         !cancelled
    timed_out                       !expired           !expired
    failed                          !call_ended        !call_ended

    accept_ack  the caller acknowledges the user's accept
    from                                             handshake          others
    -                                                !not_invited       !wrong_mode
    inviting/undelivered/ringing/rejected/cancelled  !wrong_state       !wrong_mode
    timed_out/left/failed                            !wrong_state       !wrong_mode
    accepting                                        joined             !wrong_mode
    joined                                           !already_answered  !wrong_mode

    reject  the user rejects
    from                            others
    -                               !not_invited
    inviting/undelivered/ringing    rejected
    accepting/joined/rejected/left  !already_answered
    cancelled                       !cancelled
    timed_out                       !expired
    failed                          !call_ended

    reject_busy  the user rejects as busy
    from                            group        others
    -                               !wrong_mode  !not_invited
    inviting/undelivered/ringing    !wrong_mode  rejected
    accepting/joined/rejected/left  !wrong_mode  !already_answered
    cancelled                       !wrong_mode  !cancelled
    timed_out                       !wrong_mode  !expired
    failed                          !wrong_mode  !call_ended

    cancel_one  the caller cancels, and names the user
    from                                    advanced,managed   others
    -                                       !not_invited       !not_invited
    inviting/undelivered/ringing/accepting  cancelled          cancelled (cancelled)
    joined                                  !already_answered  !already_answered
    rejected                                !already_answered  = (cancelled)
    cancelled/timed_out/failed              !wrong_state       = (cancelled)
    left                                    !wrong_state       !already_answered

    cancel  the caller cancels the call
    from                                    others
    -/rejected/cancelled/timed_out/failed   = (cancelled)
    inviting/undelivered/ringing/accepting  cancelled (cancelled)
    joined/left                             !already_answered

    caller_lost  the caller is lost
    from                            common,advanced,managed  handshake  direct             others
    -/rejected/cancelled/timed_out  = (cancelled)            =          =                  =
    failed                          = (cancelled)            =          =                  =
    inviting/undelivered/ringing    cancelled (cancelled)    =          =                  =
    accepting                       cancelled (cancelled)    failed     =                  =
    joined/left                     =                        =          = (not_connected)  =

    join  the user joins with the same device
    from                                               advanced,managed,group  others
    -/inviting/undelivered/ringing/accepting/rejected  joined                  !wrong_mode
    cancelled/timed_out/left/failed                    joined                  !wrong_mode
    joined                                             !already_primary        !wrong_mode

    join_elsewhere  the user joins with another device
    from                                               advanced,managed,group  others
    -/inviting/undelivered/ringing/accepting/rejected  joined                  !wrong_mode
    cancelled/timed_out/left/failed                    joined                  !wrong_mode
    joined                                             =                       !wrong_mode

    leave  the user leaves
    from                                             advanced,managed,group  others
    -                                                !not_invited            !wrong_mode
    inviting/undelivered/ringing/accepting/rejected  !wrong_state            !wrong_mode
    cancelled/timed_out/left/failed                  !wrong_state            !wrong_mode
    joined                                           left                    !wrong_mode

    end  the user ends the call
    from                          common,handshake  direct             others
    -                             !wrong_mode       !not_invited       !not_invited
    inviting/undelivered/ringing  !wrong_mode       rejected           !wrong_state
    accepting/rejected/cancelled  !wrong_mode       !wrong_state       !wrong_state
    timed_out/left/failed         !wrong_mode       !wrong_state       !wrong_state
    joined                        !wrong_mode       = (not_connected)  = (completed)

    end_by_caller  the caller ends the call
    from                 common,handshake  advanced,managed  direct                 others
    -/rejected           !wrong_mode       = (cancelled)     = (cancelled)          !wrong_state
    cancelled/timed_out  !wrong_mode       = (cancelled)     = (cancelled)          !wrong_state
    failed               !wrong_mode       = (cancelled)     = (cancelled)          !wrong_state
    inviting             !wrong_mode       = (cancelled)     cancelled (cancelled)  !wrong_state
    undelivered/ringing  !wrong_mode       = (cancelled)     cancelled (cancelled)  !wrong_state
    accepting            !wrong_mode       = (cancelled)     cancelled (cancelled)  !wrong_state
    joined/left          !wrong_mode       = (completed)     = (not_connected)      = (completed)

    connect  a device of the user connects
    from                                             others
    -/inviting/undelivered/ringing/accepting/joined  =
    rejected/cancelled/timed_out/left/failed         =

    lost  the user's last device says bye
    from                                      direct             others
    -/inviting/undelivered/ringing/accepting  =                  =
    joined                                    = (not_connected)  =
    rejected/cancelled/timed_out/left/failed  =                  =

    forward  a policy sends the invitation on to another user
    from                                                others
    -                                                   !not_invited
    inviting/undelivered/ringing                        cancelled
    accepting/joined/rejected/cancelled/timed_out/left  !call_ended
    failed                                              !call_ended

    cancels  the user cancels the call
    from                                           others
    -                                              !not_invited
    inviting/undelivered/ringing/accepting/joined  !not_inviter
    rejected/cancelled/timed_out/left/failed       !not_inviter

    adds  the user adds somebody
    from                                             advanced,managed  others
    -                                                !not_invited      !wrong_mode
    inviting/undelivered/ringing/accepting/rejected  !wrong_state      !wrong_mode
    cancelled/timed_out/left/failed                  !wrong_state      !wrong_mode
    joined                                           =                 !wrong_mode

    media_failed  the user reports that its media failed
    from                                             direct             others
    -                                                !not_invited       !not_invited
    inviting/undelivered/ringing/accepting/rejected  !wrong_state       =
    cancelled/timed_out/left/failed                  !wrong_state       =
    joined                                           = (not_connected)  =

    finish  a policy or the operator ends the call
    from                                             others
    -/inviting/undelivered/ringing/accepting/joined  = (policy)
    rejected/cancelled/timed_out/left/failed         = (policy)
    """
