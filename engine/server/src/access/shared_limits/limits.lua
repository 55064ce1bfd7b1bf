-- Takes units of limits that servers share: a key each, and seven arguments for each key. A rate is counted by the generic cell rate
-- algorithm: its value is the time at which all units so far would have come at the rate, in microseconds since 2025. The value of a
-- quota is what is used. Replies with three numbers for each key: units that are granted, units that are left for others, and after how
-- many microseconds there are `least`.
local time = redis.call('TIME')
local now = (time[1] - 1735689600) * 1000000 + time[2]
local replies = {}
for i, key in ipairs(KEYS) do
  local at = i * 7 - 7
  local kind, unit, most = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local unused, least = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local need, ahead = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
  local value = tonumber(redis.call('GET', key) or '0')
  -- Other servers keep a half of what is left of a rate, and all but a sixteenth of a quota.
  local free, share
  if kind == 'rate' then
    -- A value beyond the whole burst is of a clock that was ahead.
    value = math.max(math.min(value, now + most * unit) - unused * unit, now)
    free, share = math.floor(most - (value - now) / unit + 0.000001), 2
  else
    value = math.max(value - unused, 0)
    free, share = most - value, 16
  end
  local granted = 0
  if need > 0 and free >= least then
    granted = math.min(need, free)
    granted = granted + math.min(ahead, math.floor((free - granted) / share))
  end
  local wait = 0
  if kind == 'rate' then
    value = value + granted * unit
    wait = math.ceil(math.max(value - now + (least - most) * unit, 0))
    if value > now then
      redis.call('SET', key, string.format('%.3f', value), 'PX', math.ceil((value - now) / 1000) + 1000)
    else
      redis.call('DEL', key)
    end
  else
    redis.call('SET', key, string.format('%.0f', value + granted), 'PX', unit)
  end
  table.insert(replies, granted)
  table.insert(replies, math.max(free - granted, 0))
  table.insert(replies, wait)
end
return replies
