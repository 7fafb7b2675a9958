// json, base64, hmac, jwt, uuid, random.

import CallModel
import JSON
import Lua
import WebProtocols

extension Bindings {
    static let data: [Binding] = [
        Binding(
            "json.encode", type: "fun(value: any): string", help: "The JSON text of a value."
        ) { _, arguments throws(Refused) in
            .value(.text(try arguments.json(0).description))
        },
        Binding(
            "json.decode", type: "fun(text: string): any, string?",
            help: "The value of a JSON text, or nil and what is wrong."
        ) { _, arguments throws(Refused) in
            let text = try arguments.bytes(0)
            do throws(JSONError) {
                return .json(try JSONValue(parsing: text, limits: JSONLimits()))
            } catch {
                return .trouble("\(error)")
            }
        },
        Binding(
            "base64.encode", type: "fun(text: string, url?: boolean): string",
            help: "Base64 of a string; url: the alphabet for addresses, without padding."
        ) { _, arguments throws(Refused) in
            let isURL = arguments[1].bool ?? false
            let bytes = try arguments.bytes(0)
            return .value(.text(Base64.encode(bytes, as: isURL ? .url : .standard)))
        },
        Binding(
            "base64.decode", type: "fun(text: string): string?",
            help: "The string that a base64 text (either alphabet) stands for, or nil."
        ) { _, arguments throws(Refused) in
            .value(Base64.decodeEither(try arguments.text(0)).map { LuaValue.string($0) } ?? .null)
        },
        Binding(
            "hmac",
            type: "fun(algorithm: \"sha1\"|\"sha256\"|\"sha512\", key: string, text: string): "
                + "string",
            help: "The HMAC (sha1, sha256, sha512) as a string of bytes."
        ) { state, arguments throws(Refused) in
            let algorithm = try arguments.text(0)
            let cryptography = state.services.cryptography
            guard
                let digest = cryptography.hmac(
                    algorithm, try arguments.bytes(1), try arguments.bytes(2))
            else {
                throw Refused("unknown algorithm '\(algorithm)' (sha1, sha256, sha512)")
            }
            return .value(.string(digest))
        },
        Binding(
            "jwt",
            type: "fun(claims: table, options: {alg?: \"HS256\"|\"ES256\"|\"RS256\", key: string, "
                + "kid?: string}): string",
            help: "A signed JSON Web Token (HS256, ES256, RS256).", body: jwt),
        Binding("uuid", type: "fun(): string", help: "A random UUID.") { state, _ throws(Refused) in
            .value(.text(UUIDText.random(using: &state.services.dice)))
        },
    ]

    private static func jwt(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        let options = try arguments.table(1)
        try options.only(["alg", "key", "kid"], arguments.name)
        let algorithm = options["alg"].text ?? "HS256"
        guard let key = options["key"].text else { throw Refused("jwt needs a key") }
        var head: JSONObject = ["alg": .string(algorithm), "typ": "JWT"]
        if let kid = options["kid"].text { head["kid"] = .string(kid) }
        _ = try arguments.table(0)
        let parts = [JSONValue.object(head), try arguments.json(0)].map {
            Base64.encode($0.bytes, as: .url)
        }
        let signed = parts.joined(separator: ".")
        guard
            let signature = state.services.cryptography.sign(
                algorithm, Array(key.utf8), Array(signed.utf8))
        else { throw Refused("cannot sign with '\(algorithm)' and this key") }
        return .value(.text(signed + "." + Base64.encode(signature, as: .url)))
    }
}

extension LuaValue {
    /// A string of any bytes.
    static func string(_ bytes: [UInt8]) -> LuaValue {
        String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .bytes(bytes)
    }
}

/// Random UUIDs (RFC 9562, version 4).
enum UUIDText {
    static func random(using dice: inout some RandomNumberGenerator) -> String {
        let high = dice.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = dice.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Array(CallID(high: high, low: low).description)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
        return groups.joined(separator: "-")
    }
}
