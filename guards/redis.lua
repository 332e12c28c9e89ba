-- SPDX-License-Identifier: MIT
--
-- Conclave's guard for Redis: one EVAL does a write, unless a higher fence has been seen.
--
--     EVAL <this file> 2 fence:orders order:7  71  SET shipped
--
-- KEYS[1]   where the highest fence is kept; the same for all that one lock protects
-- KEYS[2]   what is written, and more keys if the command takes them; in a Redis Cluster all in one slot: {orders}:fence
-- ARGV[1]   the fence that LOCK gave
-- ARGV[2]   the command, and its arguments after the keys: SET value, HSET field value, INCRBY 1, DEL
--
-- The answer is the command's, or the error STALE. An equal fence is the same holder, who may write often.

local fence = ARGV[1]
if not fence or not string.match(fence, '^[1-9]%d*$') or #fence > 19 or not ARGV[2] or #KEYS < 2 then
    return redis.error_reply('ERR expected the key of the fence, keys, a fence from 1 on, and a command')
end

-- Numbers of Lua are doubles, so fences are compared by their digits.
local highest = redis.call('GET', KEYS[1])
if highest and (#highest > #fence or (#highest == #fence and highest > fence)) then
    return redis.error_reply('STALE fence ' .. fence .. ': ' .. highest .. ' has been seen, the lock is another\'s')
end

local words = {ARGV[2]}
for i = 2, #KEYS do
    words[#words + 1] = KEYS[i]
end
for i = 3, #ARGV do
    words[#words + 1] = ARGV[i]
end
-- A command that fails has written nothing, and its fence does not count.
local answer = redis.pcall(unpack(words))
if type(answer) ~= 'table' or not answer.err then
    redis.call('SET', KEYS[1], fence)
end
return answer
