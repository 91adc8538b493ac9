#!lua flags=allow-oom
-- Keep a claim for another lease, or give it back. A lease of 0 gives it back at once. A shorter lease than before gives it
-- back later: its holder lives on, so nothing in the claim has ended it, and its mark is removed (rule 10).
-- KEYS[1] prefix. ARGV: generation, claim, epoch, lease ms, and '' or how often the claim shall count as given. A number
-- gives the claim back, too: one less if nothing in it is to blame, 2 if the next worker that asks is to get a part of it
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local held, lease = redis.call('HGET', p .. 'claims', ARGV[2]), tonumber(ARGV[4])
local claim = held and cjson.decode(held)
if not claim or claim.epoch ~= tonumber(ARGV[3]) then return 0 end
local gives_back = (claim.mark or ARGV[5] ~= '') and lease > 0 and lease < (claim.lease or lease)
if gives_back then claim.mark = nil end
if ARGV[5] ~= '' then claim.given = tonumber(ARGV[5]) end
if gives_back or ARGV[5] ~= '' or lease > (claim.lease or 0) then
  claim.lease = math.max(lease, claim.lease or 0)
  redis.call('HSET', p .. 'claims', ARGV[2], cjson.encode(claim))
end
local time = redis.call('TIME')
redis.call('ZADD', p .. 'leases', time[1] * 1000 + math.floor(time[2] / 1000) + lease, ARGV[2])
return 1
