// Kept sets of plugins: their list, their texts and what differs between two.

import AgentCore
import CallModel
import JSON
import StoreContract
import WebProtocols

extension Agent {
    func addGenerationRoutes() {
        admin.serve(.generations) { [unowned self] request, respond in
            exchange.find(.generations) { [weak self] answer in
                guard case .generations(let marks) = answer else {
                    return respond(.refused(.unavailable, "the store is away"))
                }
                let canary = self?.reloader?.canary?.deployment.name
                let items = marks.map { $0.json(isCanary: $0.name == canary) }
                respond(ManagementPage.part(of: items, request))
            }
        }
        admin.serve(.source) { [unowned self] request, respond in
            let path = request.text("path") ?? ""
            generation(request.text("generation") ?? "", orAnswer: respond) { kept in
                guard let file = kept.files.first(where: { $0.path == path }) else {
                    let names = kept.files.map(\.path).joined(separator: ", ")
                    return respond(
                        .refused(.notFound, "\(kept.name) has no file \(path), but \(names)"))
                }
                respond(
                    .json(
                        200,
                        [
                            "generation": .string(kept.name), "path": .string(path),
                            "text": .string(String(decoding: file.source, as: UTF8.self)),
                            "files": .array(kept.files.map { .string($0.path) }),
                        ]))
            }
        }
        admin.serve(.generationDiff) { [unowned self] request, respond in
            let other = request.text("other") ?? ""
            generation(request.text("generation") ?? "", orAnswer: respond) { [unowned self] old in
                generation(other, orAnswer: respond) { [unowned self] new in
                    management.jobs.carryOut({ _ in GenerationDiff.json(from: old, to: new) }) {
                        switch $0 {
                        case .success(let json)?: respond(.json(200, json))
                        case .failure(let error)?:
                            respond(.refused(.unavailable, "\(error)"))
                        case nil: respond(Management.begun(nil))
                        }
                    }
                }
            }
        }
    }

    /// Finds a kept generation by its name or how that begins, or answers that there is none.
    func generation(
        _ name: String, orAnswer respond: @escaping (HTTPResponse) -> Void,
        _ use: @escaping (StoredGeneration) -> Void
    ) {
        if let active = reloader?.active, active.files.name == name { return use(active.files) }
        exchange.find(.generations) { [weak self] answer in
            guard case .generations(let marks) = answer else {
                return respond(.refused(.unavailable, "the store is away"))
            }
            let fitting = marks.map(\.name).filter { $0.hasPrefix(name) }
            guard fitting.count == 1 else {
                return respond(.refused(.notFound, "no kept generation \(name)"))
            }
            self?.exchange.find(.generation(named: fitting[0])) { answer in
                guard case .generation(let kept?) = answer else {
                    return respond(.refused(.notFound, "no kept generation \(name)"))
                }
                use(kept)
            }
        }
    }
}

extension GenerationMark {
    fileprivate func json(isCanary: Bool) -> JSONValue {
        [
            "generation": .string(name), "canary": .bool(isCanary),
            "activated_at": .integer(activatedAt.milliseconds),
            "rolled_back_at": rolledBackAt.map { .integer($0.milliseconds) } ?? .null,
            "active": .bool(isActive),
        ]
    }
}

/// What differs between two kept generations, line by line.
private enum GenerationDiff {
    /// Lines of a file beyond which it is not looked into.
    private static let linesMax = 5_000
    /// Equal lines that are shown around a difference.
    private static let around = 3

    /// `from`, `to`, `files[]` {`path`, `state`, `lines[]` {`op`, `text`}}.
    static func json(from old: StoredGeneration, to new: StoredGeneration) -> JSONValue {
        let paths = Set(old.files.map(\.path)).union(new.files.map(\.path)).sorted()
        var files: [JSONValue] = []
        var bytes = 0
        for path in paths {
            let before = old.files.first { $0.path == path }?.source
            let after = new.files.first { $0.path == path }?.source
            guard before != after else { continue }
            let lines = bytes < ManagementDesk.answerBytes ? lines(before, after) : nil
            bytes += lines?.reduce(0) { $0 + $1.text.utf8.count + 24 } ?? 0
            files.append([
                "path": .string(path),
                "state": before == nil ? "added" : after == nil ? "removed" : "changed",
                "lines": lines.map { .array($0.map(\.json)) } ?? .null,
            ])
        }
        return [
            "from": .string(old.name), "to": .string(new.name), "files": .array(files),
        ]
    }

    private struct Line {
        let op: String
        let text: String

        var json: JSONValue { ["op": .string(op), "text": .string(text)] }
    }

    /// The lines that differ, with some around them; nil: there are too many.
    private static func lines(_ before: [UInt8]?, _ after: [UInt8]?) -> [Line]? {
        let (old, new) = (split(before), split(after))
        guard old.count <= linesMax, new.count <= linesMax else { return nil }
        let changes = new.difference(from: old)
        var removed: Set<Int> = []
        var added: Set<Int> = []
        for change in changes {
            switch change {
            case .remove(let place, _, _): removed.insert(place)
            case .insert(let place, _, _): added.insert(place)
            }
        }
        var all: [Line] = []
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            if left < old.count, removed.contains(left) {
                all.append(Line(op: "-", text: old[left]))
                left += 1
            } else if right < new.count, added.contains(right) {
                all.append(Line(op: "+", text: new[right]))
                right += 1
            } else {
                all.append(Line(op: " ", text: new[right]))
                (left, right) = (left + 1, right + 1)
            }
        }
        return near(all)
    }

    private static func split(_ source: [UInt8]?) -> [String] {
        guard let source, !source.isEmpty else { return [] }
        return String(decoding: source, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Without the equal lines that are far from a difference.
    private static func near(_ all: [Line]) -> [Line] {
        var isShown = [Bool](repeating: false, count: all.count)
        for place in all.indices where all[place].op != " " {
            for near in max(0, place - around)...min(all.count - 1, place + around) {
                isShown[near] = true
            }
        }
        var shown: [Line] = []
        for place in all.indices {
            if isShown[place] {
                shown.append(all[place])
            } else if place == 0 || isShown[place - 1] {
                shown.append(Line(op: "…", text: ""))
            }
        }
        return shown
    }
}
