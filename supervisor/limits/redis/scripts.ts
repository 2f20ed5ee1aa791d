// The script that carries out one exchange in Redis or Valkey: all questions in one step, on the clock of the server (keys.md 3).
// Redis 6.2 and Valkey 7.2 have every command that it uses.
import { createHash } from 'node:crypto'

/**
 * KEYS: the exchanges of this gateway that have added spend, then one counter for each question.
 * ARGV: window, bucket, lease and memory of exchanges in milliseconds; how many exchanges are remembered; gateway; exchange; the questions
 * as JSON: `["window", limit, take, [[amount, age], …]]`, `["slots", limit, hold]`, `["spend", add, expiry in milliseconds or 0]`.
 * Returns the time of the server in milliseconds, then one list for each question.
 *
 * A window is a hash of buckets by their number since the epoch. An amount counts until its whole bucket and one more have left the window,
 * so a window is longer than its name by one to two buckets, and never shorter. The ages of what is given back are those of another clock,
 * so the right bucket may be a neighbour; what none of them has counts as used until it expires. A wider search would move what is used
 * from bucket to bucket, and nothing would ever expire. Everything that can fail is read before anything is written, because a
 * script that fails takes nothing back.
 */
export const EXCHANGE_SCRIPT = `
local window_ms, bucket_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local lease_ms, memory_ms, memory_max = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local gateway, exchange = ARGV[6], ARGV[7]
local questions = cjson.decode(ARGV[8])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local largest = 9007199254740991

local function digits(number)
  return string.format('%.0f', number)
end

local adds = false
redis.call('ZCARD', KEYS[1])
for i, question in ipairs(questions) do
  if question[1] == 'spend' then
    local spent = redis.call('GET', KEYS[i + 1])
    if spent and not string.match(spent, '^%d+$') then
      return redis.error_reply('WRONGTYPE a counter holds no number')
    end
    adds = adds or question[2] > 0
  else
    redis.call('HLEN', KEYS[i + 1])
  end
end

-- The first write: a replica refuses it, so that none answers with old counters.
redis.call('PEXPIRE', KEYS[1], digits(memory_ms))
local repeated = adds and redis.call('ZSCORE', KEYS[1], exchange)
if adds and not repeated then
  redis.call('ZADD', KEYS[1], digits(now), exchange)
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - memory_max)
  redis.call('PEXPIRE', KEYS[1], digits(memory_ms))
end

local function answer_window(key, question)
  local limit, take, given_back = question[2], question[3], question[4]
  local first, current = math.floor((now - window_ms) / bucket_ms) - 1, math.floor(now / bucket_ms)
  local last = current + math.ceil(window_ms / bucket_ms)
  local stored, amounts, numbers = {}, {}, {}
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local number = tonumber(fields[i])
    stored[number] = tonumber(fields[i + 1])
    -- A clock that was set back must not keep an amount for longer than two windows.
    if number >= first and number <= last then amounts[number] = stored[number] end
  end

  local function free(number, amount)
    local freed = math.min(amounts[number] or 0, amount)
    if freed > 0 then amounts[number] = amounts[number] - freed end
    return amount - freed
  end
  for _, back in ipairs(given_back) do
    local amount, number = back[1], math.floor((now - back[2]) / bucket_ms)
    if number >= first and amount < 0 then
      amounts[number] = (amounts[number] or 0) - amount
    elseif number >= first then
      for _, offset in ipairs({ 0, -1, 1, -2, 2 }) do
        if amount > 0 and number + offset >= first then amount = free(number + offset, amount) end
      end
    end
  end

  local total = 0
  for number, amount in pairs(amounts) do
    if amount > 0 then
      total = total + amount
      numbers[#numbers + 1] = number
    end
  end
  table.sort(numbers)
  local granted = math.max(0, math.min(take, limit - total))
  local function left_at(number)
    return math.max(0, (number + 2) * bucket_ms + window_ms - now)
  end
  local retry = 0
  if granted < take then
    local rest = total
    for _, number in ipairs(numbers) do
      rest = rest - amounts[number]
      retry = left_at(number)
      if rest + take <= limit then break end
    end
    if retry == 0 then retry = window_ms end
  end
  if granted > 0 then
    if amounts[current] == nil or amounts[current] == 0 then numbers[#numbers + 1] = current end
    amounts[current] = (amounts[current] or 0) + granted
  end
  for number in pairs(stored) do
    if (amounts[number] or 0) == 0 then redis.call('HDEL', key, digits(number)) end
  end
  local reset = 0
  for _, number in ipairs(numbers) do
    local amount = amounts[number]
    if stored[number] ~= amount then redis.call('HSET', key, digits(number), digits(amount)) end
    reset = math.max(reset, left_at(number))
  end
  if reset > 0 then redis.call('PEXPIRE', key, digits(reset)) end
  return { granted, math.max(0, limit - total - granted), retry, reset }
end

local function answer_slots(key, question)
  local limit, hold = question[2], question[3]
  local others, mine = 0, 0
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local count, until_ms = string.match(fields[i + 1], '^(%d+) (%d+)$')
    if count == nil or tonumber(until_ms) <= now or tonumber(until_ms) > now + 2 * lease_ms then
      redis.call('HDEL', key, fields[i])
    elseif fields[i] == gateway then
      mine = tonumber(count)
    else
      others = others + tonumber(count)
    end
  end
  -- What runs already stays held where the limit has become lower.
  local held = math.max(math.min(hold, mine), math.min(hold, limit - others))
  if held > 0 then
    redis.call('HSET', key, gateway, digits(held) .. ' ' .. digits(now + lease_ms))
    redis.call('PEXPIRE', key, digits(lease_ms))
  else
    held = 0
    redis.call('HDEL', key, gateway)
  end
  return { held, math.max(0, limit - others - held) }
end

local function answer_spend(key, question)
  local add, expires = question[2], question[3]
  local spent = tonumber(redis.call('GET', key) or '0')
  if add > 0 and not repeated then
    spent = math.min(largest, spent + add)
    redis.call('SET', key, digits(spent))
    if expires > 0 then redis.call('PEXPIREAT', key, digits(expires)) end
  end
  -- As text: readers of replies add up the digits of an integer, and are inexact near the largest one.
  return { digits(spent) }
end

local answer = { window = answer_window, slots = answer_slots, spend = answer_spend }
local answers = { now }
for i, question in ipairs(questions) do
  answers[i + 1] = answer[question[1]](KEYS[i + 1], question)
end
return answers
`

/** What the server knows the script by. */
export const EXCHANGE_SCRIPT_SHA1 = createHash('sha1').update(EXCHANGE_SCRIPT).digest('hex')
