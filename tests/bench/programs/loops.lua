local floor = math.floor

function main()
    local total = 0
    local i = 0
    while i < 1000000 do
        if i % 3 == 0 then
            total = total + i
        elseif i % 5 == 0 then
            total = total - 1
        else
            total = total + floor(i / 7)
        end
        i = i + 1
    end
    for a = 0, 799 do
        for b = 0, 799 do
            total = (total * 31 + a * b) % 1000003
        end
    end
    return total
end
