#!lua flags=allow-oom
-- Take a query off its lanes. Its claims in flight keep their tasks; reducers drop what they bring, by its incarnation. A
-- lane with a higher incarnation than the given one stays, because this call may arrive late.
-- KEYS[1] prefix. ARGV: generation, leader epoch, query, incarnations as JSON {partition: incarnation}
local p, query = KEYS[1], ARGV[3]
local known = redis.call('HMGET', p .. 'generation', 'generation', 'leader')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
if tonumber(known[2]) > tonumber(ARGV[2]) then return {err = 'EPOCH an older leader'} end
local detached = tonumber(redis.call('HGET', p .. 'detached', query) or 0)
for part, incarnation in pairs(cjson.decode(ARGV[4])) do
  detached = math.max(detached, incarnation)
  local held = redis.call('HGET', p .. 'lanes:' .. part, query)
  if held and tonumber(string.match(held, '^(%d+):')) <= incarnation then
    redis.call('HDEL', p .. 'lanes:' .. part, query)
  end
end
redis.call('HSET', p .. 'detached', query, detached)
redis.call('HDEL', p .. 'rates', query)
return 1
