// Operations on what people are called.

extension OperationDescriptor {
    static let people: [OperationDescriptor] = [
        OperationDescriptor(
            .userGet, "user.get", "Tells what people are called.", ([.users], []),
            reply: [
                DataMember("users", .list(.named("NamedUser")), "in the order in which they came"),
                .errors,
            ], traits: .reads,
            rule: "The user, and whoever was in a call with the user; everybody where the operator "
                + "says `names_for = \"everybody\"`, and for a server's key. At most 100, and each "
                + "costs as much as a request. Others are `unknown_user` in `errors[]`.",
            make: { .userGet($0.users) },
            give: { operation, values in
                if case .userGet(let users) = operation { values.give(.users, users, \.users) }
            }),
        OperationDescriptor(
            .userSet, "user.set", "Says what a user is called.", ([.user, .name], []),
            rule: "A server's key; for others it is `forbidden`. `name` is text of 1-64 bytes on "
                + "one line, without overrides of direction; an empty one removes the name that "
                + "was set. `too_many`: no more names are kept.",
            make: { .userSet($0.user, $0.personName) },
            give: { operation, values in
                guard case .userSet(let user, let name) = operation else { return }
                values.give(.user, user, \.user)
                values.note(.name)
                values.personName = name
            }),
    ]
}
