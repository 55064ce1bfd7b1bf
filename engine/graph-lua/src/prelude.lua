-- What scripts find: functions on the graph under RageDB's names, each of which is one call of the graph's HTTP API or a few, and
-- of Lua's own functions those that a hook can end. It is called with what `host.rs` makes.

local host = ...
local call, count, encode, decode, name = host.call, host.count, host.encode, host.decode, host.name
local error, ipairs, next, select = error, ipairs, next, select
local setmetatable, tostring, type, unpack = setmetatable, tostring, type, unpack
local concat, format, sub, min = table.concat, string.format, string.sub, math.min

-- Lua's own functions: what is not named here is not there.

local allowed = {
  _G = {
    "_G", "_VERSION", "assert", "error", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawset", "select",
    "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall", "math", "os", "string", "table",
  },
  math = {
    "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod", "frexp", "huge", "ldexp",
    "log", "log10", "max", "min", "modf", "pi", "pow", "rad", "random", "randomseed", "sin", "sinh", "sqrt", "tan", "tanh",
  },
  os = { "clock", "date", "difftime", "time" },
  string = { "byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper" },
  table = { "concat", "insert", "maxn", "remove" },
}

for library, names in pairs(allowed) do
  local is_allowed = {}
  for _, known in ipairs(names) do is_allowed[known] = true end
  local members = library == "_G" and _G or _G[library]
  for member in pairs(members) do
    if not is_allowed[member] then members[member] = nil end
  end
end

function print(...)
  local texts = {}
  for index = 1, select("#", ...) do texts[index] = tostring((select(index, ...))) end
  host.print(concat(texts, "\t"))
end

json = { encode = encode, decode = decode }

-- What functions of ours raise is no text to Lua. Scripts find the text, as with errors of Lua's own functions.

local protected = pcall
local function outcome(is_done, ...)
  if is_done or type((...)) ~= "userdata" then return is_done, ... end
  return false, host.told((...))
end
function pcall(...) return outcome(protected(...)) end

-- LuaJIT calls a handler where the error was raised, and within the hook no hook is called: it could run for ever.
local pcall = pcall
function xpcall(body, handler, ...)
  local function take(is_done, ...)
    if is_done then return true, ... end
    return false, handler(...)
  end
  return take(pcall(body, ...))
end

-- Searches in texts: LuaJIT's own cannot be ended.

local find, next_match = host.find, host.next_match
string.find, string.match = find, host.match

-- The place behind a match: one further where that is empty.
local function behind(from, to) return to < from and from + 1 or to + 1 end

-- Lua takes numbers for texts.
local function text_of(value, place, name)
  if type(value) == "number" then return tostring(value) end
  if type(value) == "string" then return value end
  error("bad argument #" .. place .. " to '" .. name .. "' (string expected, got " .. type(value) .. ")", 3)
end

function string.gmatch(text, pattern)
  text = text_of(text, 1, "gmatch")
  local place = 1
  local function take(from, to, ...)
    if from == nil then
      place = #text + 2
      return nil
    end
    place = behind(from, to)
    if select("#", ...) == 0 then return sub(text, from, to) end
    return ...
  end
  return function()
    if place > #text + 1 then return nil end
    return take(next_match(text, pattern, place))
  end
end

