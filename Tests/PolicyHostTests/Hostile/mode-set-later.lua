-- expects cpu
-- A weak table made by changing the metatable afterwards, then a long chain of weak keys.
local kept = { first = {} }

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local m = {}
  local e = setmetatable({}, m)
  m.__mode = "k"
  local p = kept.first
  for _ = 1, 60000 do
    local q = {}
    e[p] = q
    p = q
  end
  for _ = 1, 1e7 do local _ = {} end
  local _ = e
end)
