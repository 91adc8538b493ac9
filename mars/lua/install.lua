#!lua flags=allow-oom
-- Recovery (rule 5): replace everything of a stream by what the commits say, in one step. The generation in ZooKeeper
-- has been raised, and the commits were read, before this call.
-- KEYS[1] prefix. ARGV: generation, leader epoch, run id, state as JSON
local p, state = KEYS[1], cjson.decode(ARGV[4])
local known = redis.call('HMGET', p .. 'generation', 'generation', 'leader')
if known[2] and tonumber(known[2]) > tonumber(ARGV[2]) then return {err = 'EPOCH an older leader'} end
if known[1] and tonumber(known[1]) >= tonumber(ARGV[1]) then return {err = 'GENERATION not raised'} end
for _, name in ipairs({'seq', 'claims', 'leases', 'requests', 'progress', 'facts', 'counters', 'owners', 'detached'}) do
  redis.call('DEL', p .. name)
end
for k = 0, state.key_parts - 1 do redis.call('DEL', p .. 'log:' .. k, p .. 'positions:' .. k) end
for part, lane in pairs(state.lanes) do
  redis.call('DEL', p .. 'lanes:' .. part, p .. 'stops:' .. part, p .. 'nows:' .. part)
  for query, cursor in pairs(lane) do redis.call('HSET', p .. 'lanes:' .. part, query, cursor) end
  for _, stop in ipairs(state.stops[part]) do redis.call('ZADD', p .. 'stops:' .. part, stop, stop) end
  for _, pair in ipairs(state.nows[part]) do
    redis.call('ZADD', p .. 'nows:' .. part, pair[1], pair[1] .. ':' .. pair[2] .. ':' .. pair[3])
  end
end
for _, entry in ipairs(state.positions) do redis.call('HSET', p .. 'positions:' .. entry[1], entry[2], entry[3]) end
redis.call('HSET', p .. 'generation', 'generation', ARGV[1], 'leader', ARGV[2], 'run_id', ARGV[3])
return 1
