local floor = math.floor

local function open_account(id)
    return { id = id, owner = "owner " .. id % 50, balance = 1000, moves = 0 }
end

local function moves_of(count, accounts)
    local moves = {}
    local seed = 11
    for i = 1, count do
        seed = seed * 16807 % 2147483647
        moves[i] = { source = seed % accounts, target = floor(seed / 7) % accounts, amount = seed % 90 + 10 }
    end
    return moves
end

local function deposit(account, amount)
    account.balance = account.balance + amount
    account.moves = account.moves + 1
end

function main()
    local accounts = {}
    for id = 0, 499 do
        accounts[id + 1] = open_account(id)
    end
    local refused = 0
    for _, move in ipairs(moves_of(200000, 500)) do
        local source = accounts[move.source + 1]
        if source.balance < move.amount then
            refused = refused + 1
        else
            source.balance = source.balance - move.amount
            source.moves = source.moves + 1
            deposit(accounts[move.target + 1], move.amount)
        end
    end

    local by_owner = {}
    for _, account in ipairs(accounts) do
        by_owner[account.owner] = (by_owner[account.owner] or 0) + account.balance
    end
    local total = 0
    for _, balance in pairs(by_owner) do
        total = total + balance
    end
    local richest, busiest = accounts[1], accounts[1]
    for _, account in ipairs(accounts) do
        if account.balance > richest.balance then
            richest = account
        end
        if account.moves > busiest.moves then
            busiest = account
        end
    end
    return table.concat({ refused, total, by_owner["owner 7"], richest.id, richest.balance, busiest.id, busiest.moves }, " ")
end
