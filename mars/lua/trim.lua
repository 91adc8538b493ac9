#!lua flags=allow-oom
-- Delete entries whose tasks are all committed, one by one, and store the committed positions (rules 8, 14). Entries are
-- named one by one because an entry that waits must not hold up later ones.
-- KEYS[1] prefix. ARGV: generation, key part, assignment epoch, SEQs as JSON, {"partition:query": offset} as JSON
local p, k = KEYS[1], ARGV[2]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local owner = redis.call('HGET', p .. 'owners', k)
if owner and tonumber(owner) > tonumber(ARGV[3]) then return {err = 'EPOCH an older owner'} end
redis.call('HSET', p .. 'owners', k, ARGV[3])
for _, seq in ipairs(cjson.decode(ARGV[4])) do redis.call('XDEL', p .. 'log:' .. k, seq .. '-0') end
for field, offset in pairs(cjson.decode(ARGV[5])) do
  -- A call that arrives late must not lower a position that a later call has stored.
  local told = redis.call('HGET', p .. 'positions:' .. k, field)
  if not told or tonumber(told) < offset then
    redis.call('HSET', p .. 'positions:' .. k, field, string.format('%.0f', offset))
  end
end
return 1
