// Keeps the last plugin generations with their sources. Rarely used, so nothing is prepared ahead.

import CallModel
import StoreContract

/// The tables `generation` and `generation_file`.
struct GenerationTable {
    let connection: DatabaseConnection

    func apply(_ change: GenerationChange, keep: Int) throws(StoreError) {
        switch change {
        case .activate(let generation, let at):
            try store(generation, at: at)
            try prune(keep: keep)
        case .rollBack(let name, let at):
            let mark = try connection.prepare(
                "UPDATE generation SET rolled_back_at = ? WHERE name = ?",
                for: "marking a generation")
            try mark.run(.moment(at), .text(name))
        }
    }

    private func store(_ generation: StoredGeneration, at moment: Moment) throws(StoreError) {
        let put = try connection.prepare(
            """
            INSERT OR REPLACE INTO generation
            SELECT ?, coalesce(max(place), 0) + 1, ?, NULL FROM generation
            """, for: "storing a generation")
        try put.run(.text(generation.name), .moment(moment))
        let putFile = try connection.prepare(
            "INSERT OR REPLACE INTO generation_file VALUES (?, ?, ?, ?)",
            for: "storing a source")
        for (place, file) in generation.files.enumerated() {
            try putFile.run(
                .text(generation.name), .integer(Int64(place)), .text(file.path),
                .bytes(file.source))
        }
    }

    private func prune(keep: Int) throws(StoreError) {
        let remove = try connection.prepare(
            """
            DELETE FROM generation WHERE name NOT IN
            (SELECT name FROM generation ORDER BY place DESC LIMIT ?)
            """, for: "removing old generations")
        try remove.run(.integer(Int64(max(1, keep))))
        try connection.execute(
            "DELETE FROM generation_file WHERE generation NOT IN (SELECT name FROM generation)",
            for: "removing old sources")
    }

    /// The kept generations, last activated first.
    func marks() throws(StoreError) -> [GenerationMark] {
        let all = try connection.prepare(
            "SELECT name, activated_at, rolled_back_at FROM generation ORDER BY place DESC",
            for: "reading generations")
        var marks: [GenerationMark] = []
        try all.rows { row in
            marks.append(
                GenerationMark(
                    name: row.text(0), activatedAt: row.moment(1),
                    rolledBackAt: row.optionalMoment(2), isActive: marks.isEmpty))
            return true
        }
        return marks
    }

    /// The generation `name` with its sources, if it is kept.
    func generation(named name: String) throws(StoreError) -> StoredGeneration? {
        let known = try connection.prepare(
            "SELECT 1 FROM generation WHERE name = ?", for: "finding a generation")
        guard try known.first(.text(name), body: { _ in true }) != nil else { return nil }
        let all = try connection.prepare(
            "SELECT path, source FROM generation_file WHERE generation = ? ORDER BY place",
            for: "reading sources")
        var files: [StoredGeneration.File] = []
        try all.rows(.text(name)) { row in
            files.append(StoredGeneration.File(path: row.text(0), source: row.bytes(1)))
            return true
        }
        return StoredGeneration(name: name, files: files)
    }
}
