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
local known = redis.call('HMGET', p .. 'generation', 'generation', 'run_id')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
-- A server that was restarted may have forgotten at what time a range was claimed (rule 26): nothing until the recovery.
if not string.find(redis.call('INFO', 'server'), 'run_id:' .. tostring(known[2]) .. '\r', 1, true) then
  return {err = 'GENERATION ' .. known[1] .. ' of another server'}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

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

-- A claim whose lease ran out: the same range, tasks and now, a higher epoch. The third time, or if it has ended a holder
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
  local length, names = claim['end'] - claim.start, {}
  for name in pairs(claim.tasks) do names[#names + 1] = name end
  table.sort(names)
  local tasks, reading = claim.tasks, claim.ended_reading or 0
  local ended = math.max(reading, claim.ended_computing or 0)
  if (claim.given >= 3 or ended > 0) and not claim.grouped and length > 1 then
    local size = math.ceil(length / math.min(length, 16))
    claim.file, claim.ended_reading, claim.ended_computing = nil, nil, nil
    for start = claim.start + size, claim['end'] - 1, size do
      put_aside(claim, {start = start, ['end'] = math.min(start + size, claim['end'])})
    end
    claim['end'], claim.given = claim.start + size, 2
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

-- The lanes of a partition: who rides on main, and the cursors of the others. Equal to main means joined (rule 17).
local function lanes_of(part)
  local flat = redis.call('HGETALL', p .. 'lanes:' .. part)
  local main, joined, others, furthest = nil, {}, {}, nil
  for i = 1, #flat, 2 do
    if flat[i] == 'main' then main = tonumber(flat[i + 1]) end
  end
  for i = 1, #flat, 2 do
    if flat[i] ~= 'main' then
      local incarnation, cursor = string.match(flat[i + 1], '^(%d+):(.+)$')
      if cursor == 'main' or tonumber(cursor) == main then
        joined[#joined + 1] = {flat[i], incarnation, cursor == 'main'}
      else
        others[#others + 1] = {flat[i], incarnation, tonumber(cursor)}
        if not furthest or tonumber(cursor) > furthest then furthest = tonumber(cursor) end
      end
    end
  end
  if #joined == 0 and furthest then
    -- Nobody rides on main: the furthest lane becomes it.
    main = furthest
    local rest = {}
    for _, lane in ipairs(others) do
      if lane[3] == main then joined[#joined + 1] = {lane[1], lane[2], false} else rest[#rest + 1] = lane end
    end
    others = rest
  end
  return main, joined, others
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

local function range_end(part, start, members, others, main)
  local last = math.min(start + most, ends[part])
  local stop = redis.call('ZRANGEBYSCORE', p .. 'stops:' .. part, '(' .. start, '+inf', 'LIMIT', 0, 1)[1]
  if stop then last = math.min(last, tonumber(stop)) end
  for _, lane in ipairs(others) do
    if lane[3] > start then last = math.min(last, lane[3]) end
  end
  if main > start then last = math.min(last, main) end
  return math.min(last, least_committed(part, members, start) + bound)
end

local progress = {}
local flat = redis.call('HGETALL', p .. 'progress')
for i = 1, #flat, 2 do progress[flat[i]] = tonumber(flat[i + 1]) end
local best, best_lane, behind = nil, nil, {}
for part, last in pairs(ends) do
  local main, joined, others = lanes_of(part)
  -- Nothing is asked about a partition that has nothing: of many partitions most have nothing at most times.
  if #joined > 0 and last - main >= least_length then
    local e = range_end(part, main, joined, others, main)
    if e - main >= least_length then
      local candidate = {part = part, start = main, e = e, members = joined, main = true,
                         score = part == stay and -math.huge or progress[part] or -1e300}
      if not best or candidate.score < best.score then best = candidate end
    end
  end
  local least = nil
  for _, lane in ipairs(others) do
    if lane[3] < main and (not least or lane[3] < least) then least = lane[3] end
  end
  if least and last - least >= least_length then
    local members = {}
    for _, lane in ipairs(others) do if lane[3] == least then members[#members + 1] = lane end end
    local e = range_end(part, least, members, others, main)
    if e - least >= least_length and (not best_lane or main - least > best_lane.score) then
      best_lane = {part = part, start = least, e = e, members = members, main = false, score = main - least,
                   joins = e == main, at = main}
    end
  end
end
-- Lanes behind main get a third of the claims, never nothing (rule 11).
local turn = tonumber(redis.call('HGET', p .. 'counters', 'claim') or '0') % 3 == 0
local chosen = best
if best_lane and (turn or not best) then chosen = best_lane end
if not chosen then return '' end

-- A range that a query has merged before is claimed again with the now of that time (rule 26), which need not be that of
-- another query. Those that want the least one, or none, share the claim; the others wait in lanes of their own.
local function wanted_nows(part, e, members)
  local wanted, missing, first = {}, {}, 0
  for _, member in ipairs(members) do missing[member[1]] = true end
  while next(missing) do
    local found = redis.call('ZRANGEBYSCORE', p .. 'nows:' .. part, string.format('%.0f', e), '+inf', 'LIMIT', first, 200)
    for _, entry in ipairs(found) do
      local time, query = string.match(entry, '^%d+:(%d+):(.+)$')
      if missing[query] then wanted[query], missing[query] = tonumber(time), nil end
    end
    if #found < 200 then break end
    first = first + 200
  end
  return wanted
end

local part, e, tasks = chosen.part, chosen.e, {}
local wanted, again = wanted_nows(part, e, chosen.members), nil
for _, time in pairs(wanted) do again = math.min(time, again or time) end
for _, member in ipairs(chosen.members) do
  local shares = (wanted[member[1]] or again) == again
  local cursor = string.format('%.0f', shares and e or chosen.start)
  if shares then
    tasks[member[1]] = tonumber(member[2])
    if chosen.main or chosen.joins then cursor = 'main' end
  end
  redis.call('HSET', p .. 'lanes:' .. part, member[1], member[2] .. ':' .. cursor)
end
-- Written for a lane too: a lane that has just become main has so far only its own cursor.
redis.call('HSET', p .. 'lanes:' .. part, 'main', string.format('%.0f', chosen.main and e or chosen.at))
return give({id = redis.call('HINCRBY', p .. 'counters', 'claim', 1), partition = tonumber(part), start = chosen.start,
             ['end'] = e, tasks = tasks, now = again or now, given = 1,
             main = chosen.main})
