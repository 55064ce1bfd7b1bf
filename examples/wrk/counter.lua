-- Another path and header for each request. Every thread counts for itself: its Lua state is its own.

local count = 0

function request()
   wrk.headers["X-Counter"] = count
   local text = wrk.format(nil, "/" .. count)
   count = count + 1
   return text
end
