#!lua
-- Write one entry per key part, under one SEQ, for a claim or for a group of its tasks (step 6). Then these tasks are done,
-- and waiting reducers are woken. One script does both, so no range can be pushed without being removed from the claim.
-- KEYS[1] prefix. ARGV: generation, claim, start, end, tasks as JSON {query: incarnation}, greatest event time or '',
--   then for each key part: header, cells
-- Returns the SEQ; or 0 if the claim no longer exists, was split, or no longer has these tasks. The holder is not checked:
-- all workers that were given the claim make the same entries from it, so any of them may push first.
local p = KEYS[1]
local generation = redis.call('HGET', p .. 'generation', 'generation')
if generation ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(generation)} end
local held = redis.call('HGET', p .. 'claims', ARGV[2])
if not held then return 0 end
local claim = cjson.decode(held)
if claim.start ~= ARGV[3] or claim['end'] ~= ARGV[4] then return 0 end
local tasks = cjson.decode(ARGV[5])
for query, incarnation in pairs(tasks) do
  if claim.tasks[query] ~= incarnation then return 0 end
end
local sequence = redis.call('INCR', p .. 'seq')
for i = 7, #ARGV, 2 do
  redis.call('XADD', p .. 'log:' .. ((i - 7) / 2), sequence .. '-0', 'm', ARGV[i], 'c', ARGV[i + 1])
end
if ARGV[6] ~= '' then
  local known = redis.call('HGET', p .. 'progress', claim.partition)
  if not known or tonumber(known) < tonumber(ARGV[6]) then
    redis.call('HSET', p .. 'progress', claim.partition, ARGV[6])
  end
end
for query in pairs(tasks) do claim.tasks[query] = nil end
if next(claim.tasks) == nil then
  redis.call('HDEL', p .. 'claims', ARGV[2])
  redis.call('ZREM', p .. 'leases', ARGV[2])
else
  claim.grouped = true
  redis.call('HSET', p .. 'claims', ARGV[2], cjson.encode(claim))
end
redis.call('PUBLISH', p .. 'entries', '')
return sequence
