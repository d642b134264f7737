-- What `IDEM COMPLETE key token fence result TTL ms` does, for a server that has only Lua.
-- KEYS: the record.  ARGV: token, fence, result, ttl in ms.
local record = redis.call('HMGET', KEYS[1], 'token', 'fence', 'until', 'result')
if not record[1] then
  return redis.error_reply('NOTFOUND no such record')
end
if record[1] ~= ARGV[1] or record[2] ~= ARGV[2] then
  return redis.error_reply('STALE the lease belongs to another owner')
end
if record[4] then
  if record[4] == ARGV[3] then
    return redis.status_reply('OK')
  end
  return redis.error_reply('STALE completed with another result')
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if tonumber(record[3]) < now then
  return redis.error_reply('STALE the lease ran out')
end
redis.call('HSET', KEYS[1], 'result', ARGV[3], 'completed', now)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return redis.status_reply('OK')
