// The management API: what is not about calls, people, files or jobs.

import AgentCore
import CallCore
import CallModel
import CallWire
import Configuration
import EventLoop
import JSON
import StoreContract
import WebProtocols

extension Agent {
    /// Serves every operation of the management API.
    func addManagementRoutes() {
        admin.serve(.document) { _, respond in
            respond(.json(200, ManagementOperation.document(version: Self.version)))
        }
        admin.serve(.status) { [unowned self] request, respond in
            var json = status.object ?? JSONObject()
            let (name, role) = (request.identity.name, request.identity.role)
            json["you"] = ["name": .string(name), "role": .string(role.rawValue)]
            respond(.json(200, .object(json)))
        }
        admin.serve(.doctor) { [unowned self] _, respond in
            tellFindings { respond(.json(200, $0.json)) }
        }
        admin.serve(.config) { [unowned self] _, respond in
            let configuration = reloader?.active.configuration ?? Configuration()
            respond(.json(200, configuration.shown))
        }
        outbound.addRoutes(to: admin)
        addCallRoutes()
        addPeopleRoutes()
        addPolicyRoutes()
        addGenerationRoutes()
        addRecordRoutes()
        addJournalRoutes()
        addJobRoutes()
        addRevokingRoutes()
    }

    /// Opens the audit and listens for people.
    func openManagement() throws(EventLoopError) {
        let directory = options.isInMemory ? nil : options.stateDirectory
        let path = directory.map { "\($0)/decisions.jsonl" }
        let thread =
            policies?.decisions.files
            ?? path.map { FilesThread(DecisionWriter(path: $0, log: log)) }
        try management.openAudit(in: directory, thread)
        try management.openJournal(in: directory, thread)
        try policies?.decisions.openSearch(in: directory, loop: loop)
        try management.openForgetting(gateway, policies?.decisions, outbound.pushes, thread)
        configureRecords(reloader?.active.configuration ?? Configuration())
        management.console.carryOut(try management.console.prepare(options.console))
        if let endpoint = management.console.endpoint {
            log.info("the console can be used", ("listen", "\(endpoint)"))
        }
    }

    func configureRecords(_ configuration: Configuration) {
        var limits = Journal.Limits()
        (limits.calls, limits.memory) = (configuration.journal.calls, configuration.journal.memory)
        management.keeper?.configure(limits, file: configuration.journal.file)
        admin.desk.audit?.configure(
            bytes: (configuration.console ?? Configuration.Console()).audit,
            retention: configuration.retention)
    }

    private var status: JSONValue {
        [
            "version": .string(Self.version),
            "node": .string(member?.node ?? Machine.name),
            "role": member == nil ? .null : "owner",
            "generation": reloader.map { .string($0.active.name) } ?? .null,
            "canary": reloader?.canary.map { .string($0.deployment.name) } ?? .null,
            "since_at": .integer(startedAt),
            "ready": .bool(gateway.isReady),
            "live_calls": .integer(Int64(exchange.switchboard.liveCallCount)),
            "connections": .integer(Int64(gateway.links.count)),
            "sessions": .integer(Int64(gateway.desk.sessions.count)),
            "figures": figuresShown,
            "alarms": .array(alarmsShown.map { .string($0) }),
            "clock_gap_ms": .integer(exchange.wallGap),
            "unnamed_proxy": gateway.unnamedProxy.map { .string($0) } ?? .null,
            "late_commit_ago_ms": exchange.lastLateAt.map { .integer(exchange.now() - $0) }
                ?? .null,
            "store_error": exchange.storeTrouble.map { .string($0) } ?? .null,
        ]
    }

    /// Alarms, until what they are about is gone.
    var alarmsShown: [String] {
        (alarms + (ownership?.alarms ?? [])).map { "\($0)" }
            + [exchange.damagedCalls.text, admin.desk.audit?.loss].compactMap { $0 }
    }

    private var figuresShown: JSONValue {
        let figures = exchange.figures
        let modes = figures.started.indices
        let ended = EndReason.allCases.compactMap { reason -> JSONObject.Member? in
            let count = modes.reduce(UInt64(0)) { $0 + figures.ended(reason, mode: $1) }
            return count == 0 ? nil : .init(key: reason.rawValue, value: .integer(Int64(count)))
        }
        return [
            "calls_started": .integer(Int64(figures.started.reduce(0, +))),
            "calls_ended": .object(JSONObject(ended)),
            "requests": .integer(Int64(gateway.desk.figures.requests.total)),
            "refusals": .integer(Int64(gateway.desk.figures.refusals.total)),
            "events": .integer(Int64(gateway.desk.figures.events.total)),
            "refused_tokens": .integer(Int64(metrics.refusedTokens)),
            "refused_strangers": .integer(Int64(admin.desk.refusedStrangers)),
            "policy_backlog": .integer(Int64(exchange.policies?.backlog ?? 0)),
            "commit_age_ms": .integer(exchange.commitAge),
            "late_commits": .integer(Int64(exchange.lateCommits)),
            "pushes_open": .integer(Int64(outbound.pushes.count)),
            "webhooks_open": .integer(Int64(outbound.webhooks.count)),
            "audit_left_out": .integer(Int64(admin.desk.audit?.leftOut ?? 0)),
        ]
    }

    /// What is wrong, as far as it is known without looking at files.
    func tellFindings(_ done: @escaping ([Finding]) -> Void) {
        let (own, files) = (status, filesShown)
        let most = gateway.limits.connections
        tellPolicyStatus { [weak self] plugins in
            guard let self else { return }
            done(
                Finding.all(
                    of: "this process", status: own, connections: most,
                    plugins: plugins?.json ?? .null,
                    (files: files, webhooks: ["items": outbound.webhooks.status])))
        }
    }

    /// A digest of every file that is in force, and alarms.
    var filesShown: JSONValue {
        var json = reloader?.active.loaded.json.object ?? JSONObject()
        json["alarms"] = .array(alarmsShown.map { .string($0) })
        return .object(json)
    }
}

extension Configuration {
    /// Each name with its value, secrets as `***`: `items[]` {`name`, `value`, `written`, `about`},
    /// `text_keys[]`.
    var shown: JSONValue {
        let written = generation.values.shown + server.values.shown
        let known = Dictionary(written, uniquingKeysWith: { first, _ in first })
        var items: [JSONValue] = []
        for field in ConfigurationField.all {
            let table = field.name.split(separator: ".").first.map(String.init) ?? ""
            // A table is shown as a whole, once.
            if field.name != table, known[table] != nil {
                let isFirst = ConfigurationField.all.first { $0.name.hasPrefix("\(table).") }
                guard isFirst?.name == field.name else { continue }
            }
            let isWhole = known[table] != nil
            items.append([
                "name": .string(isWhole ? table : field.name),
                "value": .string(known[table] ?? field.standard),
                "written": .bool(isWhole), "about": .string(field.help),
            ])
        }
        return [
            "items": .array(items), "cursor": .null,
            "text_keys": .array(server.values.textKeys.map { .string($0) }),
        ]
    }
}
