#!lua flags=allow-oom
-- Take the next range (rules 6 to 11). Every check comes before the first write. It runs also when Redis is full: a range
-- that ran out holds back what lies there.
-- KEYS[1] prefix. ARGV: generation, worker, request number, lease ms, most offsets, bound, key parts,
--   end offsets as JSON {partition: last stable offset}, partition to stay with or '', 1 if new claims are allowed,
--   least offsets of a new claim
-- Returns the claim as JSON, or '' if there is nothing to do.
local p, worker = KEYS[1], ARGV[2]
local request, lease_ms, most, bound = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local key_parts, ends, stay, allow_new = tonumber(ARGV[7]), cjson.decode(ARGV[8]), ARGV[9], ARGV[10] == '1'
local least_length = tonumber(ARGV[11])
local known = redis.call('HMGET', p .. 'generation', 'generation', 'server')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
-- A server that was restarted or replaced may be an earlier state of itself: it gives nothing until the recovery.
local identity = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') .. ':' ..
                 string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
if known[2] ~= identity then return {err = 'GENERATION ' .. known[1] .. ' of another server'} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- An offset as text: as numbers, JSON and Lua's own texts keep 14 digits of it.
local function whole(offset) return string.format('%.0f', offset) end

local function give(claim)
  claim.worker, claim.deadline, claim.lease = worker, now + lease_ms, lease_ms
  claim.epoch = redis.call('HINCRBY', p .. 'counters', 'epoch', 1)
  local text = cjson.encode(claim)
  redis.call('HSET', p .. 'claims', claim.id, text)
  redis.call('ZADD', p .. 'leases', claim.deadline, claim.id)
  redis.call('HSET', p .. 'requests', worker, request .. ':' .. claim.id .. ':' .. claim.epoch)
  return text
end

-- The same request again: the same claim, while it is held (rule 6).
local last = redis.call('HGET', p .. 'requests', worker)
if last then
  local number, id, epoch = string.match(last, '^(%d+):(%d+):(%d+)$')
  if request < tonumber(number) then return {err = 'REQUEST an older request'} end
  if request == tonumber(number) then
    local held = redis.call('HGET', p .. 'claims', id)
    if held and cjson.decode(held).epoch == tonumber(epoch) then return held end
    return ''
  end
end

-- A piece of a claim under an id of its own; its lease is over, so that the next who asks gets it.
local function put_aside(claim, changes)
  local piece = cjson.decode(cjson.encode(claim))
  for name, value in pairs(changes) do piece[name] = value end
  piece.id = redis.call('HINCRBY', p .. 'counters', 'claim', 1)
  piece.epoch = redis.call('HINCRBY', p .. 'counters', 'epoch', 1)
  piece.given, piece.deadline = 1, now
  redis.call('HSET', p .. 'claims', piece.id, cjson.encode(piece))
  redis.call('ZADD', p .. 'leases', now, piece.id)
end

-- A claim whose lease ran out: the same range and tasks, a higher epoch. The third time, or if it has ended a holder
-- that had nothing else at work (`mark`), it is split (rule 9), at last to one offset and one task, which then kills
-- (rule 10). Each stage is counted by itself: what kills does it at the same stage each time, chance does not.
local expired = redis.call('ZRANGEBYSCORE', p .. 'leases', '-inf', now, 'LIMIT', 0, 1)[1]
if not expired then
  -- A lease that ends later than any can: the clock was set back, and its holder may be gone.
  local last = redis.call('ZREVRANGE', p .. 'leases', 0, 0, 'WITHSCORES')
  if last[1] and tonumber(last[2]) > now + 2 * lease_ms then
    local lease = cjson.decode(redis.call('HGET', p .. 'claims', last[1])).lease or lease_ms
    if tonumber(last[2]) > now + 2 * lease then expired = last[1] end
  end
