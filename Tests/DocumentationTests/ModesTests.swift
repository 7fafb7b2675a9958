// The page of the modes is the table that the switchboard runs on.

import CallModel
import Testing

@Suite struct ModesTests {
    @Test func thePageShowsTheTable() throws {
        try Page("CallCore", "Modes").expect("modes", ModeTable(Mode.all).markdown)
    }

    /// What a mode says is in its parameters: one that they do not hold would be lost in stores.
    @Test(arguments: Mode.all)
    func aModeIsItsParameters(_ mode: Mode) throws {
        var copy = mode == .common ? Mode.direct : .common
        copy.name = mode.name
        for parameter in ModeParameter.all {
            #expect(parameter.set(parameter.value(in: mode), in: &copy), "\(parameter.name)")
        }
        #expect(copy == mode)
    }

    @Test func everyParameterChangesAMode() {
        for parameter in ModeParameter.all {
            let values = Mode.all.map { parameter.value(in: $0) }
            let others = ["1", "2", "1000", "60000", "end", "caller", "yes", nil]
            let isFelt = (values + others).contains { value in
                var mode = Mode.common
                return parameter.set(value, in: &mode) && mode != .common
            }
            #expect(isFelt, "\(parameter.name)")
        }
    }
}
