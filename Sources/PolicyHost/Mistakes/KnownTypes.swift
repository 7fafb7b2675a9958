// What is known of the values that callagent gives to scripts, from the tables that editors get.

import CallModel

/// The classes, libraries and functions of the file for editors.
package struct KnownTypes: Sendable {
    /// Made once: it is the same for every plugin.
    package static let shared = KnownTypes()

    private var classes: [String: [ScriptMember]] = [:]
    private var libraries: [String: [ScriptMember]] = [:]
    private var functions: [String: ScriptMember] = [:]

    private init() {
        readClasses(MetaFile.text)
        for function in MetaFile.functionTable {
            let member = Self.member(function.name, function.type, function.help)
            guard let dot = function.name.firstIndex(of: ".") else {
                functions[function.name] = member
                continue
            }
            var own = member
            own.name = String(function.name[function.name.index(after: dot)...])
            libraries[String(function.name[..<dot]), default: []].append(own)
        }
    }

    private static func member(_ name: String, _ type: String, _ help: String) -> ScriptMember {
        ScriptMember(name: name, type: TypeReader.type(type), written: type, help: help)
    }

    /// Reads the lines `---@class NAME: PARENT` and `---@field NAME TYPE HELP`.
    private mutating func readClasses(_ text: String) {
        var current = ""
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2)
            if words.count >= 2, words[0] == "---@class" {
                current = String(words[1].prefix { $0 != ":" })
                classes[current] = words.count > 2 ? classes[String(words[2])] ?? [] : []
            } else if words.count == 3, words[0] == "---@field" {
                readField(String(words[1]), String(words[2]), of: current)
            } else if !line.hasPrefix("---") {
                current = ""
            }
        }
    }

    private mutating func readField(_ name: String, _ text: String, of owner: String) {
        guard !name.hasPrefix("[") else { return }
        var reader = TypeReader(text)
        let type = reader.type(isTop: true)
        let isOptional = name.hasSuffix("?")
        classes[owner]?.append(
            ScriptMember(
                name: isOptional ? String(name.dropLast()) : name, type: type,
                isOptional: isOptional, written: String(text.dropLast(reader.rest.count)),
                help: reader.rest))
    }

    // MARK: Asking

    /// The fields and methods of a class; nil: there is no such class.
    package func members(of name: String) -> [ScriptMember]? { classes[name] }

    /// What belongs to a type, where that is known for sure.
    package func members(of type: ScriptType) -> [ScriptMember]? {
        switch type.present {
        case .object(let name): classes[name]
        case .library(let name): libraries[name]
        case .options(let fields): fields
        case .shape(let fields): fields
        default: nil
        }
    }

    package func member(_ name: String, of type: ScriptType) -> ScriptMember? {
        members(of: type)?.first { $0.name == name }
    }

    /// A function or library that every plugin can see.
    package func global(_ name: String) -> ScriptMember? {
        if let function = functions[name] { return function }
        if libraries[name] != nil { return ScriptMember(name: name, type: .library(name)) }
        return nil
    }

    /// The names of functions and libraries.
    package var globals: [String] { Array(functions.keys) + Array(libraries.keys) }

    /// The functions of a library such as `on`.
    package func library(_ name: String) -> [ScriptMember] { libraries[name] ?? [] }
}
