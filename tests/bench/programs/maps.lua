function main()
    local words = {}
    for n = 0, 4999 do
        words[n + 1] = "word" .. n
    end
    local counts = {}
    local seed = 1
    for _ = 1, 500000 do
        seed = seed * 16807 % 2147483647
        local word = words[seed % 5000 + 1]
        counts[word] = (counts[word] or 0) + 1
    end

    local by_length = {}
    for word, count in pairs(counts) do
        local size = tostring(#word)
        if by_length[size] == nil then
            by_length[size] = {}
        end
        by_length[size][word] = count
    end

    local found = 0
    for _ = 1, 40 do
        for _, word in ipairs(words) do
            if counts[word] ~= nil then
                found = found + counts[word]
            end
        end
    end

    local sizes = {}
    for size in pairs(by_length) do
        sizes[#sizes + 1] = size
    end
    table.sort(sizes)
    local totals = {}
    for _, size in ipairs(sizes) do
        local entries, total = 0, 0
        for _, count in pairs(by_length[size]) do
            entries = entries + 1
            total = total + count
        end
        totals[#totals + 1] = size .. ":" .. entries .. ":" .. total
    end
    return table.concat(totals, " ") .. " " .. found
end
