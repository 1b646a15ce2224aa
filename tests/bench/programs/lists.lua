local function matrix(n, seed)
    local rows = {}
    for i = 0, n - 1 do
        local row = {}
        for j = 0, n - 1 do
            row[#row + 1] = (i * seed + j * 7) % 10
        end
        rows[#rows + 1] = row
    end
    return rows
end

local function product_of(a, b)
    local n = #a
    local rows = {}
    for i = 1, n do
        local row = {}
        for j = 1, n do
            local total = 0
            for k = 1, n do
                total = total + a[i][k] * b[k][j]
            end
            row[#row + 1] = total
        end
        rows[#rows + 1] = row
    end
    return rows
end

local function sorted_by_insertion(xs)
    for i = 2, #xs do
        local item = xs[i]
        local j = i
        while j > 1 and xs[j - 1] > item do
            xs[j] = xs[j - 1]
            j = j - 1
        end
        xs[j] = item
    end
    return xs
end

function main()
    local n = 110
    local squares = product_of(matrix(n, 3), matrix(n, 5))
    local total = 0
    for _, row in ipairs(squares) do
        for _, cell in ipairs(row) do
            total = total + cell
        end
    end

    local numbers = {}
    local seed = 7
    for _ = 1, 1600 do
        seed = seed * 16807 % 2147483647
        numbers[#numbers + 1] = seed % 1000
    end
    local ordered = sorted_by_insertion(numbers)

    local running = {}
    local sum_so_far = 0
    for i = 0, 199999 do
        sum_so_far = sum_so_far + ordered[i % 1600 + 1]
        running[#running + 1] = sum_so_far
    end
    local middle = {}
    for i = 10001, 20000 do
        middle[#middle + 1] = running[i]
    end
    for i = 10, 1, -1 do
        middle[#middle + 1] = running[i]
    end
    return total + ordered[801] + middle[#middle] + #middle + running[#running]
end
