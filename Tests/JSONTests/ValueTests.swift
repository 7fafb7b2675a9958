// The generic tree: access, equality, canonical form, and round trips of generated values.

import JSON
import Testing

@Suite struct ValueTests {
    @Test func keepsIntegersAndEmptyObjects() throws {
        let value = try JSONValue(
            parsing: #"{"i":1,"d":1.0,"e":1e2,"big":9223372036854775808,"o":{}}"#)
        guard case .integer(1)? = value["i"], case .number(1)? = value["d"],
            case .number(100)? = value["e"], case .number? = value["big"]
        else { return #expect(Bool(false), "kinds of numbers") }
        #expect(value["o"] == .object(JSONObject()))
        #expect(
            value.description == #"{"i":1,"d":1.0,"e":100.0,"big":9.223372036854776e+18,"o":{}}"#)
    }

    @Test func givesAccessByNameAndIndex() throws {
        let value = try JSONValue(parsing: #"{"a":[null,true,"s",2,0.5]}"#)
        #expect(value["a"]?[0]?.isNull == true)
        #expect(value["a"]?[1]?.bool == true)
        #expect(value["a"]?[2]?.string == "s")
        #expect(value["a"]?[3]?.integer == 2 && value["a"]?[3]?.double == 2)
        #expect(value["a"]?[4]?.double == 0.5 && value["a"]?[4]?.integer == nil)
        #expect(value["a"]?[5] == nil && value["a"]?[-1] == nil && value["b"] == nil)
        #expect(value[0] == nil && value["a"]?["x"] == nil)
    }

    @Test func aPersonIsShownStringsAsTheyAre() {
        #expect(JSONValue.string("a \"b\"").shown == "a \"b\"")
        #expect(JSONValue.array([.null, "s", 1]).shown == #"[null,"s",1]"#)
    }

    @Test func changesObjectsInPlace() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = nil
        object["b"] = nil
        object["d"] = "x"
        #expect(object.members.map(\.key) == ["a", "d"])
        #expect(JSONValue.object(object).description == #"{"a":3,"d":"x"}"#)
    }

    @Test(arguments: [3, 16, 32, 33, 70])
    func theLastOfEqualNamesCountsAtThePlaceOfTheFirst(_ names: Int) throws {
        let members = (0..<names).map { "\"k\($0)\":\($0)" } + ["\"k1\":-1", "\"k1\":-2"]
        let value = try JSONValue(parsing: "{" + members.joined(separator: ",") + "}")
        #expect(value.object?.count == names)
        #expect(value["k1"]?.integer == -2)
        #expect(value.object?.members.map(\.key) == (0..<names).map { "k\($0)" })
    }

    @Test func namesAreEqualByBytesNotByCanonicalEquivalence() throws {
        let value = try JSONValue(parsing: "{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(value.object?.count == 2)
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
        // As long, and equal but for the order of the accents.
        let other: JSONValue = ["a\u{323}\u{307}": 1, "a\u{307}\u{323}": 2]
        #expect(other.object?.count == 2 && other["a\u{307}\u{323}"] == 2)
        #expect(other["a\u{323}\u{307}"] == 1)
    }

    @Test(arguments: [
        (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#), ("1", "1.0"), ("1", "10e-1"), ("0", "-0"),
        ("100000000000000000000", "1e20"), (#""\u0041""#, #""A""#), ("[ 1 ]", "[1]"),
        (#"{"a":{"x":1,"y":[2]}}"#, #"{ "a": {"y":[2.0], "x":1} }"#),
        (#"{"a":1,"a":2}"#, #"{"a":2}"#),
    ])
    func equalValuesHaveEqualCanonicalBytes(_ a: String, _ b: String) throws {
        let (left, right) = (try JSONValue(parsing: a), try JSONValue(parsing: b))
        #expect(left == right)
        #expect(try canonical(a) == canonical(b))
    }

    @Test(arguments: [
        ("1", "2"), ("1", "\"1\""), ("null", "false"), ("[]", "{}"), ("[1,2]", "[2,1]"),
        (#"{"a":1}"#, #"{"a":1,"b":null}"#), (#"{"a":1}"#, #"{"b":1}"#), ("\"é\"", "\"e\u{301}\""),
        ("9007199254740993", "9007199254740992.0"), ("9223372036854775807", "9223372036854775808"),
    ])
    func differentValuesHaveDifferentCanonicalBytes(_ a: String, _ b: String) throws {
        let (left, right) = (try JSONValue(parsing: a), try JSONValue(parsing: b))
        #expect(left != right)
        #expect(try !canonical(a).utf8.elementsEqual(canonical(b).utf8))
    }

    @Test func canonicalBytesAreThemselvesCanonical() throws {
        let once = try canonical(#" {"z": [1.0, -0, "\u00e9"], "a": {"c": null, "b": 0.1}} "#)
        #expect(once == #"{"a":{"b":0.1,"c":null},"z":[1,0,"é"]}"#)
        #expect(try canonical(once) == once)
    }

    @Test(arguments: [
        (#"{"b":1,"a":2,"b":3,"a":4,"c":5}"#, #"{"a":4,"b":3,"c":5}"#),
        // An escape means its character: in the order, and where names are compared.
        (#"{"b":1,"\u0061":2}"#, #"{"a":2,"b":1}"#), (#"{"a":1,"\u0061":2}"#, #"{"a":2}"#),
        (##"{"\"":1,"#":2,"!":3}"##, ##"{"!":3,"\"":1,"#":2}"##),
        (#"{"é":1,"e":2,"":3,"ee":4}"#, #"{"":3,"e":2,"ee":4,"é":1}"#),
        (
            #"[{"b":{"z":1,"y":[{}]},"a":""},{"d":1,"c":2}]"#,
            #"[{"a":"","b":{"y":[{}],"z":1}},{"c":2,"d":1}]"#
        ),
        (#"{"a":"\/\n\u000A\u001f\ud834\udd1e"}"#, "{\"a\":\"/\\n\\n\\u001f𝄞\"}"),
    ])
    func canonicalTextIsSortedAndSpelledInOneWay(_ text: String, _ wanted: String) throws {
        #expect(try canonical(text) == wanted)
    }

    @Test func aCanonicalTextHasTheLimitsOfATree() throws {
        let limits = JSONLimits(bytes: 8, depth: 2)
        func bytes(_ text: String) throws -> [UInt8] {
            try Array(text.utf8).withUnsafeBytes {
                try JSONCanonical.bytes(parsing: $0, limits: limits)
            }
        }
        #expect(try bytes("[[1234]]").count == 8)
        #expect(throws: JSONError(.tooLarge(limit: 8), at: 8)) { try bytes("[[12345]]") }
        #expect(throws: JSONError(.tooDeep(limit: 2), at: 2)) { try bytes("[[[]]]") }
        #expect(throws: JSONError(.unexpected(UInt8(ascii: "["), wanted: .end), at: 3)) {
            try bytes("[] []")
        }
    }

    @Test(arguments: [1, 2, 3, 20_260_101] as [UInt64])
    func generatedValuesSurviveARoundTrip(_ seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        for _ in 0..<500 {
            let value = generator.value(depth: 4)
            let bytes = value.bytes
            let read = try JSONValue(parsing: bytes)
            #expect(read == value, "seed \(seed)")
            #expect(read.bytes == bytes, "seed \(seed)")
            let text = generator.shuffle(value).description
            #expect(try canonical(text) == canonical(value.description), "seed \(seed)")
            #expect(try JSONValue(parsing: canonical(text)) == value, "seed \(seed)")
        }
    }
}

/// The canonical form of `text`.
private func canonical(_ text: String) throws -> String {
    let bytes = try Array(text.utf8).withUnsafeBytes { try JSONCanonical.bytes(parsing: $0) }
    return String(decoding: bytes, as: UTF8.self)
}

/// Makes values of every kind from a seed (splitmix64).
struct ValueGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(bound))
    }

    mutating func value(depth: Int) -> JSONValue {
        switch next(depth > 0 ? 8 : 6) {
        case 0: return .null
        case 1: return .bool(next(2) == 0)
        case 2: return .integer(Int64(next(.max)) &- Int64.max / 2)
        case 3: return .number(double())
        case 4, 5: return .string(string())
        case 6: return .array((0..<next(5)).map { _ in value(depth: depth - 1) })
        default:
            return .object(
                JSONObject(
                    (0..<next(20)).map { _ in
                        .init(key: string(), value: value(depth: depth - 1))
                    }))
        }
    }

    private mutating func double() -> Double {
        let value = Double(bitPattern: UInt64(next(.max)) << 1 | UInt64(next(2)))
        return value.isFinite ? value : 0.25
    }

    mutating func string() -> String {
        let alphabet: [Unicode.Scalar] = [
            "a", "b", "z", "0", " ", "\"", "\\", "/", "\n", "\t", "\0", "\u{1F}", "\u{7F}", "é",
            "€", "\u{301}", "𝄞", "\u{10FFFF}", "\u{FEFF}",
        ]
        var text = String.UnicodeScalarView()
        for _ in 0..<next(24) { text.append(alphabet[next(alphabet.count)]) }
        return String(text)
    }

    /// The same value with the members of every object in another order.
    mutating func shuffle(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map { shuffle($0) })
        case .object(let object):
            var members = object.members
            for index in members.indices.reversed() { members.swapAt(index, next(index + 1)) }
            return .object(JSONObject(members.map { .init(key: $0.key, value: shuffle($0.value)) }))
        case .null, .bool, .integer, .number, .string: return value
        }
    }
}
