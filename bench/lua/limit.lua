-- What `LIMIT key RATE n PER ms` does (GCRA), for a server that has only Lua. Times are in microseconds.
-- KEYS: the bucket.  ARGV: n (also the burst), period in ms, cost.
-- Answers: allowed, limit, remaining, retry after ms, reset after ms.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local burst = tonumber(ARGV[1])
local interval = tonumber(ARGV[2]) * 1000 / burst
local tolerance = interval * burst

local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local charged = arrival + interval * tonumber(ARGV[3])
local over = charged - tolerance - now
if over > 0 then
  local remaining = math.floor((tolerance - (arrival - now)) / interval)
  return { 0, burst, remaining, math.ceil(over / 1000), math.ceil((arrival - now) / 1000) }
end

local full_after = math.ceil((charged - now) / 1000)
redis.call('SET', KEYS[1], string.format('%.3f', charged), 'PX', math.max(full_after, 1))
return { 1, burst, math.floor((tolerance - (charged - now)) / interval), 0, full_after }
