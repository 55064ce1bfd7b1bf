-- The table `wrk`, and the functions through which the host calls a script's own.
-- A script may replace its functions at any time, so each is looked up when it is called.

local start = ...
local ipairs, pairs, setmetatable, tostring, type = ipairs, pairs, setmetatable, tostring, type

local wrk = {
   scheme = start.scheme,
   host = start.host,
   port = start.port,
   method = start.method,
   path = start.path,
   headers = start.headers,
   body = start.body,
   thread = start.thread,
   lookup = start.lookup,
   connect = start.connect,
}
_G.wrk = wrk
package.loaded.wrk = wrk
package.path = start.directory .. "/?.lua;" .. package.path

for _, place in ipairs(start.module_places) do
   package.path = package.path .. ";" .. place
end

-- Where the script runs on several machines, files that it reads are noted on the first and found in another place on the others.
local place = start.place
if place then
   local open, lines, load_file, do_file = io.open, io.lines, loadfile, dofile
   function io.open(name, mode)
      if type(name) == "string" and (mode == nil or tostring(mode):sub(1, 1) == "r") then
         name = place(name)
      end
      return open(name, mode)
   end
   local function placed(read)
      return function(name, ...)
         if type(name) == "string" then
            return read(place(name), ...)
         end
         return read(name, ...)
      end
   end
   io.lines, loadfile, dofile = placed(lines), placed(load_file), placed(do_file)
   table.insert(package.loaders, 2, function(name)
      local path = package.searchpath(name, package.path)
      if path then
         local chunk, fault = load_file(place(path))
         return chunk or error(fault, 0)
      end
   end)
end

local buffer = require("string.buffer").new()

-- The text of one request; what is not given comes from `wrk`. The length of a body is always ours.
function wrk.format(method, path, headers, body)
   local fields = headers or wrk.headers
   local content = body or wrk.body
   buffer:reset():put(method or wrk.method, " ", path or wrk.path, " HTTP/1.1\r\n")
   if fields.Host == nil and wrk.headers.Host ~= nil then
      buffer:put("Host: ", tostring(wrk.headers.Host), "\r\n")
   end
   for name, value in pairs(fields) do
      if name ~= "Content-Length" then
         buffer:put(name, ": ", type(value) == "string" and value or tostring(value), "\r\n")
      end
   end
   if content then
      local kind = type(content)
      if kind ~= "string" and kind ~= "number" then
         error("wrk.format: the body is a " .. kind .. ", not a text", 2)
      end
      content = tostring(content)
      buffer:put("Content-Length: ", #content, "\r\n\r\n", content)
   else
      buffer:put("\r\n")
   end
   return buffer:tostring()
end

local function authority()
   local name = wrk.host
   if name:find(":", 1, true) then
      name = "[" .. name .. "]"
   end
   return wrk.port and (name .. ":" .. wrk.port) or name
end

local call = {}

-- As in wrk, a script may have functions of its own in the place of `wrk.setup` and `wrk.init`.
function wrk.setup(thread)
   if type(_G.setup) == "function" then
      _G.setup(thread)
   end
end

function call.setup(thread)
   if type(wrk.setup) == "function" then
      wrk.setup(thread)
   end
end

local function set_host()
   if not wrk.headers.Host then
      wrk.headers.Host = authority()
   end
end

local function render()
   local text = wrk.format()
   function wrk.request()
      return text
   end
end

-- The request that scripts without `request` send is made once, after `init` had its chance to change `wrk`.
-- An `init` may call this itself, as those of wrk2 do.
local is_within_init = false
function wrk.init(arguments)
   set_host()
   if type(_G.init) == "function" and not is_within_init then
      is_within_init = true
      _G.init(arguments)
      is_within_init = false
   end
   render()
end

function call.init(arguments)
   if type(wrk.init) == "function" then
      wrk.init(arguments)
   end
   if type(wrk.request) ~= "function" then
      set_host()
      render()
   end
end

function call.delay()
   return _G.delay()
end

function call.request()
   local request = _G.request
   if type(request) ~= "function" then
      request = wrk.request
   end
   return request()
end

-- Names are as received, and HTTP/2 has only small letters: a name that is not there is looked for in any case.
local any_case = {}
function any_case.__index(headers, wanted)
   wanted = tostring(wanted):lower()
   for name, value in pairs(headers) do
      if name:lower() == wanted then
         return value
      end
   end
end

function call.response(status, headers, body)
   _G.response(status, setmetatable(headers, any_case), body)
end

function call.done(summary, latency, requests)
   if type(_G.done) == "function" then
      _G.done(summary, latency, requests)
   end
end

function call.defines(name)
   return type(_G[name]) == "function"
end

-- What scripts print goes through C's buffers; flushed where ours follows.
local output = io.stdout
function call.flush()
   output:flush()
end

return call
