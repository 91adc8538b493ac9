#!lua flags=allow-oom
-- Read the entries of a key part's log after a SEQ, in SEQ order, up to a number of bytes.
-- KEYS[1] prefix. ARGV: generation, key part, SEQ, most bytes
-- Returns {facts, entries}; facts is the flat hash that facts.lua wrote.
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local found, bytes, after = {}, 0, ARGV[3]
while bytes < tonumber(ARGV[4]) do
  local entry = redis.call('XRANGE', p .. 'log:' .. ARGV[2], '(' .. after .. '-0', '+', 'COUNT', 1)[1]
  if not entry then break end
  found[#found + 1] = entry
  after = string.match(entry[1], '^(%d+)')
  bytes = bytes + #entry[2][2] + #entry[2][4] + 100
end
return {redis.call('HGETALL', p .. 'facts'), found}
