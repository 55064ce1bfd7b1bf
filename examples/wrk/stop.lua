-- Each thread stops after 100 answers.

local left = 100

function response()
   left = left - 1
   if left == 0 then
      wrk.thread:stop()
   end
end
