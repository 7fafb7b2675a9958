// Who is told what people are called, and who may say it.

import CallModel
import CallWire
import StoreContract

extension ClientDesk {
    /// Why `identity` may not say, or ask, what people are called; nil: nothing is in the way.
    func obstacleToName(by operation: Operation, of identity: Identity) -> Refusal? {
        switch operation {
        case .userGet(let users):
            guard users.isEmpty || users.count > PersonName.askedAtOnce else { return nil }
            return Refusal(
                .badRequest, "users: must have 1 to \(PersonName.askedAtOnce) entries",
                detail: .field("users"))
        case .userSet(let user, let name):
            guard identity.isServer else {
                return Refusal(.forbidden, "only a server's token says what people are called")
            }
            guard name != nil, !exchange.names.hasRoom(for: user) else { return nil }
            return Refusal(.tooMany, "\(limits.names) names are kept: see limits.names")
        case .invite, .call, .list, .pushRegister, .pushUnregister: return nil
        }
    }

    /// Answers `user.get`: those whom the asker may hear of, and errors for the others.
    func tellNames(of users: [UserID], to request: RequestID, by asker: AdmittedAddress) {
        exchange.names.whenLoaded { [weak self] in
            guard let self else { return }
            guard !asker.identity.isServer, !limits.namesForEverybody else {
                return tellNames(of: users, known: Set(users), to: request)
            }
            let user = asker.address.user
            let others = users.filter { $0 != user }
            guard !others.isEmpty else {
                return tellNames(of: users, known: [user], to: request)
            }
            exchange.find(.met(user, among: others)) { [weak self] answer in
                guard case .met(let met) = answer else {
                    self?.deliver(.refused(.notReady), to: request)
                    return
                }
                self?.tellNames(of: users, known: Set(met).union([user]), to: request)
            }
        }
    }

    private func tellNames(of users: [UserID], known: Set<UserID>, to request: RequestID) {
        var told: Set<UserID> = []
        var found: [NamedUser] = []
        var errors: [InviteeError] = []
        for user in users {
            if !told.insert(user).inserted {
                errors.append(InviteeError(user, .duplicate))
            } else if known.contains(user) {
                found.append(NamedUser(user, exchange.names.person(user)))
            } else {
                errors.append(InviteeError(user, .unknownUser))
            }
        }
        deliver(.names(found, errors: errors), to: request)
    }
}
