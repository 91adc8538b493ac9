#!lua flags=allow-oom
-- Publish what the leader saw: the number of its check of the partition list, and idle facts (rules 22, 23). The numbers
-- only rise, so a call that arrives late changes nothing.
-- KEYS[1] prefix. ARGV: generation, leader epoch, field, value, ...
-- Is one number less than the other? Compares digits, because the numbers of checks are too large for a double.
local function is_less(one, other)
  if #one ~= #other then return #one < #other end
  return one < other
end
local p = KEYS[1]
local known = redis.call('HMGET', p .. 'generation', 'generation', 'leader')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
if tonumber(known[2]) > tonumber(ARGV[2]) then return {err = 'EPOCH an older leader'} end
for i = 3, #ARGV, 2 do
  if ARGV[i] == 'begun' or ARGV[i] == 'done' then
    local told = redis.call('HGET', p .. 'facts', ARGV[i])
    if told and is_less(ARGV[i + 1], told) then return 0 end
  end
end
for i = 3, #ARGV, 2 do
  redis.call('HSET', p .. 'facts', ARGV[i], ARGV[i + 1])
  -- A check has ended, so wake reducers: windows that waited for it may close.
  if ARGV[i] == 'done' then redis.call('PUBLISH', p .. 'entries', '') end
end
return 1
