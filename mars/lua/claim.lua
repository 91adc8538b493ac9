#!lua flags=allow-oom
-- Take the next range (rules 6 to 11). Every check comes before the first write. The script also runs when Redis is full,
-- because an expired claim that nobody takes holds up the reducers, and so keeps memory from being freed.
-- KEYS[1] prefix. ARGV: generation, worker, request number, lease ms, most offsets, bound, key parts,
--   end offsets as JSON {partition: last stable offset}, partition to stay with or '', 1 if new claims are allowed,
--   least offsets of a new claim, offsets a second as JSON {query: rate} or '', 1 if a new claim must be of a front
-- Returns the claim as JSON, or '' if there is nothing to do.
local p, worker = KEYS[1], ARGV[2]
local request, lease_ms, most, bound = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local key_parts, ends, stay, allow_new = tonumber(ARGV[7]), cjson.decode(ARGV[8]), ARGV[9], ARGV[10] == '1'
local least_length, rates = tonumber(ARGV[11]), ARGV[12] ~= '' and cjson.decode(ARGV[12]) or {}
local fronts_only = ARGV[13] == '1'
local known = redis.call('HMGET', p .. 'generation', 'generation', 'server')
if known[1] ~= ARGV[1] then return {err = 'GENERATION ' .. tostring(known[1])} end
-- A server that was restarted or replaced may be an earlier state of itself, with lanes that are behind what is merged. It
-- gives nothing until the recovery.
local identity = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') .. ':' ..
                 string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
if known[2] ~= identity then return {err = 'GENERATION ' .. known[1] .. ' of another server'} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- An offset as text. As a number it would lose digits: JSON and Lua's own conversion keep only 14 of them.
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

-- The same request again gives the same claim, while it is held (rule 6). So a worker whose answer was lost can repeat it.
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

-- Make a part of a claim a claim of its own. Its lease is already over, so the next worker that asks gets it.
local function put_aside(claim, changes)
  local piece = cjson.decode(cjson.encode(claim))
  for name, value in pairs(changes) do piece[name] = value end
  piece.id = redis.call('HINCRBY', p .. 'counters', 'claim', 1)
  piece.epoch = redis.call('HINCRBY', p .. 'counters', 'epoch', 1)
  piece.given, piece.deadline = 1, now
  redis.call('HSET', p .. 'claims', piece.id, cjson.encode(piece))
  redis.call('ZADD', p .. 'leases', now, piece.id)
end

-- A claim whose lease ran out is given again: the same range and tasks, a higher epoch. It is split (rule 9) the third time,
-- or if it has ended a holder that had nothing else at work (`mark`). In the end one offset and one task are left, and they
-- are what kills (rule 10). Reading and computing are counted apart: a tuple that kills does so at the same stage each time,
-- while workers that die by chance do not.
local expired = redis.call('ZRANGEBYSCORE', p .. 'leases', '-inf', now, 'LIMIT', 0, 1)[1]
if not expired then
  -- No lease can end this late: the clock was set back meanwhile. Its holder may be gone, so the claim counts as expired.
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

