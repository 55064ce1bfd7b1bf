-- Each thread sends to one of the host's addresses that can be connected to, in turn.

local reachable
local turn = 0

function setup(thread)
   if reachable == nil then
      reachable = {}
      for _, address in ipairs(wrk.lookup(wrk.host, wrk.port or wrk.scheme)) do
         if wrk.connect(address) then
            reachable[#reachable + 1] = address
         end
      end
      assert(#reachable > 0, "no address of " .. wrk.host .. " answers")
   end
   turn = turn % #reachable + 1
   thread.addr = reachable[turn]
end

function init()
   print("a thread sends to " .. tostring(wrk.thread.addr))
end
