// The plugins of a town: one that has every bug that somebody else's data can trip.

/// Lua for the checks of independence.
public enum TownScripts {
    /// Answers by what the invitation says and by nothing else. It guards: if the plugin is passed
    /// over for an account because of somebody else, the account's calls are refused, which shows.
    public static let desk = """
        plugin { guard = true }
        local function trip(call, data)
          local poison = type(data) == "table" and data.poison
          if poison == "error" then error("its data tripped a bug") end
          if poison == "return" then return 42 end
          if poison == "memory" then return reject(("x"):rep(40 * 1024 * 1024)) end
          if poison == "late" then sleep "60s" end
          if poison == "timers" then
            for n = 1, 200 do later("5m", "remind", { n = n }) end
          end
          if poison == "detach" then
            for _ = 1, 200 do detach(function() sleep "5m" end) end
          end
          if poison == "vars" then
            for n = 1, 20 do call.vars[n] = ("y"):rep(60000) end
          end
          if poison == "kv" then kv.set("poison", true) end
          if poison == "fetch" then http.get("https://slow.example.com/") end
        end
        timer("remind", function(data) if data.mine then count("reminded") end end)
        every("30s", "sweep", function()
          if kv.get("poison") then error("what somebody stored tripped a bug") end
        end)
        on.dial(function(call)
          local data = call.extended_data or {}
          if data.poison == "dial" then error("dialling tripped a bug") end
        end)
        on.invite(function(call)
          local data = call.extended_data or {}
          local bad = trip(call, data)
          if bad then return bad end
          if data.wait then return accept { wait = "3s", extended_data = { from = "desk" } } end
          if data.ring then return ring { for_ = "2s" } end
          if data.remind then later("1s", "remind", { mine = true }) end
          return reject("busy", { extended_data = { seen = data.note or "nothing", by = 1 } })
        end)
        on.extended_data(function(data, call, dir)
          if type(data) == "table" and data.poison == "shape" then
            error("shaping tripped a bug")
          end
        end)
        on.rejected(function(call, who, reason)
          local data = call.extended_data or {}
          if data.poison == "report" then error("a report tripped a bug") end
        end)
        on.timeout(function(call, users)
          local data = call.extended_data or {}
          if data.poison == "timeout" then error("a report tripped a bug") end
        end)
        """

    /// The next version of `desk`, with the same bugs. Its answers tell that they are its own.
    public static let newerDesk = desk.replacing("by = 1", with: "by = 2")

    /// Has no bug: whatever strangers feel with it is the doing of the rules of calls.
    public static let plain = """
        on.invite(function(call)
          local data = call.extended_data or {}
          if data.wait then return accept { wait = "3s" } end
          if data.ring then return ring { for_ = "2s" } end
          return reject "busy"
        end)
        """

    /// Counts everybody's calls together: with it, every caller disturbs all others. The check
    /// finds that, which shows that it works.
    public static let nosy = """
        state.asked = state.asked or 0
        on.invite(function(call)
          state.asked = state.asked + 1
          if state.asked % 7 == 0 then return reject "declined" end
          return reject "busy"
        end)
        """

    /// What attackers send.
    static let poisons = [
        "error", "return", "memory", "late", "timers", "detach", "vars", "kv", "fetch", "dial",
        "shape", "report", "timeout",
    ]
}
