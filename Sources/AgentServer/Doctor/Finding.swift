// What a check of an installation says.

/// The result of one check.
public struct Finding: Sendable, Equatable {
    /// How bad it is.
    public enum Grade: String, Sendable {
        /// As it should be.
        case good
        /// It works, but the operator should know.
        case warning
        /// Calls fail, or will at the next start.
        case trouble
    }

    /// See `Grade`.
    public let grade: Grade
    /// What was found.
    public let text: String
    /// What to do about it.
    public let advice: String

    /// One line of a report.
    public var line: String {
        let mark =
            switch grade {
            case .good: "ok  "
            case .warning: "warn"
            case .trouble: "FAIL"
            }
        return "\(mark)  \(text)" + (advice.isEmpty ? "" : " → \(advice)")
    }

    /// Everything is as it should be.
    public static func good(_ text: String) -> Finding {
        Finding(grade: .good, text: text, advice: "")
    }

    /// It works, but …
    public static func warning(_ text: String, _ advice: String) -> Finding {
        Finding(grade: .warning, text: text, advice: advice)
    }

    /// It does not work.
    public static func trouble(_ text: String, _ advice: String) -> Finding {
        Finding(grade: .trouble, text: text, advice: advice)
    }
}
