-- Creates nodes with the keys 0, 1, 2, …, or reads nodes at random, as RageDB's study of its own speed does:
--
--   wrk -t1 -c192 -d10s -s graph.lua http://127.0.0.1:7243 -- create
--   wrk -t1 -c192 -d10s -s graph.lua http://127.0.0.1:7243 -- read 100000
--
-- A third argument is the first key instead of 0. Each further thread creates keys from 100,000,000 further on.

local THREAD_DISTANCE = 100000000
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  wrk.headers["Accept"] = "application/json"
  creates = args[1] ~= "read"
  if creates then
    key = (tonumber(args[2]) or 0) + number * THREAD_DISTANCE
  else
    nodes = tonumber(args[2]) or 100000
    math.randomseed(number + 1)
  end
end

function request()
  if creates then
    local text = wrk.format("POST", "/db/rage/node/Node/" .. string.format("%d", key))
    key = key + 1
    return text
  end
  -- Not the first key: wrk asks each script for one request that it never sends.
  return wrk.format("GET", "/db/rage/node/Node/" .. math.random(1, nodes - 1))
end
