function main()
    local limit = 1500000
    local composite = {}
    for i = 1, limit do
        composite[i] = false
    end
    local count = 0
    local last = 0
    for i = 2, limit do
        if not composite[i] then
            count = count + 1
            last = i
            for j = i * i, limit, i do
                composite[j] = true
            end
        end
    end
    return count .. " " .. last
end
