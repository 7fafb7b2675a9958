// Puts other files into force, and keeps which ones are.

import AgentCore
import CallModel
import Configuration
import EventLoop
import Lua
import PolicyHost
import StoreContract

extension Agent {
    /// Why probation may not go back from `deployment`: the older generation has a grant that was
    /// taken away (G82). Nil: it may.
    private func returnRefused(from deployment: Deployment) -> String? {
        guard let active = reloader?.active else { return nil }
        let taken = Grants(deployment.configuration).missing(for: Grants(active.configuration))
        guard !taken.isEmpty else { return nil }
        let words = taken.sorted { $0.key < $1.key }.map { plugin, grants in
            "\(plugin) had the grant \(grants.map { "\"\($0)\"" }.joined(separator: ", "))"
        }
        return words.joined(separator: "; ") + ", which was taken away"
    }

    /// Puts a deployment into force in one cut: the plugins, and the settings of the switchboard
    /// (G84).
    func enforce(
        _ deployment: Deployment, _ reason: ChangeReason,
        _ done: @escaping (AgentError?) -> Void
    ) throws(AgentError) {
        let options = try AgentOptions(deployment)
        try options.check()
        try memory.check(deployment.configuration)
        let certificate = deployment.certificate
        let listeners = try prepareListeners(options)
        var candidate = PolicyOrder.Candidate(generation: deployment.generation, reason: reason)
        candidate.returnRefused = returnRefused(from: deployment)
        candidate.control = deployment.control
        policies?.swap(candidate) { [unowned self] problems, _ in
            if let problems {
                dismiss(listeners)
                return done(.configuration(problems.description))
            }
            carryOut(listeners)
            if reason == .reload {
                memory.note(deployment.configuration)
                memory.grants = Grants(deployment.configuration)
                alarms = []
            }
            configure(options)
            for listener in self.listeners { listener.tls = certificate }
            done(nil)
        }
    }

    /// Returns to a kept generation; nil: the one before the active one.
    func rollBack(to name: String?, _ done: @escaping (Reloader.Outcome) -> Void) {
        guard let reloader else {
            return done(.failure(.refused("this process has no file to read again")))
        }
        exchange.find(.generation(named: name)) { [unowned self] answer in
            guard case .generation(let kept?) = answer else {
                guard let name else { return done(.failure(.refused("no earlier generation"))) }
                return refuse(unknown: name, done)
            }
            reloader.carryOut(.rollBack(kept), done)
        }
    }

    /// Whoever misspelt a generation sees which there are.
    private func refuse(unknown name: String, _ done: @escaping (Reloader.Outcome) -> Void) {
        exchange.find(.generations) { answer in
            var kept = ""
            if case .generations(let marks) = answer {
                kept = "; kept are: \(marks.map(\.name).joined(separator: " "))"
            }
            done(.failure(.refused("no kept generation '\(name)'\(kept)")))
        }
    }

    /// Probation took a generation back because it did worse than the one before.
    func generationFailed(_ from: String, _ to: String, _ reason: GenerationFault) {
        reloader?.noteTakenBack()
        log.warn("generation rolled back", ("from", from), ("to", to), ("reason", "\(reason)"))
        guard let deployment = reloader?.returning(to: to) else {
            let mark = GenerationChange.rollBack(name: from, at: exchange.now())
            return exchange.unconfirmed.keep([.generation(mark)])
        }
        configureWithCanary()
        configureFiles(deployment.configuration)
        record(deployment, takenBack: from)
    }

    /// Reloads when a file of plugins or settings has changed, if the operator's file says so
    /// (`watch`).
    func watchFiles(of configuration: Configuration) {
        watcher = nil
        guard configuration.watch else { return }
        do throws(EventLoopError) {
            watcher = try FileWatcher(
                directories: Deployment.directories(of: configuration), on: loop, settle: 200
            ) { [unowned self] paths in
                guard paths.contains(where: { Deployment.isWatched($0) }) else { return }
                log.info("files have changed", ("files", paths.joined(separator: " ")))
                reloader?.carryOut(.reload(given: nil)) { _ in }
            }
        } catch {
            log.warn("cannot watch the files", ("error", "\(error)"))
        }
    }

    /// Stores the generation in force and the server's part: a start after a crash goes on with
    /// them (E54).
    func record(
        _ deployment: Deployment, takenBack: String? = nil, andThen action: (() -> Void)? = nil
    ) {
        for warning in deployment.mistakes + deployment.warnings {
            log.warn("plugin looks wrong", ("warning", warning))
        }
        for warning in deployment.fileWarnings {
            log.warn("the operator's file looks wrong", ("warning", warning))
        }
        let now = exchange.now()
        var changes = takenBack.map { [GenerationChange.rollBack(name: $0, at: now)] } ?? []
        changes.append(.activate(deployment.files, at: now))
        exchange.unconfirmed.keep(
            changes.map { .generation($0) }
                + [memory.record, CanaryInForce.record(reloader?.canary)],
            andThen: action)
    }
}
