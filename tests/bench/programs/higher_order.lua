local function compose(f, g)
    return function(x) return f(g(x)) end
end

local function adder(n)
    return function(x) return x + n end
end

local function twice(f)
    return compose(f, f)
end

local function map(xs, f)
    local out = {}
    for i = 1, #xs do
        out[i] = f(xs[i])
    end
    return out
end

local function filter(xs, keep)
    local out = {}
    for i = 1, #xs do
        if keep(xs[i]) then
            out[#out + 1] = xs[i]
        end
    end
    return out
end

local function reduce(xs, f, acc)
    for i = 1, #xs do
        acc = f(acc, xs[i])
    end
    return acc
end

local function find(xs, holds)
    for i = 1, #xs do
        if holds(xs[i]) then
            return xs[i]
        end
    end
end

local function pipeline(xs, change, keep)
    return reduce(filter(map(xs, change), keep), function(acc, x) return acc + x end, 0)
end

function main()
    local xs = {}
    for n = 0, 39999 do
        xs[n + 1] = n
    end
    local total = 0
    for n = 0, 7 do
        local change = compose(twice(adder(n)), function(x) return x * 3 end)
        total = total + pipeline(xs, change, function(x) return x % (n + 2) == 0 end)
    end

    local people = map(xs, function(n) return { id = n, age = n * 7919 % 97, city = n * 31 % 11 } end)
    local ordered = filter(people, function() return true end)
    table.sort(ordered, function(a, b) return a.age * 100000 + a.id < b.age * 100000 + b.id end)
    local ages = map(filter(ordered, function(p) return p.city == 3 and p.age > 40 end), function(p) return p.age end)
    total = total + reduce(ages, function(acc, age) return (acc * 7 + age) % 1000003 end, 0)

    local every_age = find(people, function(p) return not (p.age < 97) end) == nil
    local some_old = find(people, function(p) return p.age == 96 and p.id > 9000 end) ~= nil
    local first = find(ordered, function(p) return p.age > 50 end)
    return total .. " " .. #ages .. " " .. tostring(every_age) .. " " .. tostring(some_old) .. " " .. first.id
end
