// A host that is asked again what another one was asked.

import CallModel
import Configuration

extension PolicyHost {
    /// Takes the dice, the wall clock and the `call.vars` that a decision was made with.
    package func take(_ input: DecisionInput, of cause: Cause) {
        wallOffset = input.wallOffset
        services.dice = SeededGenerator(seed: input.dice)
        for vars in input.vars {
            _ = memory(of: vars.plugin).keepVars(
                vars.bytes, of: input.call.id, cause, PluginLimits())
        }
    }
}