end
if expired then
  local claim = cjson.decode(redis.call('HGET', p .. 'claims', expired))
  claim.given = claim.given + 1
  if claim.mark then claim['ended_' .. claim.mark], claim.mark = (claim['ended_' .. claim.mark] or 0) + 1, nil end
  local first, last = tonumber(claim.start), tonumber(claim['end'])
  local length, names = last - first, {}
  for name in pairs(claim.tasks) do names[#names + 1] = name end
  table.sort(names)
  local tasks, reading = claim.tasks, claim.ended_reading or 0
  local ended = math.max(reading, claim.ended_computing or 0)
  if (claim.given >= 3 or ended > 0) and not claim.grouped and length > 1 then
    local size = math.ceil(length / math.min(length, 16))
    claim.file, claim.ended_reading, claim.ended_computing = nil, nil, nil
    for start = first + size, last - 1, size do
      put_aside(claim, {start = whole(start), ['end'] = whole(math.min(start + size, last))})
    end
    claim['end'], claim.given = whole(first + size), 2
  elseif reading >= 3 and length == 1 then
    claim.kills = 'reading'
  elseif ended >= 3 and #names > 1 then
    claim.ended_reading, claim.ended_computing = nil, nil
    for i = 2, #names do put_aside(claim, {tasks = {[names[i]] = tasks[names[i]]}}) end
    claim.tasks, claim.given = {[names[1]] = tasks[names[1]]}, 2
  elseif ended >= 3 then
    claim.kills = 'computing'
  end
  return give(claim)
end
if not allow_new then return '' end

-- The lanes of a partition by their cursors: queries whose cursors are equal ride together, and share a claim (rule 17). The
-- cursors ascend; the last one is the front.
local function lanes_of(part)
  local flat = redis.call('HGETALL', p .. 'lanes:' .. part)
  local riders, cursors = {}, {}
  for i = 1, #flat, 2 do
    local incarnation, text = string.match(flat[i + 1], '^(%d+):(%d+)$')
    local cursor = tonumber(text)
    if not riders[cursor] then
      riders[cursor] = {}
      cursors[#cursors + 1] = cursor
    end
    table.insert(riders[cursor], {flat[i], incarnation})
  end
  table.sort(cursors)
  return cursors, riders
end

-- The bound (rule 8): the least committed position of the lane's queries over all key parts.
local function least_committed(part, members, cursor)
  local fields, least = {}, cursor
  for _, member in ipairs(members) do fields[#fields + 1] = part .. ':' .. member[1] end
  for k = 0, key_parts - 1 do
    for first = 1, #fields, 1000 do
      local values = redis.call('HMGET', p .. 'positions:' .. k, unpack(fields, first, math.min(first + 999, #fields)))
      for _, value in ipairs(values) do
        if value and tonumber(value) < least then least = tonumber(value) end
      end
    end
  end
  return least
end

-- Up to where a claim of a lane may go: not across a stop (rule 7), nor across the cursor of the next lane, so that both
-- ride together from there on.
local function range_end(part, start, members, next_cursor)
  local last = math.min(start + most, ends[part], next_cursor or math.huge)
  local stop = redis.call('ZRANGEBYSCORE', p .. 'stops:' .. part, '(' .. whole(start), '+inf', 'LIMIT', 0, 1)[1]
  if stop then last = math.min(last, tonumber(stop)) end
  return math.min(last, least_committed(part, members, start) + bound)
end

local progress = {}
local flat = redis.call('HGETALL', p .. 'progress')
for i = 1, #flat, 2 do progress[flat[i]] = tonumber(flat[i + 1]) end
-- The front whose partition is furthest behind in event time; and of each query that is behind the front of a partition,
-- the lane that is furthest behind, whoever rides there with it.
local front, behind = nil, {}
local function is_further(member, distance) return not behind[member[1]] or distance > behind[member[1]].distance end
for part, last in pairs(ends) do
  local cursors, riders = lanes_of(part)
  for i, start in ipairs(cursors) do
    local score = part == stay and -math.huge or progress[part] or -1e300
    local distance = cursors[#cursors] - start
    local members = riders[start]
    -- Nothing is asked about a lane that has nothing, or that would not be chosen: most have nothing at most times.
    local wanted
    if distance == 0 then
      wanted = not front or score < front.score
    else
      for _, member in ipairs(members) do wanted = wanted or is_further(member, distance) end
    end
    if wanted and last - start >= least_length then
      local e = range_end(part, start, members, cursors[i + 1])
      if e - start >= least_length then
        local found = {part = part, start = start, e = e, members = members, score = score, distance = distance}
        if distance == 0 then
          front = found
        else
          for _, member in ipairs(members) do if is_further(member, distance) then behind[member[1]] = found end end
        end
      end
    end
  end
end
-- Lanes behind a front get a third of the claims, never nothing, and take turns by query (rule 11): queries whose furthest
-- lane is the same have one turn.
local turns = {}
for name, lane in pairs(behind) do
  if not lane.name then turns[#turns + 1] = lane end
  if not lane.name or name < lane.name then lane.name = name end
end
local given = tonumber(redis.call('HGET', p .. 'counters', 'claim') or '0')
local chosen = front
if #turns > 0 and (given % 3 == 0 or not front) then
  table.sort(turns, function(one, other) return one.name < other.name end)
  chosen = turns[math.floor(given / 3) % #turns + 1]
end
if not chosen then return '' end

local tasks, e = {}, whole(chosen.e)
for _, member in ipairs(chosen.members) do
  tasks[member[1]] = tonumber(member[2])
  redis.call('HSET', p .. 'lanes:' .. chosen.part, member[1], member[2] .. ':' .. e)
end
return give({id = redis.call('HINCRBY', p .. 'counters', 'claim', 1), partition = tonumber(chosen.part),
             start = whole(chosen.start), ['end'] = e, tasks = tasks, given = 1})
