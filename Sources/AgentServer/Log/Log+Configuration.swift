// The log that the operator's file asks for.

import AgentCore
import Configuration

extension Log {
    /// The log that a configuration asks for.
    public init(_ configuration: Configuration) {
        self.init()
        configure(configuration)
    }

    /// Is what a configuration asks for from now on.
    func configure(_ configuration: Configuration) {
        let format: Log.Format? =
            switch configuration.log.format {
            case .auto: nil
            case .text: .text
            case .json: .json
            }
        configure(level: configuration.log.level, format: format)
        bufferLimit = configuration.limits.logBuffer
    }
}
