#!lua flags=allow-oom
-- Take a query off its lanes; its claims in flight keep their tasks, and whatever they bring is dropped by incarnation. A
-- lane with a higher incarnation than was seen there stays: the call may arrive late.
-- KEYS[1] prefix. ARGV: generation, leader epoch, query, incarnations as JSON {partition: incarnation}
local p = KEYS[1]
local known = redis.call('HMGET', p .. 'generation', 'generation', 'leader')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
if tonumber(known[2]) > tonumber(ARGV[2]) then return {err = 'EPOCH an older leader'} end
for part, incarnation in pairs(cjson.decode(ARGV[4])) do
  local held = redis.call('HGET', p .. 'lanes:' .. part, ARGV[3])
  if held and tonumber(string.match(held, '^(%d+):')) <= incarnation then
    redis.call('HDEL', p .. 'lanes:' .. part, ARGV[3])
  end
end
return 1
