// The rows of the management API.

import WebProtocols

extension ManagementParameter {
    static let callID = ManagementParameter("call_id", .callID)
    static let user = ManagementParameter("user", .user)
    static let plugin = ManagementParameter("plugin", .text(atMost: 256))
    static let limit = ManagementParameter("limit", .count(atMost: 500), "absent: 50")
    static let sinceAt = ManagementParameter("since_at", .number(), "in milliseconds since 1970")
    static let untilAt = ManagementParameter("until_at", .number(), "not this moment itself")
    static let files = ManagementParameter("files", .object, "texts by path, instead of the kept")
    static let nodeFiles = ManagementParameter(
        "files", .object, "from a node of the cluster: its own, as texts by path")
    static let generation = ManagementParameter("generation", .text(atMost: 256))
    static let job = ManagementParameter("job", .number())
    static let node = ManagementParameter(
        "node", .text(atMost: 64), "in a cluster: what this node knows; *: each")

    /// Those of a list with pages, whose cursors are like this: another one is refused, as the
    /// first page once more would be taken for the next.
    static func pages(by cursor: Kind = .number()) -> [ManagementParameter] {
        [limit, ManagementParameter("cursor", cursor, "where to go on")]
    }
    /// Those of a list that goes on.
    static let stream = [
        ManagementParameter("after", .number(), "what came after this number, the oldest first"),
        ManagementParameter("wait_ms", .number(atMost: 25_000), "for something to come"),
    ]
}

extension ManagementOperation {
    static let reading: [ManagementOperation] = [
        ManagementOperation(
            .status, .get, "/status", "Version, readiness, figures, alarms, the clock.",
            [.node]),
        ManagementOperation(
            .calls, .get, "/calls", "Live calls, newest first; with after: what changed.",
            [
                .user, ManagementParameter("mode", .text(atMost: 32)),
                ManagementParameter("state", .word(["ringing", "active"])),
            ] + ManagementParameter.pages(by: .callID) + ManagementParameter.stream),
        ManagementOperation(.call, .get, "/calls/{call_id}", "One call, live or ended.", [.callID]),
        ManagementOperation(
            .journal, .get, "/calls/{call_id}/journal",
            "What happened in a call, in the order in which it happened.",
            [
                .callID, .node,
                ManagementParameter("after", .number(), "only what came behind this entry"),
            ]),
        ManagementOperation(
            .explain, .get, "/calls/{call_id}/explain",
            "What was decided about a call, and what became of its pushes.", [.callID, .node]),
        ManagementOperation(
            .history, .get, "/history", "Ended calls, newest first.",
            [
                .user, ManagementParameter("peer", .user),
                ManagementParameter("reason", .text(atMost: 64), "why it ended"),
                ManagementParameter("mode", .text(atMost: 32)), .plugin, .sinceAt, .untilAt,
                ManagementParameter("longer_ms", .number(), "at least so long"),
                ManagementParameter("shorter_ms", .number(), "less than that"),
            ] + ManagementParameter.pages(by: .callID)),
        ManagementOperation(
            .users, .get, "/users", "Users with devices or live calls, by name.",
            [
                ManagementParameter("prefix", .text(atMost: 64), "how the name begins"),
                ManagementParameter("online", .word(["true", "false"])),
            ] + ManagementParameter.pages(by: .user)),
        ManagementOperation(
            .user, .get, "/users/{user}", "Devices, calls, registrations of one user.", [.user]),
        ManagementOperation(
            .explainUser, .get, "/users/{user}/explain",
            "Why a phone of a user rang, or did not.",
            [.user, ManagementParameter("since_at", .number(), "absent: two hours ago")]),
        ManagementOperation(
            .plugins, .get, "/plugins", "The plugins with their state, the canary and the shadow."),
        ManagementOperation(
            .generations, .get, "/generations", "The kept sets of plugins, the last one first.",
            ManagementParameter.pages()),
        ManagementOperation(
            .source, .get, "/generations/{generation}/files/{path}", "The text of a kept file.",
            [.generation, ManagementParameter("path", .text(atMost: 1_024))], for: .operator),
        ManagementOperation(
            .generationDiff, .get, "/generations/{generation}/diff/{other}",
            "What differs between two kept sets of plugins.",
            [.generation, ManagementParameter("other", .text(atMost: 256))], for: .operator),
        ManagementOperation(
            .files, .get, "/files", "A digest of every file that is in force, and alarms."),
        ManagementOperation(
            .decisions, .get, "/decisions", "The newest decisions; with after: those that follow.",
            [
                .user, .callID, .plugin, ManagementParameter("hook", .text(atMost: 64)),
                ManagementParameter("action", .text(atMost: 64), "what was decided"),
                ManagementParameter("kind", .text(atMost: 32), "of failure"),
                ManagementParameter("slower_ms", .number(), "took at least so long"), .sinceAt,
            ] + ManagementParameter.pages() + ManagementParameter.stream),
        ManagementOperation(
            .pushes, .get, "/pushes", "Pushes under way, and the newest that ended.",
            [ManagementParameter("state", .word(["open", "sent", "failed"]))]
                + ManagementParameter.pages()),
        ManagementOperation(
            .webhooks, .get, "/webhooks",
            "The receivers of events; with a state the events that stand there.", events),
        ManagementOperation(
            .log, .get, "/log", "The newest lines of the log; with after: those that follow.",
            [
                ManagementParameter("level", .word(["debug", "info", "warn", "error"])), .plugin,
                .callID, .node,
            ] + ManagementParameter.pages() + ManagementParameter.stream),
        ManagementOperation(
            .audit, .get, "/audit", "Who changed what, newest first.",
            ManagementParameter.pages()),
        ManagementOperation(
            .doctor, .get, "/doctor", "What is found at once; POST looks at the files too.",
            [.node]),
        ManagementOperation(
            .config, .get, "/config", "What is in force, secrets as ***.", [.node]),
        ManagementOperation(.job, .get, "/jobs/{job}", "How far a job is.", [.job]),
        ManagementOperation(
            .document, .get, "/openapi.json", "This API as an OpenAPI document."),
    ]

