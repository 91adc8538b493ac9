#!lua
-- Attach an incarnation of a query (rule 17). The query gets a lane of its own from its least committed position, with its
-- stops. A call that arrives late changes nothing: incarnations and positions only rise, and a detached one never returns.
-- KEYS[1] prefix. ARGV: generation, leader epoch, query, incarnation, state as JSON
local p, query, state = KEYS[1], ARGV[3], cjson.decode(ARGV[5])
local known = redis.call('HMGET', p .. 'generation', 'generation', 'leader')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
if tonumber(known[2]) > tonumber(ARGV[2]) then return {err = 'EPOCH an older leader'} end
redis.call('HSET', p .. 'generation', 'leader', ARGV[2])
local detached = tonumber(redis.call('HGET', p .. 'detached', query) or 0)
if tonumber(ARGV[4]) <= detached then return 0 end
for part, cursor in pairs(state.cursors) do
  local lanes = p .. 'lanes:' .. part
  local held = redis.call('HGET', lanes, query)
  if not held or tonumber(string.match(held, '^(%d+):')) < tonumber(ARGV[4]) then
    redis.call('HSET', lanes, query, ARGV[4] .. ':' .. cursor)
    for _, stop in ipairs(state.stops[part]) do redis.call('ZADD', p .. 'stops:' .. part, stop, stop) end
  end
end
for _, entry in ipairs(state.positions) do
  local told = redis.call('HGET', p .. 'positions:' .. entry[1], entry[2])
  if not told or tonumber(told) < tonumber(entry[3]) then redis.call('HSET', p .. 'positions:' .. entry[1], entry[2], entry[3]) end
end
return 1
