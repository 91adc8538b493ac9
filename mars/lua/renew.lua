#!lua flags=allow-oom
-- Keep a claim for another lease, or, with a lease of 0, give it back at once.
-- KEYS[1] prefix. ARGV: generation, claim, epoch, lease ms
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local held = redis.call('HGET', p .. 'claims', ARGV[2])
if not held or cjson.decode(held).epoch ~= tonumber(ARGV[3]) then return 0 end
local time = redis.call('TIME')
redis.call('ZADD', p .. 'leases', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[4]), ARGV[2])
return 1
