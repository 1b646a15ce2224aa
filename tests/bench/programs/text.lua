local WORDS = {}
for word in ("stone river amber willow slate ember harbor sparrow meadow lantern sable cedar thistle orchid salt finch"):gmatch("%S+") do
    WORDS[#WORDS + 1] = word
end

-- A Lua text cannot be appended to in place; the custom is a table of pieces joined at the end.
function main()
    local parts = {}
    local seed = 42
    for i = 1, 160000 do
        seed = seed * 16807 % 2147483647
        parts[i] = WORDS[seed % 16 + 1] .. " "
    end
    local written = table.concat(parts)

    local vowels = 0
    for c in written:gmatch(".") do
        if ("aeiou"):find(c, 1, true) then
            vowels = vowels + 1
        end
    end

    local pieces = {}
    for word in written:gmatch("%S+") do
        if word:sub(1, 1) == "s" then
            pieces[#pieces + 1] = word:upper()
        elseif #word > 5 then
            pieces[#pieces + 1] = "<" .. word .. ">"
        else
            pieces[#pieces + 1] = word:sub(1, 1) .. "." .. #word
        end
    end
    local joined = table.concat(pieces, ","):gsub("er", "ER")

    return vowels .. " " .. #joined .. " " .. joined:sub(101, 160)
end
