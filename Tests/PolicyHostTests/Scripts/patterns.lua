-- Compares the guarded pattern functions with the stock ones on random cases.
local pieces = { "a", "b", "c", ".", "%a", "%d", "%s", "%w", "%p", "%A", "%W", "%x", "%l", "%u",
  "%c", "%g", "[abc]", "[^ab]", "[a-c]", "[%a_]", "[]]", "[^]]", "[a-]", "[%]]", "[", "]", "%",
  "(", ")", "()", "(a)", "(.)", "%1", "%2", "%0", "%b()", "%bab", "%b", "%f[%w]", "%f[^%w]", "%f",
  "^", "$", "*", "+", "-", "?", "\0", "%%", "%.", "%z", "\255", "%Z", "[%z]" }
local quant = { "", "", "", "*", "+", "-", "?" }
local chars = { "a", "b", "c", "A", "1", " ", ".", "(", ")", "\0", "_", "ab", "]", "-", "\255",
  "%" }
local random, sformat = math.random, string.format
local function make(list, n, q)
  local out = {}
  for i = 1, random(0, n) do out[i] = list[random(#list)] .. (q and quant[random(#quant)] or "") end
  return table.concat(out)
end
local function same(what, a, b, s, p, extra)
  local case = sformat("%s %q %q %s", what, s, p, tostring(extra))
  if a.n ~= b.n then
    error(sformat("%s: %s / %s", case, tostring(a[2]), tostring(b[2])))
  end
  for i = 1, a.n do
    local x, y = a[i], b[i]
    if x ~= y and not (a[1] == false and i == 2) then
      error(sformat("%s: %s and %s", case, tostring(x), tostring(y)))
    end
    if a[1] == false and i == 2 and x:gsub("^.-:%d+: ", "") ~= y:gsub("^.-:%d+: ", "") then
      error(sformat("%s: errors %s and %s", case, x, y))
    end
  end
end
local function all(lib, s, p)
  local out = { n = 0 }
  local last = 0
  for a, b in lib.gmatch(s, p) do
    out.n = out.n + 2; out[out.n - 1] = a; out[out.n] = b
    last = last + 1
    if last > 30 then break end
  end
  return table.unpack(out, 1, out.n)
end
local reps = { "<%0>", "%1-%2", "x", "", "%%", "%9", "%", "%a", function(_, b) return b end,
  function() end, { a = "1", b = true }, function(a) return a end }
local function both(what, s, p, ...)
  same(what, table.pack(pcall(stock[what], s, p, ...)), table.pack(pcall(string[what], s, p, ...)),
    s, p, (...))
end
for _ = 1, 100000 do
  local s, p = make(chars, 8), make(pieces, 5, true)
  local init = random(-3, 10)
  local kind = random(4)
  if kind == 1 then
    both("find", s, p, init)
  elseif kind == 2 then
    both("match", s, p, init)
  elseif kind == 3 then
    same("gmatch", table.pack(pcall(all, stock, s, p)), table.pack(pcall(all, string, s, p)), s, p)
  else
    local r = reps[random(#reps)]
    local n = random(0, 3); if n == 0 then n = nil end
    both("gsub", s, p, r, n)
  end
end
