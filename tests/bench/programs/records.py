def open_account(id):
    return {"id": id, "owner": f"owner {id % 50}", "balance": 1000, "moves": 0}


def moves_of(count, accounts):
    moves = []
    seed = 11
    for _ in range(count):
        seed = seed * 16807 % 2147483647
        moves.append({"source": seed % accounts, "target": (seed // 7) % accounts, "amount": seed % 90 + 10})
    return moves


def deposit(account, amount):
    account["balance"] += amount
    account["moves"] += 1


def main():
    accounts = [open_account(id) for id in range(500)]
    refused = 0
    for move in moves_of(200_000, 500):
        source = accounts[move["source"]]
        if source["balance"] < move["amount"]:
            refused += 1
        else:
            source["balance"] -= move["amount"]
            source["moves"] += 1
            deposit(accounts[move["target"]], move["amount"])

    by_owner = {}
    for account in accounts:
        by_owner[account["owner"]] = by_owner.get(account["owner"], 0) + account["balance"]
    richest = accounts[0]
    busiest = accounts[0]
    for account in accounts:
        if account["balance"] > richest["balance"]:
            richest = account
        if account["moves"] > busiest["moves"]:
            busiest = account
    best = f"{richest['id']} {richest['balance']} {busiest['id']} {busiest['moves']}"
    return f"{refused} {sum(by_owner.values())} {by_owner['owner 7']} {best}"
