// Words of Lua, and where they stand.

/// A word of Lua. Places are counted in bytes from the beginning of the file.
package struct LuaToken: Equatable, Sendable {
    package enum Kind: Sendable { case name, keyword, text, number, symbol, end }

    package let kind: Kind
    /// As it is written; of a text what stands between its quotes.
    package let text: String
    package let range: Range<Int>
    /// Whether it is the first of its line.
    package var isFirst = false

    /// Whether a text with this content says exactly what is written: escapes change it.
    package var isPlain: Bool { !text.utf8.contains(UInt8(ascii: "\\")) }
}

/// A name where it is written. Half-typed files have empty ones.
package struct LuaName: Equatable, Sendable {
    package let text: String
    package let range: Range<Int>
}

/// Something that is no Lua.
package struct LuaTrouble: Equatable, Sendable {
    package let text: String
    package let range: Range<Int>
}
