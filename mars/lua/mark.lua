#!lua flags=allow-oom
-- Note whether a worker reads or computes a claim that was given before (rule 10). The worker has nothing else at work, so
-- if it ends now, this claim ended it. A copy of 'reading' that arrives late does not undo 'computing' of the same holder.
-- KEYS[1] prefix. ARGV: generation, claim, epoch, 'reading' or 'computing'
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local held = redis.call('HGET', p .. 'claims', ARGV[2])
if not held then return 0 end
local claim = cjson.decode(held)
if claim.epoch ~= tonumber(ARGV[3]) then return 0 end
if claim.mark == 'computing' then return 1 end
claim.mark = ARGV[4]
redis.call('HSET', p .. 'claims', ARGV[2], cjson.encode(claim))
return 1
