class Account {
    constructor(id, owner, balance, moves) {
        this.id = id;
        this.owner = owner;
        this.balance = balance;
        this.moves = moves;
    }
}

class Move {
    constructor(source, target, amount) {
        this.source = source;
        this.target = target;
        this.amount = amount;
    }
}

function openAccount(id) {
    return new Account(id, `owner ${id % 50}`, 1000, 0);
}

function movesOf(count, accounts) {
    const moves = [];
    let seed = 11;
    for (let i = 0; i < count; i++) {
        seed = seed * 16807 % 2147483647;
        moves.push(new Move(seed % accounts, Math.floor(seed / 7) % accounts, seed % 90 + 10));
    }
    return moves;
}

function deposit(account, amount) {
    account.balance += amount;
    account.moves += 1;
}

function main() {
    const accounts = Array.from({ length: 500 }, (_, id) => openAccount(id));
    let refused = 0;
    for (const move of movesOf(200000, 500)) {
        const source = accounts[move.source];
        if (source.balance < move.amount) {
            refused++;
        } else {
            source.balance -= move.amount;
            source.moves += 1;
            deposit(accounts[move.target], move.amount);
        }
    }

    const byOwner = new Map();
    for (const account of accounts) {
        byOwner.set(account.owner, (byOwner.get(account.owner) ?? 0) + account.balance);
    }
    let richest = accounts[0];
    let busiest = accounts[0];
    for (const account of accounts) {
        if (account.balance > richest.balance) {
            richest = account;
        }
        if (account.moves > busiest.moves) {
            busiest = account;
        }
    }
    const total = [...byOwner.values()].reduce((a, b) => a + b, 0);
    return `${refused} ${total} ${byOwner.get("owner 7")} ${richest.id} ${richest.balance} ${busiest.id} ${busiest.moves}`;
}
