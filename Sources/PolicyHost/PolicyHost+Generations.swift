// One generation takes over from another between two inputs (policy.md, section 10).

import CallCore

extension PolicyHost {
    /// `generation` answers from now on. Handlers that wait go on in the generation in which they
    /// were started.
    public func activate(_ generation: Generation, at now: Moment) -> [PolicyEffect] {
        services.now = now
        self.generation = generation
        adopt(generation)
        let effects = services.effects
        services.effects = []
        return effects
    }
}
