// Numbers about what is sent out.

import Outbound

extension OutboundBridge {
    /// Everything countable about pushes, webhooks and what plugins fetch.
    var samples: [Metrics.Sample] {
        let (push, hook) = (pushes.counters, webhooks.counters)
        return [
            .gauge("plugin_fetches", "Requests of plugins under way.", fetches.count),
            Metrics.Sample("plugin_fetches_total", "Requests of plugins.", fetches.begun),
            Metrics.Sample(
                "plugin_fetches_failed_total", "Requests of plugins without a response.",
                fetches.failed),
            .gauge("pushes", "Pushes that have no outcome yet.", pushes.count),
            Metrics.Sample("pushes_sent_total", "Pushes that a provider took.", push.sent),
            Metrics.Sample(
                "pushes_failed_total", "Pushes that did not arrive.",
                push.failed.values.reduce(0, +)),
            Metrics.Sample(
                "pushes_misconfigured_total", "Pushes that our credentials or settings kept back.",
                push.failed[.misconfigured] ?? 0),
            Metrics.Sample(
                "pushes_dropped_total", "Pushes that a plugin dropped.", push.dropped),
            Metrics.Sample(
                "pushes_withdrawn_total", "Pushes given up because they no longer mattered.",
                push.withdrawn),
            Metrics.Sample(
                "push_tokens_removed_total", "Registrations removed because the token is dead.",
                push.removedTokens),
            .gauge("webhooks", "Events on their way to receivers, in memory.", webhooks.count),
            .seconds(
                "webhook_lag_seconds",
                "How long the oldest event on its way has waited for its receiver.", webhooks.lag),
            .gauge(
                "webhooks_disabled", "Receivers that get nothing any more.",
                webhooks.disabledCount),
            Metrics.Sample("webhooks_delivered_total", "Events delivered.", hook.delivered),
            Metrics.Sample(
                "webhook_attempts_failed_total", "Deliveries that are tried again later.",
                hook.attemptsFailed),
            Metrics.Sample("webhooks_given_up_total", "Events given up.", hook.givenUp),
        ]
    }
}