    static let changing: [ManagementOperation] = [
        ManagementOperation(
            .endCall, .post, "/calls/{call_id}/end", "Ends a call for everybody.",
            [
                .callID,
                ManagementParameter(
                    "reason", .text(atMost: 64), "the detail of the end's reason, which is policy"),
            ]),
        ManagementOperation(
            .reload, .post, "/reload", "Reads the files again.",
            [
                ManagementParameter(
                    "canary", .text(atMost: 4_096),
                    "only for these accounts: names with spaces between, or a share as 10%"),
                ManagementParameter(
                    "salt", .text(atMost: 256), "of a share; absent: the generation's name"),
                ManagementParameter(
                    "abort_on_failure", .count(atMost: 1_000_000),
                    "failures of its plugins after which a canary goes back"),
                .nodeFiles,
                ManagementParameter(
                    "generation", .text(atMost: 256),
                    "refused unless the files make this one, which replay has shown"),
            ]),
        ManagementOperation(.promote, .post, "/promote", "Puts the canary into force for all."),
        ManagementOperation(.abort, .post, "/abort", "Takes the canary back."),
        ManagementOperation(
            .shadow, .post, "/shadow", "Asks the new plugins beside the old ones.", [.nodeFiles]),
        ManagementOperation(.endShadow, .post, "/shadow/end", "Stops asking them."),
        ManagementOperation(
            .rollback, .post, "/rollback", "Goes back to a set of plugins.",
            [ManagementParameter("generation", .text(atMost: 256), "absent: the last one")]),
        ManagementOperation(
            .disconnect, .post, "/users/{user}/disconnect",
            "Ends the sessions of a user; their devices may connect again.",
            [.user, ManagementParameter("device", .device, "only this one")]),
        ManagementOperation(
            .forget, .post, "/users/{user}/forget",
            "Forgets a person who is in no live call: a job.", [.user]),
        ManagementOperation(
            .revoke, .post, "/revoke", "Takes tokens back: of a user or device, or one.",
            [
                .user, ManagementParameter("device", .device, "only what came with it"),
                ManagementParameter("jti", .text(atMost: 1_024), "the one token, without user"),
                ManagementParameter("issuer", .text(atMost: 1_024), "of this iss only"),
            ]),
        ManagementOperation(
            .retryPush, .post, "/pushes/{push}/retry", "Sends a push that failed once more.",
            [ManagementParameter("push", .text(atMost: 512))]),
        ManagementOperation(
            .replayWebhooks, .post, "/webhooks/replay", "Sends events again.",
            events + [ManagementParameter("event", .text(atMost: 64))]),
        ManagementOperation(
            .retryWebhook, .post, "/webhooks/{event}/retry", "Sends one event again.",
            [ManagementParameter("event", .text(atMost: 64))]),
        ManagementOperation(
            .enableWebhook, .post, "/webhooks/{name}/enable", "Sends to a receiver again.",
            [ManagementParameter("name", .text(atMost: 256))]),
    ]

    static let trying: [ManagementOperation] = [
        ManagementOperation(
            .attempt, .post, "/try", "Asks plugins about a made-up invitation: a job.",
            [
                ManagementParameter("invite", .object, "from, to and what else t.invite takes"),
                .files,
                ManagementParameter("generation", .text(atMost: 256), "absent: the one in force"),
            ]),
        ManagementOperation(
            .replay, .post, "/replay",
            "Asks the plugins on disk what was asked before: a job.",
            [
                ManagementParameter(
                    "against", .text(atMost: 256), "a generation; absent: what was decided"),
                .sinceAt, .untilAt, .nodeFiles,
            ]),
        ManagementOperation(
            .test, .post, "/test", "Runs the plugins' own tests: a job.", [.files]),
        ManagementOperation(
            .examine, .post, "/doctor", "Looks the installation over: a job."),
        ManagementOperation(
            .cancelJob, .delete, "/jobs/{job}", "Ends a job as soon as it can be ended.", [.job]),
    ]

    private static let events = [
        ManagementParameter(
            "state", .word(["open", "delivered", "failed"]), "replay without it: failed"),
        ManagementParameter("endpoint", .text(atMost: 256), "only for this receiver"), .callID,
        ManagementParameter("limit", .count(atMost: 10_000), "absent: 1000"),
    ]
}
