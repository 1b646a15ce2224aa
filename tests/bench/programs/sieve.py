def main():
    limit = 1_500_000
    composite = [False] * (limit + 1)
    count = 0
    last = 0
    for i in range(2, limit + 1):
        if not composite[i]:
            count += 1
            last = i
            if i * i <= limit:
                for j in range(i * i, limit + 1, i):
                    composite[j] = True
    return f"{count} {last}"
