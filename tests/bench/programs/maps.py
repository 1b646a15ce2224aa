def main():
    words = [f"word{n}" for n in range(5000)]
    counts = {}
    seed = 1
    for _ in range(500_000):
        seed = seed * 16807 % 2147483647
        word = words[seed % 5000]
        counts[word] = counts.get(word, 0) + 1

    by_length = {}
    for word in counts:
        size = str(len(word))
        if size not in by_length:
            by_length[size] = {}
        by_length[size][word] = counts[word]

    found = 0
    for _ in range(40):
        for word in words:
            if word in counts:
                found += counts[word]

    totals = []
    for size in sorted(by_length):
        group = by_length[size]
        total = 0
        for word in group:
            total += group[word]
        totals.append(f"{size}:{len(group)}:{total}")
    return f"{' '.join(totals)} {found}"
