#!lua flags=allow-oom
-- Take a query off every lane; its claims in flight keep their tasks, and whatever they bring is dropped by incarnation.
-- KEYS[1] prefix. ARGV: generation, leader epoch, query, partitions as JSON
local p = KEYS[1]
local known = redis.call('HMGET', p .. 'generation', 'generation', 'leader')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
if tonumber(known[2]) > tonumber(ARGV[2]) then return {err = 'EPOCH an older leader'} end
for _, part in ipairs(cjson.decode(ARGV[4])) do redis.call('HDEL', p .. 'lanes:' .. part, ARGV[3]) end
return 1
