#!lua flags=no-writes
-- Count the bytes of cells that each task has in the log of a key part; of cells that several tasks have together, its part.
-- It reads every entry, so it is only for the rare moments when memory is short.
-- KEYS[1] prefix. ARGV: generation, key part, SEQ after which to begin, most entries
-- Returns {last SEQ seen or '', flat list of 'query:incarnation', bytes}.
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local bytes, after, left = {}, ARGV[3], tonumber(ARGV[4])
local last = ''
while left > 0 do
  local entry = redis.call('XRANGE', p .. 'log:' .. ARGV[2], '(' .. after .. '-0', '+', 'COUNT', 1)[1]
  if not entry then last = '' break end
  after = string.match(entry[1], '^(%d+)')
  last, left = after, left - 1
  local header = cjson.decode(entry[2][2])
  local tasks, shares, sharers = header.tasks or {}, header.shares or {}, {}
  for _, told in ipairs(tasks) do sharers[told[3]] = (sharers[told[3]] or 0) + 1 end
  for _, told in ipairs(tasks) do
    local task, share = told[1] .. ':' .. string.format('%.0f', told[2]), shares[told[3] + 1]
    if share and share[1] > 0 then bytes[task] = (bytes[task] or 0) + share[1] / sharers[told[3]] end
  end
end
local flat = {}
for task, size in pairs(bytes) do flat[#flat + 1] = task flat[#flat + 1] = string.format('%.0f', size) end
return {last, flat}
