// Where pushes go, and what is to be pushed.

import CallModel

/// A stored push registration.
public struct Registration: Sendable, Equatable {
    /// Whose.
    public let address: Address
    /// What was registered.
    public let registration: PushRegistration
    /// When; 0 if that was before the store kept it.
    public let at: Moment

    /// The registration of `address`, made at `at`.
    public init(_ address: Address, _ registration: PushRegistration, at: Moment) {
        self.address = address
        self.registration = registration
        self.at = at
    }
}

/// A stored push job.
public struct StoredPush: Sendable, Equatable {
    /// The job.
    public let id: JobID
    /// Whom to wake, and why.
    public let job: PushJob

    /// The job `job` under `id`.
    public init(id: JobID, job: PushJob) {
        self.id = id
        self.job = job
    }
}
