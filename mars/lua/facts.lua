#!lua flags=allow-oom
-- What the leader saw: the number of its check of the partition list, and idle facts (rules 22, 23). The numbers only rise:
-- what arrives late is not told.
-- KEYS[1] prefix. ARGV: generation, leader epoch, field, value, ...
-- Are the digits of one number less than those of the other? Numbers of checks pass what a double tells apart.
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
  -- A check has ended: windows that waited for it may close.
  if ARGV[i] == 'done' then redis.call('PUBLISH', p .. 'entries', '') end
end
return 1
