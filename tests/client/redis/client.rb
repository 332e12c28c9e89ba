# SPDX-License-Identifier: MIT
# Ruby's redis takes a lock and gives it back. Argument: a node's socket.
require "redis"

def check(right, what)
  abort what unless right
end

RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'.freeze
one, other = Array.new(2) { Redis.new(path: ARGV[0], id: "worker") }
check(one.ping == "PONG" && one.select(0) == "OK", "ping, select")
check(one.set("ruby", "token", nx: true, px: 60_000) == true, "set")
check(other.set("ruby", "other", nx: true, px: 60_000) == false, "held twice")
check(other.get("ruby") == "token" && other.pttl("ruby").positive?, "get, pttl")
check(other.eval(RELEASE, keys: ["ruby"], argv: ["other"]).zero?, "wrong token")
check(other.evalsha(other.script(:load, RELEASE), keys: ["ruby"], argv: ["token"]) == 1, "release")
check(one.exists("ruby").zero? && !one.info.empty?, "exists, info")
begin
  one.incr("ruby")
  abort "incr"
rescue Redis::CommandError => e
  check(e.message.include?("unknown command"), e.message)
end
puts "redis-rb #{Redis::VERSION}"
