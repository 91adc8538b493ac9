#!lua flags=allow-oom
-- Recovery (rule 5): replace everything of a stream by what the commits say, in one step. Before this call, the generation
-- in ZooKeeper was raised and the commits were read. A generation is installed once, because a copy of the call that
-- arrives late would move lanes back behind what was merged since.
-- KEYS[1] prefix. ARGV: generation, leader epoch, server, state as JSON
local p, state = KEYS[1], cjson.decode(ARGV[4])
local known = redis.call('HGET', p .. 'generation', 'generation')
if known and tonumber(known) >= tonumber(ARGV[1]) then return {err = 'GENERATION not raised'} end
for _, name in ipairs({'seq', 'claims', 'leases', 'requests', 'progress', 'facts', 'counters', 'rates', 'owners', 'detached'}) do
  redis.call('DEL', p .. name)
end
for k = 0, state.key_parts - 1 do redis.call('DEL', p .. 'log:' .. k, p .. 'positions:' .. k) end
for part, lane in pairs(state.lanes) do
  redis.call('DEL', p .. 'lanes:' .. part, p .. 'stops:' .. part)
  for query, cursor in pairs(lane) do redis.call('HSET', p .. 'lanes:' .. part, query, cursor) end
  for _, stop in ipairs(state.stops[part]) do redis.call('ZADD', p .. 'stops:' .. part, stop, stop) end
end
for _, entry in ipairs(state.positions) do redis.call('HSET', p .. 'positions:' .. entry[1], entry[2], entry[3]) end
redis.call('HSET', p .. 'generation', 'generation', ARGV[1], 'leader', ARGV[2], 'server', ARGV[3])
return 1
