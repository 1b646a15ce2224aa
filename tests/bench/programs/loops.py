def main():
    total = 0
    i = 0
    while i < 1_000_000:
        if i % 3 == 0:
            total += i
        elif i % 5 == 0:
            total -= 1
        else:
            total += i // 7
        i += 1
    for a in range(800):
        for b in range(800):
            total = (total * 31 + a * b) % 1_000_003
    return total
