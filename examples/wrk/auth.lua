-- Logs in, then sends the token that the answer brought with every later request.

local token, text

function init()
   text = wrk.format("GET", "/authenticate")
end

function request()
   return text
end

function response(status, headers)
   if token == nil and status == 200 then
      token = headers["X-Token"]
      wrk.headers["X-Token"] = token
      text = wrk.format("GET", "/resource")
   end
end
