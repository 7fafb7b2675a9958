// A canary begins, meets others, ends.

import CallModel
import PolicyHost

extension Reloader {
    /// Why `aim` is not carried out; nil: it is.
    func refusal(of aim: Aim) -> String? {
        switch (aim, canary) {
        case (.reload, let canary?), (.rollBack, let canary?):
            "the generation \(canary.deployment.name) is a canary for "
                + "\(canary.order.newest.extent.text): first put it into force for all with "
                + "callagent reload --promote, or take it back with callagent reload --abort"
        case (.promote, nil), (.abort, nil): "there is no canary"
        case (.reload, nil), (.rollBack, nil), (.shadow, _), (.tryOut, _), (.promote, _?),
            (.abort, _?):
            nil
        }
    }

    /// Lets `deployment` decide for whom the operator wants it to.
    func tryOut(
        _ deployment: Deployment, _ wish: CanaryWish, _ reloaded: Reloaded, _ ticket: Int
    ) throws(AgentError) {
        guard deployment.name != active.name else {
            throw .refused(
                "the files on disk are the generation \(active.name), which is in force for all")
        }
        let salt = wish.salt ?? deployment.name
        guard let extent = CanaryExtent(wish.accounts, salt: salt), let stage else {
            throw .refused("'\(wish.accounts)' \(CanaryExtent.form)")
        }
        if var order = canary?.order, canary?.deployment.name == deployment.name {
            order.abortOnFailure = wish.abortOnFailure
            let next = stage.extend(order, to: extent)
            return became(CanaryInForce(deployment: deployment, order: next), reloaded, ticket)
        }
        let order = CanaryOrder(extent, abortOnFailure: wish.abortOnFailure)
        stage.begin(deployment, order) { [unowned self] in
            switch $0 {
            case .success(let order):
                became(CanaryInForce(deployment: deployment, order: order), reloaded, ticket)
            case .failure(let error): failed(ticket, error)
            }
        }
    }

    private func became(_ next: CanaryInForce, _ reloaded: Reloaded, _ ticket: Int) {
        var reloaded = reloaded
        reloaded.canary = next.order
        reloaded.warnings += next.waiting(beside: active)
        let before = canary?.deployment.name
        canary = next
        canary?.deployment.control = nil
        log.info(
            "canary begun", ("generation", next.deployment.name),
            ("for", next.order.newest.extent.text), ("salt", next.order.newest.extent.salt))
        let takenBack = before == next.deployment.name ? nil : before
        finish(ticket, reloaded) {
            stage?.settle(next, takenBack: takenBack, beside: active, $0)
        }
        end()
    }

    /// The deployment in force decides for all again.
    func endCanary(_ ticket: Int) {
        guard let name = canary?.deployment.name else { return end() }
        stage?.end()
        var reloaded = Reloaded(generation: active.name)
        reloaded.takenBack = name
        log.info("canary ended", ("generation", name))
        finish(ticket, reloaded) { ended(name, $0) }
        end()
    }

    /// The policies have taken the canary `name` back.
    func canaryFailed(_ name: String) {
        guard canary?.deployment.name == name else { return }
        noteTakenBack()
        ended(name) {}
    }

    private func ended(_ name: String, _ done: @escaping () -> Void) {
        canary = nil
        stage?.settle(nil, takenBack: name, beside: active, done)
    }
}
