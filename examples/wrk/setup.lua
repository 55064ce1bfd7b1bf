-- What crosses between `setup` and `done` (one state) and the threads (a state each).

local threads = {}

function setup(thread)
   threads[#threads + 1] = thread
   thread:set("number", #threads)
end

sent, answered = 0, 0

function request()
   sent = sent + 1
   return wrk.request()
end

function response()
   answered = answered + 1
end

function done()
   for _, thread in ipairs(threads) do
      local line = "thread %d: %d requests, %d answers"
      print(line:format(thread:get("number"), thread:get("sent"), thread:get("answered")))
   end
end
