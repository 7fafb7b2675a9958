// Everything countable of the process itself, gathered when somebody reads it.

import AgentCore
import CallCore
import CallModel
import EventLoop
import Outbound
import Storage
import StoreContract

extension Agent {
    /// The same as Prometheus text.
    var metricsText: String {
        let samples =
            clientSamples + storeSamples + outbound.samples + machineSamples + clusterSamples
        return metrics.text(with: samples, clientFamilies + callFamilies + processFamilies)
    }

    private var clientSamples: [Metrics.Sample] {
        [
            Metrics.Sample(
                "malformed_total", "Messages that could not be understood.",
                gateway.desk.figures.malformed),
            .gauge("live_calls", "Calls that are not ended.", exchange.switchboard.liveCallCount),
            .gauge(
                "damaged_calls", "Live calls left out because their records are damaged.",
                exchange.damagedCalls.count),
            .gauge("connections", "Client connections.", gateway.links.count),
            .gauge(
                "connections_limit", "Client connections that there may be.",
                gateway.limits.connections),
            .gauge("unsent_bytes", "What clients have not read.", gateway.unsentBytes),
            .gauge("sessions", "Sessions, connected or resumable.", gateway.desk.sessions.count),
            .gauge("ready", "Whether calls are accepted.", gateway.isReady ? 1 : 0),
            .gauge(
                "policy_backlog", "Events that wait for the plugins.",
                exchange.policies?.backlog ?? 0),
            Metrics.Sample(
                "fast_lane_questions_total", "Questions answered on the loop's thread.",
                UInt64(policies?.answeredInLane ?? 0)),
        ]
    }

    private var storeSamples: [Metrics.Sample] {
        [
            .gauge("heap_bytes", "Memory in use, that of the store included.", Heap.bytes),
            .gauge(
                "store_memory_bytes", "Memory of the store, mostly pages of its file.",
                StoreMemory.bytes),
            .seconds(
                "commit_age_seconds", "How long the oldest open commit has waited for the store.",
                exchange.commitAge),
            Metrics.Sample(
                "late_commits_total", "Commits that took so long that requests were refused.",
                exchange.lateCommits),
            Metrics.Sample(
                "log_lines_left_out_total", "Log lines that nobody read in time.", log.leftOut),
            Metrics.Sample(
                "decisions_left_out_total", "Decisions that the disk did not take in time.",
                policies?.decisions.leftOut ?? 0),
            Metrics.Sample(
                "audit_lines_left_out_total", "Lines of the audit that are in no file.",
                admin.desk.audit?.leftOut ?? 0),
        ]
    }

    private var machineSamples: [Metrics.Sample] {
        [
            .seconds(
                "clock_gap_seconds", "How far the wall clock and the calls' clock are apart.",
                abs(exchange.wallGap)),
            .seconds(
                "loop_lag_seconds", "How late the loop was at most in the last minute.", lag.most),
            .gauge(
                "last_reload_successful", "Whether the last reload worked.",
                reloads.isLastGood ? 1 : 0),
            .seconds(
                "last_reload_timestamp_seconds",
                "When the last reload that worked was in force, since 1970 UTC.",
                reloads.lastGoodAt),
        ] + process.samples(connections: gateway.links.count)
    }

    private var clientFamilies: [FigureFamily] {
        let figures = gateway.desk.figures
        return [
            FigureFamily(
                "callagent_requests_total", "Requests of clients, refused ones too.", "op",
                figures.requests),
            FigureFamily(
                "callagent_requests_refused_total", "Refusals that clients were told.", "code",
                figures.refusals),
            FigureFamily(
                "callagent_events_total", "Events sent to clients.", "event", figures.events),
            FigureFamily(
                "callagent_request_duration_seconds",
                "From when a request is let in to its answer.", figures.durations,
                rows: OperationName.allCases.map { ["op": $0.rawValue] }),
        ]
    }

    private var callFamilies: [FigureFamily] {
        let figures = exchange.figures
        let modes = figures.modes
        var started = FigureFamily(
            "callagent_calls_started_total", "Calls that were made.", .counter)
        var ended = FigureFamily("callagent_calls_ended_total", "Calls that ended.", .counter)
        for (place, mode) in modes.enumerated() {
            started.add(["mode": mode], figures.started[place])
            for reason in EndReason.allCases {
                ended.add(
                    ["mode": mode, "reason": reason.rawValue],
                    figures.ended(reason, mode: place))
            }
        }
        return [
            started, ended,
            FigureFamily(
                "callagent_answer_seconds", "From the invitation to the first answer.",
                figures.answers, rows: modes.map { ["mode": $0] }),
            FigureFamily(
                "callagent_commit_duration_seconds", "What the store takes for a commit.",
                figures.commits),
        ]
    }

    private var processFamilies: [FigureFamily] {
        var free = FigureFamily(
            "callagent_state_free_bytes", "What is free where the state is kept.", .gauge)
        if let bytes = (exchange.store as? StoreThreads)?.freeBytes {
            free.add([:], UInt64(max(0, bytes)))
        }
        return [
            FigureFamily(
                "callagent_push_duration_seconds", "From the wish to the provider's answer.",
                outbound.pushes.counters.durations,
                rows: PushCarrier.allCases.map { ["provider": $0.rawValue] }),
            FigureFamily(
                "callagent_reloads_total", "Reloads, and what probation took back.", "result",
                reloads.results),
            FigureFamily(
                "callagent_log_lines_total", "Lines of the log, those left out too.", "level",
                log.lines),
            free,
            .info("callagent_build_info", "Which version it is.", ["version": Self.version]),
            .info(
                "callagent_generation_info", "Which plugins and settings are in force.",
                reloader.map { ["generation": $0.active.name] }),
        ]
            + FigureFamily.certificates(
                tls: certificateEnd, link: member?.linkPlan?.accepting?.expiresAt)
            + (member.map { [.node($0.node, owns: true)] } ?? [])
    }
}