-- The lanes of a partition by their cursors. Queries with equal cursors are on one lane and share a claim (rule 17). The
-- cursors ascend, and the last one is the front. Queries with a rate are apart: each reads by itself, so it holds up nobody.
local function lanes_of(part)
  local flat = redis.call('HGETALL', p .. 'lanes:' .. part)
  local riders, cursors, limited = {}, {}, {}
  for i = 1, #flat, 2 do
    local incarnation, text = string.match(flat[i + 1], '^(%d+):(%d+)$')
    local cursor = tonumber(text)
    if rates[flat[i]] then
      limited[#limited + 1] = {flat[i], incarnation, cursor}
    else
      if not riders[cursor] then
        riders[cursor] = {}
        cursors[#cursors + 1] = cursor
      end
      table.insert(riders[cursor], {flat[i], incarnation})
    end
  end
  table.sort(cursors)
  return cursors, riders, limited
end

-- What a query with a rate may take: `used` is the time up to which its rate is used up. What it leaves is kept for a
-- second, or as long as one offset takes. (Virtual scheduling, ITU-T I.371.)
local function kept_ms(query) return math.max(1000, 1000 / rates[query]) end
local function used_up(query)
  local used, oldest = tonumber(redis.call('HGET', p .. 'rates', query)), now - kept_ms(query)
  -- A time to come means that the clock was set back.
  if not used or used > now or used < oldest then return oldest end
  return used
end
local allowances = {}  -- by query: a partition asks for it after the other
local function allowance(query)
  if not allowances[query] then
    allowances[query] = math.floor((now - used_up(query)) * rates[query] / 1000 + 1e-6)
  end
  return allowances[query]
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

-- Up to where a claim of a lane may go. It does not cross a stop (rule 7), nor the cursor of the next lane, so that the two
-- lanes become one there.
local function range_end(part, start, members, next_cursor, at_most)
  local last = math.min(start + (at_most or most), ends[part], next_cursor or math.huge)
  local stop = redis.call('ZRANGEBYSCORE', p .. 'stops:' .. part, '(' .. whole(start), '+inf', 'LIMIT', 0, 1)[1]
  if stop then last = math.min(last, tonumber(stop)) end
  return math.min(last, least_committed(part, members, start) + bound)
end

local progress = {}
local flat = redis.call('HGETALL', p .. 'progress')
for i = 1, #flat, 2 do progress[flat[i]] = tonumber(flat[i + 1]) end
-- Find two things: the front whose partition is furthest behind in event time; and for each query that is behind the front
-- of a partition, its lane that is furthest behind, whichever other queries are on that lane.
local front, behind = nil, {}
local function is_further(member, distance) return not behind[member[1]] or distance > behind[member[1]].distance end
for part, last in pairs(ends) do
  local cursors, riders, limited = lanes_of(part)
  for i, start in ipairs(cursors) do
    local score = part == stay and -math.huge or progress[part] or -1e300
    local distance = cursors[#cursors] - start
    local members = riders[start]
    -- Look up positions only for a lane that has tuples and would be chosen. Most lanes have nothing most of the time, and
    -- each look-up costs a command per key part while Redis does nothing else.
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
  -- A query with a rate counts as behind. It waits until it may take a tenth of a second's offsets, or all that there are.
  for _, member in ipairs(limited) do
    local start, distance = member[3], last - member[3]
    if distance > 0 and is_further(member, distance) then
      local may = math.min(most, allowance(member[1]))
      if may >= math.min(distance, most, math.max(1, math.floor(rates[member[1]] / 10))) then
        local e = range_end(part, start, {member}, nil, may)
        if e > start then
          behind[member[1]] = {part = part, start = start, e = e, members = {member}, limited = member[1], distance = distance}
        end
      end
    end
  end
end
-- Lanes behind a front get a third of the claims, and all of them if no front has tuples. They take turns by query (rule
-- 11). Queries with the same furthest lane share one turn. Claims for which only fronts were wanted do not count.
local turns = {}
for name, lane in pairs(behind) do
  if not lane.name then turns[#turns + 1] = lane end
  if not lane.name or name < lane.name then lane.name = name end
end
local counts = redis.call('HMGET', p .. 'counters', 'claim', 'fronts_only')
local given = tonumber(counts[1] or '0') - tonumber(counts[2] or '0')
local chosen = front
if not fronts_only and #turns > 0 and (given % 3 == 0 or not front) then
  table.sort(turns, function(one, other) return one.name < other.name end)
  chosen = turns[math.floor(given / 3) % #turns + 1]
end
if not chosen then return '' end
if fronts_only then redis.call('HINCRBY', p .. 'counters', 'fronts_only', 1) end

local tasks, e = {}, whole(chosen.e)
if chosen.limited then
  local cost_ms = (chosen.e - chosen.start) * 1000 / rates[chosen.limited]
  redis.call('HSET', p .. 'rates', chosen.limited, string.format('%.3f', used_up(chosen.limited) + cost_ms))
end
for _, member in ipairs(chosen.members) do
  tasks[member[1]] = tonumber(member[2])
  redis.call('HSET', p .. 'lanes:' .. chosen.part, member[1], member[2] .. ':' .. e)
end
return give({id = redis.call('HINCRBY', p .. 'counters', 'claim', 1), partition = tonumber(chosen.part),
             start = whole(chosen.start), ['end'] = e, tasks = tasks, given = 1})
