// The names of what bounds one plugin, and one pair of accounts in it.

import CallModel
import Lua

extension ConfigurationField {
    static let plugins: [ConfigurationField] = [
        .server("limits.questions_per_cause", "integer", "100", "Of a pair, that wait at once.") {
            c, v throws(LuaProblem) in c.limits.questionsPerCause = try v.integer(1...1_000_000)
        },
        .server("limits.reports_per_cause", "integer", "200", "Of an account, that wait.") {
            c, v throws(LuaProblem) in c.limits.reportsPerCause = try v.integer(1...1_000_000)
        },
        .server("limits.held_time", "duration", "\"5ms\"", "Held for a decision at once.") {
            c, v throws(LuaProblem) in c.limits.heldTime = try v.duration(1...5)
        },
        .server("limits.handlers", "integer", "1000", "Coroutines and handlers of a plugin.") {
            c, v throws(LuaProblem) in c.limits.plugin.coroutines = try v.integer(1...100_000)
        },
        .server("limits.handlers_per_cause", "integer", "64", "Of those, of a pair of accounts.") {
            c, v throws(LuaProblem) in
            c.limits.plugin.coroutinesOfCause = try v.integer(1...100_000)
        },
        .server("limits.timers", "integer", "10000", "Pending of a plugin.") {
            c, v throws(LuaProblem) in c.limits.plugin.timers = try v.integer(1...1_000_000)
        },
        .server("limits.timers_per_cause", "integer", "64", "Of those, of a pair of accounts.") {
            c, v throws(LuaProblem) in c.limits.plugin.timersOfCause = try v.integer(1...1_000_000)
        },
        .server("limits.limit_keys", "integer", "10000", "Counted by `limit` of a plugin.") {
            c, v throws(LuaProblem) in c.limits.plugin.limitKeys = try v.integer(10...10_000_000)
        },
        .server(
            "limits.limit_keys_per_cause", "integer", "1000", "Of those, of a pair of accounts."
        ) {
            c, v throws(LuaProblem) in
            c.limits.plugin.limitKeysOfCause = try v.integer(1...1_000_000)
        },
        .server("limits.fetches", "integer", "64", "Requests of `http` of a plugin at once.") {
            c, v throws(LuaProblem) in c.limits.plugin.fetches = try v.integer(1...10_000)
        },
        .server("limits.fetches_per_cause", "integer", "8", "Of those, of a pair of accounts.") {
            c, v throws(LuaProblem) in c.limits.plugin.fetchesOfCause = try v.integer(1...10_000)
        },
        .server("limits.vars", "size", "\"16MB\"", "`call.vars` of all calls in a plugin.") {
            c, v throws(LuaProblem) in c.limits.plugin.vars = try v.size(1_024...1 << 30)
        },
        .server("limits.vars_per_cause", "size", "\"1MB\"", "Of those, of a pair of accounts.") {
            c, v throws(LuaProblem) in c.limits.plugin.varsOfCause = try v.size(1_024...1 << 30)
        },
        .server("limits.kv_per_cause", "size", "\"1MB\"", "Kept in `kv` for a pair of accounts.") {
            c, v throws(LuaProblem) in c.limits.plugin.keptOfCause = try v.size(1_024...1 << 30)
        },
        .server("limits.held_reports", "size", "\"16MB\"", "Behind waiting handlers of a plugin.") {
            c, v throws(LuaProblem) in c.limits.plugin.heldReports = try v.size(1_024...1 << 30)
        },
        .server(
            "limits.held_reports_per_cause", "size", "\"1MB\"", "Of those, of a pair of accounts."
        ) {
            c, v throws(LuaProblem) in
            c.limits.plugin.heldReportsOfCause = try v.size(1_024...1 << 30)
        },
        .server("limits.log_lines_per_minute", "integer", "60000", "Of a plugin.") {
            c, v throws(LuaProblem) in
            c.limits.plugin.logLinesPerMinute = try v.integer(1...100_000_000)
        },
        .server(
            "limits.log_lines_per_cause", "integer", "600", "Of those, for a pair of accounts."
        ) {
            c, v throws(LuaProblem) in
            c.limits.plugin.logLinesOfCause = try v.integer(1...100_000_000)
        },
        .server(
            "limits.lane_microseconds", "integer", "200",
            "Processor time of a handler in the fast lane; a plugin is quick if it takes half."
        ) {
            c, v throws(LuaProblem) in c.limits.plugin.laneTime = try v.integer(10...10_000)
        },
    ]
}
