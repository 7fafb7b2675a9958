// Carries out on the loop what becomes of a canary.

import AgentCore
import CallModel
import EventLoop
import Lua
import PolicyHost
import StoreContract

/// The way from the reloader to the policies, the switchboard and the store. Owner: the loop's
/// thread.
final class CanaryStage {
    private unowned let agent: Agent
    private var timer: Timer?

    init(_ agent: Agent) { self.agent = agent }

    /// Lets `deployment` decide for some; calls back at the cut with the order as it counts, or
    /// with what keeps it from that.
    func begin(
        _ deployment: Deployment, _ order: CanaryOrder,
        _ done: @escaping (Result<CanaryOrder, AgentError>) -> Void
    ) {
        var candidate = PolicyOrder.Candidate(
            generation: deployment.generation, reason: .reload)
        candidate.control = deployment.control
        candidate.canary = order
        agent.policies?.swap(candidate) { [unowned self] problems, since in
            if let problems { return done(.failure(.configuration(problems.description))) }
            // It is the next step.
            agent.policies?.endShadow()
            done(.success(order.beginning(at: since)))
        }
    }

    /// The canary decides for others from now on.
    func extend(_ order: CanaryOrder, to extent: CanaryExtent) -> CanaryOrder {
        guard let policies = agent.policies else { return order }
        var order = order
        order.extend(to: extent, since: policies.nextMoment)
        policies.extend(order)
        return order
    }

    /// Nobody is decided for by it any more.
    func end() { agent.policies?.endCanary() }

    /// Gives the switchboard what counts now, and stores it; `done` is called when a crash does not
    /// undo it, and everybody who comes into a call from then on is met by it.
    ///
    /// - Parameter takenBack: a generation whose files no start takes by itself.
    func settle(
        _ canary: CanaryInForce?, takenBack: String?, beside active: Deployment,
        _ done: @escaping () -> Void
    ) {
        agent.configureWithCanary()
        agent.alarms.removeAll(where: \.isAboutCanary)
        let now = agent.exchange.now()
        var changes: [GenerationChange] = []
        if let takenBack { changes.append(.rollBack(name: takenBack, at: now)) }
        if let canary { changes.append(.activate(canary.deployment.files, at: now)) }
        // The one in force is the last that was put into force.
        changes.append(.activate(active.files, at: now))
        let all = changes.map { StoreChange.generation($0) } + [CanaryInForce.record(canary)]
        agent.exchange.unconfirmed.keep(all) { [weak self] in
            guard let self, let since = canary?.order.newest.since else { return done() }
            wait(for: since, done)
        }
    }

    private func wait(for moment: Moment, _ done: @escaping () -> Void) {
        let left = moment - agent.exchange.now()
        guard left > 0 else { return done() }
        timer = Timer(on: agent.loop) { [unowned self] in wait(for: moment, done) }
        timer?.arm(after: left)
    }
}

extension Agent {
    func prepareCanaries(_ reloader: Reloader, _ canary: CanaryInForce?) throws(AgentError) {
        reloader.stage = CanaryStage(self)
        policies?.canaryTakenBack = { [unowned self] in canaryFailed($0, $1) }
        guard let canary else { return }
        reloader.canary = canary
        log.info(
            "canary goes on", ("generation", canary.deployment.name),
            ("for", canary.order.newest.extent.text))
        configureWithCanary()
    }

    private func canaryFailed(_ name: String, _ reason: GenerationFault) {
        log.warn("canary taken back", ("generation", name), ("reason", "\(reason)"))
        reloader?.canaryFailed(name)
    }

    /// Applies the settings of the deployment in force, and of a canary.
    func configureWithCanary() {
        guard let reloader, var options = try? AgentOptions(reloader.active) else { return }
        if let canary = reloader.canary { options.add(canary) }
        configure(options)
    }
}