function string.gsub(text, pattern, by, most)
  local kind = type(by)
  if kind == "string" or kind == "number" then return host.substitute(text, pattern, by, most) end
  if kind ~= "table" and kind ~= "function" then
    error("bad argument #3 to 'gsub' (string/function/table expected, got " .. kind .. ")", 2)
  end
  text = text_of(text, 1, "gsub")
  local is_anchored = sub(pattern, 1, 1) == "^"
  local search = is_anchored and find or next_match
  local parts, length, done, place = {}, 0, 0, 1
  local function add(part)
    length = length + 1
    parts[length] = part
  end
  local function take(from, to, ...)
    if from == nil then return false end
    done = done + 1
    add(sub(text, place, from - 1))
    local whole = sub(text, from, to)
    local value
    if select("#", ...) == 0 then
      if kind == "table" then value = by[whole] else value = by(whole) end
    else
      if kind == "table" then value = by[(...)] else value = by(...) end
    end
    local given = type(value)
    if not value then
      value = whole
    elseif given ~= "string" and given ~= "number" then
      error("invalid replacement value (a " .. given .. ")", 0)
    end
    add(value)
    place = behind(from, to)
    if to < from then add(sub(text, from, from)) end
    return true
  end
  most = most or #text + 1
  while done < most and place <= #text + 1 do
    if not take(search(text, pattern, place)) or is_anchored then break end
  end
  add(sub(text, place))
  return concat(parts), done
end

-- A merge sort: LuaJIT's own takes the square of the length where the order is meant to make it.
function table.sort(list, before)
  before = before or function(a, b) return a < b end
  local length = #list
  local from, to, width = list, {}, 1
  while width < length do
    for left = 1, length, 2 * width do
      local middle, right = min(left + width, length + 1), min(left + 2 * width, length + 1)
      local i, j = left, middle
      for place = left, right - 1 do
        if i < middle and (j >= right or not before(from[j], from[i])) then
          to[place] = from[i]
          i = i + 1
        else
          to[place] = from[j]
          j = j + 1
        end
      end
    end
    from, to, width = to, from, 2 * width
  end
  if from ~= list then
    for place = 1, length do list[place] = from[place] end
  end
end

