// Bugs that can be built into links, so that the checks show that they find them.

/// What a front end or a decoder of frames may do wrong.
public enum PlantedLinkFault: String, Sendable, CaseIterable {
    /// A frame of another epoch is taken.
    case epochOverlooked
    /// A frame that comes again, or after one that is missing, is taken.
    case numberOverlooked
    /// Another owner is taken for the one that has the sessions.
    case everyOwnerIsTheSame
    /// Clients with a request under way stay when the link breaks.
    case requestsForgotten
    /// An owner that goes on to beat is taken for one that is gone.
    case beatOverlooked
    /// Clients are kept as long as nobody owns.
    case patienceWithoutEnd
    /// Clients in a call are kept too.
    case busyKept
    /// It calls itself ready without an owner.
    case alwaysReady
    /// It does not know who is in a call.
    case busyOverlooked
    /// A client that comes again is said to have heard nothing.
    case eventsForgotten
}

/// The fault that was planted into one part of a link. In release builds none can be, and it takes
/// no room.
public struct PlantedLinkFaults: Sendable, Equatable {
    #if PLANTED_FAULTS
        private var planted: PlantedLinkFault?
    #endif

    /// Whether `fault` was planted.
    @inline(__always)
    func shows(_ fault: PlantedLinkFault) -> Bool {
        #if PLANTED_FAULTS
            planted == fault
        #else
            false
        #endif
    }

    /// Plants a fault, where they are compiled in.
    public mutating func plant(_ fault: PlantedLinkFault) {
        #if PLANTED_FAULTS
            planted = fault
        #endif
    }
}
