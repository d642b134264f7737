-- What `IDEM BEGIN key fingerprint LEASE ms TTL ms OWNER token` does, for a server that has only Lua.
-- KEYS: the record, the counter that fences come from.  ARGV: fingerprint, token, lease in ms, ttl in ms.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local fingerprint, token, lease, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local record = redis.call('HMGET', KEYS[1], 'fingerprint', 'token', 'fence', 'until', 'result', 'completed')
if record[1] then
  if record[1] ~= fingerprint then
    return redis.error_reply('MISMATCH this key was begun with another fingerprint')
  end
  if record[5] then
    return { 'DONE', record[5], tonumber(record[6]) }
  end
  local left = tonumber(record[4]) - now
  if left > 0 then
    if record[2] == token then
      return { 'NEW', tonumber(record[3]), token }
    end
    return { 'BUSY', tonumber(record[3]), left }
  end
end

local fence = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'token', token, 'fence', fence, 'until', now + lease)
redis.call('PEXPIRE', KEYS[1], ttl)
return { 'NEW', fence, token }
