-- Waits 10 to 50 ms before each request, as a user would. The wait is no part of the latency.

function delay()
   return math.random(10, 50)
end
