#!lua
-- Note in the claim that its batch is in a local file, so a restarted mapper need not fetch it again (step 4).
-- KEYS[1] prefix. ARGV: generation, claim, epoch, start, end, file as JSON
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local held = redis.call('HGET', p .. 'claims', ARGV[2])
if not held then return 0 end
local claim = cjson.decode(held)
if claim.epoch ~= tonumber(ARGV[3]) or claim.start ~= ARGV[4] or claim['end'] ~= ARGV[5] then return 0 end
claim.file = cjson.decode(ARGV[6])
redis.call('HSET', p .. 'claims', ARGV[2], cjson.encode(claim))
return 1
