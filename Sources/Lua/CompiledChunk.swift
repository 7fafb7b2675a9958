// Reads Lua 5.4 bytecode as far as needed to see which globals a file names.

/// One use of a global: `reject`, or `log.info` where a field of it is read.
public struct GlobalUse: Equatable {
    package let name: String
    /// The field that is read of it, if its name is in the code.
    package var member: String?
    package let line: Int
    package let isAssignment: Bool
}

/// The bytecode of one file, as `string.dump` makes it in Lua 5.4.
public struct CompiledChunk {
    private let bytes: [UInt8]
    private var place = 0
    package private(set) var uses: [GlobalUse] = []
    /// Every line that has code.
    package private(set) var codeLines: Set<Int> = []

    /// Reads `bytes`; nil when they are no bytecode of this version.
    package init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        let head: [UInt8] = [0x1B, 0x4C, 0x75, 0x61, 0x54, 0x00]
        guard bytes.starts(with: head), bytes.count > 40 else { return nil }
        // Six bytes that show damage, three sizes, a sample integer and a sample number.
        place = head.count + 6 + 3 + 8 + 8 + 1
        function(upvalueNames: ["_ENV"])
        guard place <= bytes.count else { return nil }
    }

    // MARK: Parts

    private mutating func byte() -> UInt8 {
        defer { place += 1 }
        return place < bytes.count ? bytes[place] : 0
    }

    /// Groups of seven bits, the highest first; the last one is marked.
    private mutating func number() -> Int {
        var value = 0
        while place < bytes.count {
            let next = byte()
            value = value << 7 | Int(next & 0x7F)
            if next & 0x80 != 0 { return value }
            guard value < 1 << 40 else { break }
        }
        place = bytes.count + 1
        return 0
    }

    private mutating func text() -> String {
        let size = number()
        guard size > 0, place + size - 1 <= bytes.count else { return "" }
        defer { place += size - 1 }
        return String(decoding: bytes[place..<place + size - 1], as: UTF8.self)
    }

    private mutating func constants() -> [String?] {
        (0..<number()).map { _ in
            switch byte() {
            case 0x03, 0x13:
                place += 8
                return nil
            case 0x04, 0x14: return text()
            default: return nil
            }
        }
    }

    // MARK: Functions

    fileprivate struct Code {
        var instructions: [UInt32]
        var constants: [String?]
        var lines: [Int]
    }

    private mutating func function(upvalueNames above: [String]) {
        _ = text()
        let firstLine = number()
        _ = number()
        place += 3
        let instructions = (0..<number()).map { _ in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(byte()) << UInt32(8 * $1) }
        }
        let constants = constants()
        let upvalues = number()
        place += 3 * upvalues
        for _ in 0..<number() {
            function(upvalueNames: [])
        }
        let lines = lines(from: firstLine)
        skipLocals()
        let names = (0..<number()).map { _ in text() }
        scan(
            Code(instructions: instructions, constants: constants, lines: lines),
            upvalues: names.isEmpty ? above : names)
    }

    private mutating func lines(from first: Int) -> [Int] {
        let steps = (0..<number()).map { _ in Int8(bitPattern: byte()) }
        var absolute: [Int: Int] = [:]
        for _ in 0..<number() {
            let instruction = number()
            absolute[instruction] = number()
        }
        var line = first
        return steps.enumerated().map { index, step in
            line = step == -128 ? absolute[index] ?? line : line + Int(step)
            return line
        }
    }

    private mutating func skipLocals() {
        for _ in 0..<number() {
            _ = text()
            _ = number()
            _ = number()
        }
    }

    // MARK: Instructions

    fileprivate enum Opcode {
        static let getGlobal: UInt32 = 11
        static let getField: UInt32 = 14
        static let setGlobal: UInt32 = 15
        /// Stands at the beginning of a file, on no line of anybody's.
        static let prepareArguments: UInt32 = 81
    }

    private mutating func scan(_ code: Code, upvalues: [String]) {
        for (instruction, line) in zip(code.instructions, code.lines)
        where instruction & 0x7F != Opcode.prepareArguments { codeLines.insert(line) }
        for (index, instruction) in code.instructions.enumerated() {
            let (a, b, c) = Self.operands(instruction)
            let line = index < code.lines.count ? code.lines[index] : 0
            switch instruction & 0x7F {
            case Opcode.getGlobal:
                guard b < upvalues.count, upvalues[b] == "_ENV", let name = code.constant(c) else {
                    continue
                }
                uses.append(
                    GlobalUse(
                        name: name, member: code.member(of: a, after: index), line: line,
                        isAssignment: false))
            case Opcode.setGlobal:
                guard a < upvalues.count, upvalues[a] == "_ENV", let name = code.constant(b) else {
                    continue
                }
                uses.append(GlobalUse(name: name, line: line, isAssignment: true))
            default: continue
            }
        }
    }

    /// Registers and constants of an instruction: 7 bits of code, 8 of A, 1 of k, 8 of B, 8 of C.
    fileprivate static func operands(_ instruction: UInt32) -> (a: Int, b: Int, c: Int) {
        (
            Int(instruction >> 7 & 0xFF), Int(instruction >> 16 & 0xFF),
            Int(instruction >> 24 & 0xFF)
        )
    }
}

extension CompiledChunk.Code {
    fileprivate func constant(_ index: Int) -> String? {
        index < constants.count ? constants[index] : nil
    }

    /// The field that the next instruction reads of `register`.
    fileprivate func member(of register: Int, after index: Int) -> String? {
        guard index + 1 < instructions.count else { return nil }
        let next = instructions[index + 1]
        guard next & 0x7F == CompiledChunk.Opcode.getField, Int(next >> 16 & 0xFF) == register
        else { return nil }
        return constant(Int(next >> 24 & 0xFF))
    }
}
