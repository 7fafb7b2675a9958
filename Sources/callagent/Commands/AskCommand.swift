// The command `ask`: any operation of the protocol, in the name of a user.

import CallClient
import CallModel
import CallWire
import JSON
import Lua

extension Command {
    static let ask = Command(
        "ask", "ask for an operation: ask call.end call_id=ID --as ME",
        operands: .any("WORD"),
        options: [
            Option("--as", "ME", "the user who asks, with a token made for them"),
            Option("--token", "TOKEN", "a token instead of --as"),
            Option("--device", "NAME", "the device that asks (default: none)"),
            Option("--server", "URL", "such as wss://calls.example.com or 127.0.0.1:7600"),
            Option("--list", nil, "show every operation with its fields"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        if arguments.has("--list") {
            for operation in OperationDescriptor.all
            where operation.isPosted && operation.name != .bye {
                Screen.say(operation.usage)
            }
            return ExitCode.success
        }
        let operation = try operation(arguments.operands)
        let (server, credential) = (try Installation.server(arguments), try Credential(arguments))
        var device: DeviceID?
        if let text = arguments.text("--device") { device = try CommandArguments.device(text) }
        let answer = AdminAnswer.waiting(for: server) { loop, completion in
            HTTPCaller(server, token: credential.token, device: device, on: loop)
                .perform(operation) {
                    completion(AdminAnswer($0, from: server, remedy: credential.remedy))
                }
        }
        return answer.show(isJSON: true) { _ in }
    }

    /// The operation of `OPERATION FIELD=VALUE …`.
    private static func operation(_ words: [String]) throws(CommandError) -> Operation {
        let name = words.first ?? ""
        let posted = OperationDescriptor.all.filter { $0.isPosted && $0.name != .bye }
        guard let descriptor = posted.first(where: { $0.name.rawValue == name }) else {
            let hint = Suggestion.hint(for: name, among: posted.map(\.name.rawValue))
            throw .usage("there is no operation '\(name)'\(hint); --list shows all")
        }
        var data = JSONObject()
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let field = descriptor.field(String(parts[0])) else {
                throw .usage("'\(word)' is no FIELD=VALUE of \(name): \(descriptor.usage)")
            }
            data[field.name] = field.value(of: String(parts[1]))
        }
        do throws(Refusal) {
            let body = Array(JSONValue.object(data).description.utf8)
            guard
                case .operation(let operation, _) = try WireDecoder().request(
                    descriptor.name, body: body)
            else { throw Refusal(.unsupported, "\(name) is for sessions") }
            return operation
        } catch {
            throw .usage("\(name): \(error.message)")
        }
    }
}

extension OperationDescriptor {
    /// `call.add call_id= invitees= [push=]  Calls more people into a call.`
    fileprivate var usage: String {
        let words = fields.map { required.contains($0) ? "\($0.name)=" : "[\($0.name)=]" }
        return ([name.rawValue] + words).joined(separator: " ") + "  " + summary
    }

    fileprivate func field(_ name: String) -> Field? { fields.first { $0.name == name } }
}

extension Field {
    /// The JSON value that `text` means: lists of users are written with commas between the names,
    /// anything else that is not a text is JSON.
    fileprivate func value(of text: String) -> JSONValue {
        switch self {
        case .invitees, .users, .endReasons, .delete:
            return .array(text.split(separator: ",").map { .string(String($0)) })
        case .data, .put, .items, .push, .subscription, .timeout, .deliveryCheck, .audio, .video,
            .holdActive, .on, .force, .clear, .limit, .since, .until:
            return (try? JSONValue(parsing: text)) ?? .string(text)
        case .callID, .user, .to, .mode, .kind, .extendedData, .reason, .media, .cursor, .state,
            .role, .peer, .provider, .token, .environment, .device, .resume, .missed, .name:
            return .string(text)
        }
    }
}
