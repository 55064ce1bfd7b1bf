-- Three requests in one text: they are sent at once on one connection, and their answers read in order.

local batch

function init()
   local texts = {}
   for index, query in ipairs({ "red", "green", "blue" }) do
      texts[index] = wrk.format("GET", "/?colour=" .. query)
   end
   batch = table.concat(texts)
end

function request()
   return batch
end