-- LuaJIT's own counts from the end down to any place, however far that is.
local insert = table.insert
function table.insert(list, ...)
  local given = select("#", ...)
  local place = ...
  if given == 2 and not (type(place) == "number" and place >= 1 and place <= #list + 1) then
    error("bad argument #2 to 'insert' (position out of bounds)", 2)
  end
  return insert(list, ...)
end

-- Lua 5.3's, which LuaJIT has too: scripts for RageDB take the first of a list with it.
function table.move(from, first, last, place, to)
  to = to or from
  if to == from and place > first and place <= last then
    for index = last - first, 0, -1 do to[place + index] = from[first + index] end
  else
    for index = 0, last - first do to[place + index] = from[first + index] end
  end
  return to
end

-- What a graph is asked with.

Direction = { BOTH = 0, IN = 1, OUT = 2 }
local directions = { [0] = "all", "in", "out" }

Operation = {}
for _, operation in ipairs({ "EQ", "NEQ", "GT", "GTE", "LT", "LTE", "IS_NULL", "STARTS_WITH", "CONTAINS", "ENDS_WITH" }) do
  Operation[operation] = operation
  Operation["NOT_" .. operation] = "NOT_" .. operation
end

-- Methods.

local function methods(metatable, functions)
  metatable.__index = functions
end

local function properties(thing) return thing.properties end
local function property(thing, of) return thing.properties[of] end

methods(host.node, {
  getId = function(node) return node.id end,
  getType = function(node) return node.type end,
  getKey = function(node) return node.key end,
  getProperties = properties,
  getProperty = property,
})
methods(host.relationship, {
  getId = function(relationship) return relationship.id end,
  getType = function(relationship) return relationship.type end,
  getStartingNodeId = function(relationship) return relationship.from end,
  getEndingNodeId = function(relationship) return relationship.to end,
  getProperties = properties,
  getProperty = property,
})
methods(host.link, {
  getNodeId = function(link) return link.node_id end,
  getRelationshipId = function(link) return link.rel_id end,
})

-- Paths of calls.

local function expected(what, value)
  error(what .. " is expected, and this is a " .. type(value), 0)
end

local function id(number, what)
  what = what or "an id"
  if type(number) ~= "number" then expected(what, number) end
  if number % 1 ~= 0 or number < 0 then
    error(what .. " is a whole number from 0 on, and this is " .. tostring(number), 0)
  end
  return format("%.0f", number)
end

local function segment(text)
  if type(text) ~= "string" and type(text) ~= "number" then expected("a name", text) end
  return name(text)
end

-- The id of a node or a relationship that stands in its place; what else it is, as it is.
local function named(thing)
  if type(thing) == "table" and type(thing.id) == "number" then return thing.id end
  return thing
end

-- The path of a node that is named by itself, by its id, or by type and key; and the arguments behind that.
local function node(first, second, ...)
  first = named(first)
  if type(first) == "number" then return "node/" .. id(first), second, ... end
  return "node/" .. segment(first) .. "/" .. segment(second), ...
end

local function relationship(first, ...) return "relationship/" .. id(named(first)), ... end

-- Which relationships: a direction, types, both or neither.
local function filter(direction, types)
  if direction == nil then
    direction = Direction.BOTH
  elseif type(direction) ~= "number" then
    direction, types = Direction.BOTH, direction
  end
  local word = directions[direction] or error("there is no direction " .. direction .. "; use Direction.BOTH, IN or OUT", 0)
  if types == nil then return "/" .. word end
  if type(types) ~= "table" then types = { types } end
  local names = {}
  for index, of in ipairs(types) do names[index] = segment(of) end
  return "/" .. word .. "/" .. concat(names, "&")
end

local function page(skip, limit)
  local parts = {}
  if skip ~= nil then parts[#parts + 1] = "skip=" .. id(skip, "how many to skip") end
  if limit ~= nil then parts[#parts + 1] = "limit=" .. id(limit, "a limit") end
  return concat(parts, "&")
end

-- Properties are JSON, as in RageDB, or a table.
local function body(given)
  if given == nil or type(given) == "string" then return given end
  return next(given) == nil and "{}" or encode(given)
end

local function get(path, shape)
  local _, value = call("GET", path, nil, nil, shape)
  return value
end

local function is_done(method, path, given)
  local status = call(method, path, nil, given)
  return status < 300
end

local function ids_of(things)
  local ids = {}
  for index, thing in ipairs(things) do ids[index] = thing.id end
  return ids
end

-- Types, lists and finds, which are the same for nodes and relationships.

for kind, side in pairs({ Node = "nodes", Relationship = "relationships" }) do
  local shape = kind == "Node" and "node" or "relationship"
  local schema = "schema/" .. side

  local function types() return get(schema) end
  _G[kind .. "TypesGet"] = types
  _G[kind .. "TypeGet"] = function(of) return get(schema .. "/" .. segment(of)) end
  _G[kind .. "TypesGetCount"] = function(of)
    if of == nil then return #types() end
    if type(of) == "number" then of = host.type_name(side, of) end
    return of and count(side, of) or 0
  end
  _G[kind .. "TypeGetType"] = function(number) return host.type_name(side, number) end
  _G[kind .. "TypeInsert"] = function(of)
    call("POST", schema .. "/" .. segment(of))
    return host.type_number(side, of)
  end
  _G[kind .. "PropertyTypeAdd"] = function(of, property, data_type)
    return is_done("POST", schema .. "/" .. segment(of) .. "/properties/" .. segment(property) .. "/" .. segment(data_type))
  end
  _G[kind .. "PropertyTypeDelete"] = function(of, property)
    return is_done("DELETE", schema .. "/" .. segment(of) .. "/properties/" .. segment(property))
  end

  local function all(of, skip, limit)
    local path = side
    if type(of) == "string" then path = side .. "/" .. segment(of) else skip, limit = of, skip end
    local _, things = call("GET", path, page(skip, limit), nil, shape)
    return things
  end
  _G["All" .. kind .. "s"] = all
  _G["All" .. kind .. "Ids"] = function(...) return ids_of(all(...)) end
  _G["All" .. kind .. "sCount"] = function(of) return count(side, of) end

  local function found(of, property, operation, value, skip, limit)
    local path = side .. "/" .. segment(of) .. "/" .. segment(property) .. "/" .. segment(operation)
    local _, things = call("POST", path, page(skip, limit), encode(value), shape)
    return things
  end
  _G["Find" .. kind .. "s"] = found
  _G["Find" .. kind .. "Ids"] = function(...) return ids_of(found(...)) end
  _G["Find" .. kind .. "Count"] = function(of, property, operation, value)
    -- Whoever may not count learns it before anything is looked for.
    local most = count(side, of)
    return #found(of, property, operation, value, 0, most)
  end
end

-- Properties, which are the same for both.

for kind, owner in pairs({ Node = node, Relationship = relationship }) do
  local function write(method, path, given) return is_done(method, path .. "/properties", body(given)) end
  local function set(path, property, given) return is_done("PUT", path .. "/property/" .. segment(property), given) end
  local function value(path, property) return get(path .. "/property/" .. segment(property))[property] end

  _G[kind .. "GetProperties"] = function(...) return get(owner(...) .. "/properties") end
  _G[kind .. "GetProperty"] = function(...) return value(owner(...)) end
  _G[kind .. "SetProperty"] = function(...)
    local path, property, given = owner(...)
    return given ~= nil and set(path, property, encode(given))
  end
  _G[kind .. "SetPropertyFromJson"] = function(...) return set(owner(...)) end
  _G[kind .. "SetPropertiesFromJson"] = function(...) return write("PUT", owner(...)) end
  _G[kind .. "ResetPropertiesFromJson"] = function(...) return write("POST", owner(...)) end
  _G[kind .. "DeleteProperties"] = function(...) return is_done("DELETE", owner(...) .. "/properties") end
  _G[kind .. "DeleteProperty"] = function(...)
    local path, property = owner(...)
    return is_done("DELETE", path .. "/property/" .. segment(property))
  end
end

-- Nodes and relationships. What cannot be created has the id 0, as in RageDB.

local function create(path, given)
  local _, made = call("POST", path, nil, body(given))
  return made and made.id or 0
end

function NodeAdd(of, key, given)
  if type(key) ~= "table" then return create("node/" .. segment(of) .. "/" .. segment(key), given) end
  local ids = {}
  for index, one in ipairs(key) do
    ids[index] = create("node/" .. segment(of) .. "/" .. segment(one), given and given[index])
  end
  return ids
end

function NodeGet(...) return get(node(...), "node") end

function NodeGetId(of, key)
  local known = get(node(of, key), "node")
  return known and known.id or 0
end

function NodeGetType(...)
  local known = get(node(...), "node")
  return known and known.type
end

function NodeGetKey(...)
  local known = get(node(...), "node")
  return known and known.key
end

function NodeRemove(...) return is_done("DELETE", (node(...))) end

function RelationshipAdd(of, first, second, third, fourth, given)
  first, second = named(first), named(second)
  if type(first) == "number" then
    return create("node/" .. id(first) .. "/relationship/" .. id(second) .. "/" .. segment(of), third)
  end
  local from, to = segment(first) .. "/" .. segment(second), segment(third) .. "/" .. segment(fourth)
  return create("node/" .. from .. "/relationship/" .. to .. "/" .. segment(of), given)
end

function RelationshipGet(of) return get(relationship(of), "relationship") end

function RelationshipRemove(of) return is_done("DELETE", (relationship(of))) end

for called, member in pairs({ Type = "type", StartingNodeId = "from", EndingNodeId = "to" }) do
  _G["RelationshipGet" .. called] = function(of)
    local known = RelationshipGet(of)
    return known and known[member]
  end
end

-- Of a list of ids or links, what is there.
local function each(list, member, get_one)
  local found = {}
  for _, one in ipairs(list) do
    if type(one) == "table" then one = one[member] or one.id end
    found[#found + 1] = get_one(one)
  end
  return found
end

function NodesGet(list) return each(list, "node_id", NodeGet) end
function RelationshipsGet(list) return each(list, "rel_id", RelationshipGet) end

-- What is around a node.

local function degree(path, ...) return get(path .. "/degree" .. filter(...)).degree end
local function relationships(path, ...) return get(path .. "/relationships" .. filter(...), "relationship") end
local function neighbors(path, ...) return get(path .. "/neighbors" .. filter(...), "node") end

function NodeGetDegree(...) return degree(node(...)) end
function NodeGetRelationships(...) return relationships(node(...)) end
function NodeGetNeighbors(...) return neighbors(node(...)) end
function NodeGetNeighborIds(...) return ids_of(neighbors(node(...))) end

function NodeGetLinks(first, second, ...)
  local own = named(first)
  if type(own) ~= "number" then own = NodeGetId(first, second) end
  local links = {}
  for index, of in ipairs(relationships(node(first, second, ...))) do
    local other = of.from == own and of.to or of.from
    links[index] = setmetatable({ node_id = other, rel_id = of.id }, host.link)
  end
  return links
end

function NodeGetConnected(first, second, third, fourth, ...)
  first, second = named(first), named(second)
  if type(first) == "number" then
    return get("node/" .. id(first) .. "/connected/" .. id(second) .. filter(third, fourth), "relationship")
  end
  local to = segment(third) .. "/" .. segment(fourth)
  return get(node(first, second) .. "/connected/" .. to .. filter(...), "relationship")
end

-- The names of earlier versions of RageDB, which had one for each kind of arguments.

-- The same function, the last argument of which is the number of a type of relationships; of a number that no type has, there are none.
local function by_number(called)
  return function(...)
    local given, last = { ... }, select("#", ...)
    given[last] = host.type_name("relationships", given[last]) or {}
    return called(unpack(given, 1, last))
  end
end

local around = {
  Degree = NodeGetDegree, Links = NodeGetLinks, Neighbors = NodeGetNeighbors, Relationships = NodeGetRelationships,
  RelationshipsIds = NodeGetLinks,
}
for known, called in pairs(around) do
  for _, by in ipairs({ "", "ById" }) do
    for _, direction in ipairs({ "", "ForDirection" }) do
      local name = "NodeGet" .. known .. by .. direction
      for _, types in ipairs({ "", "ForType", "ForTypes" }) do _G[name .. types] = called end
      _G[name .. "ForTypeId"] = by_number(called)
    end
  end
end

for _, known in ipairs({
  "NodeGet", "NodeRemove", "NodeGetProperty", "NodeGetProperties", "NodeSetProperty", "NodeSetPropertyFromJson",
  "NodeSetPropertiesFromJson", "NodeResetPropertiesFromJson", "NodeDeleteProperty", "NodeDeleteProperties",
  "NodeTypesGetCount", "RelationshipTypesGetCount",
}) do
  _G[known .. "ById"] = _G[known]
end

for _, known in ipairs({ "NodeTypesGetCount", "RelationshipTypesGetCount" }) do _G[known .. "ByType"] = _G[known] end

for _, known in ipairs({ "AllNodes", "AllNodeIds", "AllRelationships", "AllRelationshipIds" }) do
  _G[known .. "ForType"] = _G[known]
end

NodeAddEmpty, RelationshipAddEmpty = NodeAdd, RelationshipAdd
RelationshipAddByIds, RelationshipAddEmptyByIds = RelationshipAdd, RelationshipAdd
NodesGetByLinks, RelationshipsGetByLinks, Connected = NodesGet, RelationshipsGet, NodeGetConnected

function RelationshipAddByTypeIdByIds(number, ...)
  local of = host.type_name("relationships", number)
  return of and RelationshipAdd(of, ...) or 0
end
RelationshipAddEmptyByTypeIdByIds = RelationshipAddByTypeIdByIds

-- What RageDB has beside these: a call says what there is in its place.

local loop = "use %s in a loop"
local instead = {
  [format(loop, "NodeGetNeighbors")] = { "KHopCount", "KHopIds", "KHopNodes" },
  [format(loop, "NodeGetLinks")] = { "LinksGetLinks" },
  [format(loop, "NodeGetNeighbors with link:getNodeId()")] = { "LinksGetNeighbors", "LinksGetNeighborIds" },
  [format(loop, "NodeGetRelationships with link:getNodeId()")] = { "LinksGetRelationships", "LinksGetRelationshipsIds" },
  ["use NodesGet, which takes links, too"] = { "LinksGetNode", "NodeIdsGet" },
  ["use RelationshipsGet, which takes links, too"] = { "LinksGetRelationship" },
  [format(loop, "NodeGetKey")] = { "NodesGetKey", "NodesGetKeyByLinks", "NodeIdsGetKey", "LinksGetNodeKey" },
  [format(loop, "NodeGetType")] = { "NodesGetType", "NodesGetTypeByLinks", "NodeIdsGetType", "LinksGetNodeType" },
  [format(loop, "NodeGetProperty")] = {
    "NodesGetProperty", "NodesGetPropertyByLinks", "NodesGetPropertyRaw", "NodeIdsGetProperty", "LinksGetNodeProperty",
  },
  [format(loop, "NodeGetProperties")] = {
    "NodesGetProperties", "NodesGetPropertiesByLinks", "NodeIdsGetProperties", "LinksGetNodeProperties",
  },
  [format(loop, "NodeGetNeighborIds")] = {
    "NodesGetNeighborIds", "NodesGetDistinctNeighborIds", "NodeIdsGetNeighborIds", "NodeIdsGetDistinctNeighborIds",
    "NodeIdsGetUniqueNeighborIds", "NodeGetDistinctNeighborIds",
  },
  [format(loop, "NodeGetNeighbors ")] = { "NodesGetNeighbors", "NodeIdsGetNeighbors" },
  [format(loop, "RelationshipGetType")] = {
    "RelationshipsGetType", "RelationshipsGetTypeByLinks", "LinksGetRelationshipType",
  },
  [format(loop, "RelationshipGetProperty")] = {
    "RelationshipsGetProperty", "RelationshipsGetPropertyByLinks", "LinksGetRelationshipProperty",
  },
  [format(loop, "RelationshipGetProperties")] = {
    "RelationshipsGetProperties", "RelationshipsGetPropertiesByLinks", "LinksGetRelationshipProperties",
  },
  ["use FindNodes, or compare in a loop"] = { "FilterNodeCount", "FilterNodeIds", "FilterNodes", "FilterNodeProperties" },
  ["use FindRelationships, or compare in a loop"] = {
    "FilterRelationshipCount", "FilterRelationshipIds", "FilterRelationships", "FilterRelationshipProperties",
  },
  ["keep ids as keys of a table, and compare those"] = {
    "IntersectIds", "IntersectUnsortedIds", "IntersectNodes", "IntersectRelationships", "IntersectIdsCount", "DifferenceIds",
    "DifferenceNodes", "DifferenceRelationships", "DifferenceIdsCount", "Invert", "Join", "JoinCount", "Roar",
  },
  ["use NodeTypesGet with NodeTypesGetCount"] = { "AllNodesCounts" },
  ["use RelationshipTypesGet with RelationshipTypesGetCount"] = { "AllRelationshipsCounts" },
  ["use NodeTypeGetType, or names of types"] = { "NodeGetTypeId", "NodeTypeGetTypeId", "RelationshipTypeGetTypeId" },
  ["use os.time and os.date"] = { "DateToISO", "DateToDouble", "Date", "date" },
  ["send the data to POST /db/{graph}/nodes and /relationships, or use prony graph import"] = {
    "LoadCSV", "StreamCSV", "ftcsv",
  },
  ["return values, and make a page of them elsewhere"] = { "html", "template" },
  ["use table.sort"] = { "Sort" },
}

for advice, names in pairs(instead) do
  for _, missing in ipairs(names) do
    local function refuse() error(missing .. " of RageDB is not there: " .. advice, 2) end
    _G[missing] = setmetatable({}, { __metatable = false, __call = refuse, __index = refuse })
  end
end
